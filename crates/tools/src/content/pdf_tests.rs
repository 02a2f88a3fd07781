//! Documents made by hand: whole ones, torn ones, and ones that blow up.

use lopdf::{
    Document, Object, Stream,
    content::{Content, Operation},
    dictionary,
};
use proptest::prelude::*;

use super::*;

/// A document with these pages.
pub(crate) fn document(pages: &[&str]) -> Vec<u8> {
    let mut made = Document::with_version("1.5");
    let tree = made.new_object_id();
    let font = made.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier",
    });
    let fonts = dictionary! { "Font" => dictionary! { "F1" => font } };
    let resources = made.add_object(fonts);
    let mut kids = Vec::new();
    for page in pages {
        let operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("Tj", vec![Object::string_literal(*page)]),
            Operation::new("ET", vec![]),
        ];
        let content = Content { operations }.encode().unwrap();
        let mut stream = Stream::new(dictionary! {}, content);
        stream.compress().unwrap();
        let contents = made.add_object(stream);
        let page = dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => contents };
        kids.push(Object::from(made.add_object(page)));
    }
    let count = i64::try_from(kids.len()).unwrap();
    let all = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    made.objects.insert(tree, Object::Dictionary(all));
    let catalog = made.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    made.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    made.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn pages_come_in_order_with_headings() {
    let read = read(document(&["Hello there", "Second page"])).unwrap();
    assert_eq!(read.count, 2);
    assert_eq!(
        read.text,
        "--- page 1 ---\nHello there\n--- page 2 ---\nSecond page\n"
    );
}

#[test]
fn what_holds_no_text_says_so() {
    let scanned = read(document(&["", ""])).unwrap_err();
    assert!(scanned.contains("none of its 2 pages"), "{scanned}");
    assert!(read(document(&[])).is_err());
    assert!(read(b"%PDF-1.7 and nothing else".to_vec()).is_err());
    let large = read(vec![b' '; MOST_BYTES + 1]).unwrap_err();
    assert!(large.contains("more than"), "{large}");
}

#[test]
fn a_small_file_cannot_unpack_without_end() {
    let huge = "x".repeat(STREAM_BYTES + 1);
    let bytes = document(&[&huge, "small"]);
    assert!(bytes.len() < MOST_BYTES);
    let read = read(bytes).unwrap();
    assert!(read.text.len() < 1000, "{}", read.text.len());
    assert!(
        read.text.contains("cannot be read") && read.text.contains("small"),
        "{}",
        read.text
    );
}

#[test]
fn deep_nesting_ends_in_an_answer() {
    let deep = format!(
        "%PDF-1.4\n1 0 obj\n{}{}\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert!(read(deep.into_bytes()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_bent_document_never_panics(at in 0.0_f64..1.0, with in proptest::collection::vec(any::<u8>(), 1..12), cut: bool) {
        let mut bytes = document(&["Hello there", "Second page"]);
        let at = (at * bytes.len() as f64) as usize;
        if cut {
            bytes.truncate(at);
        } else {
            let end = (at + with.len()).min(bytes.len());
            bytes.splice(at..end, with);
        }
        let _ = read(bytes);
    }
}
