//! Read.

use butler_protocol::{Image, Role};
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn lines_are_numbered_and_long_files_come_in_parts() {
    let fixture = Fixture::new();
    let text: String = (1..=2500).map(|n| format!("line {n}\n")).collect();
    fixture.write("src/long.txt", text);
    let first = fixture.call("Read", json!({"path": "src/long.txt"})).await;
    assert!(first.ok);
    assert!(
        first
            .text
            .starts_with("src/long.txt, lines 1-1000 of 2500\n     1\tline 1\n")
    );
    assert!(
        first.text.ends_with("[1500 more lines: offset=1001]"),
        "{}",
        first.text
    );
    let middle = fixture
        .call("Read", json!({"path": "src/long.txt", "offset": 2499}))
        .await;
    assert_eq!(
        middle.text,
        "src/long.txt, lines 2499-2500 of 2500\n  2499\tline 2499\n  2500\tline 2500\n"
    );
    let behind = fixture
        .call("Read", json!({"path": "src/long.txt", "offset": 2501}))
        .await;
    assert!(
        !behind.ok && behind.text.contains("has 2500 lines"),
        "{}",
        behind.text
    );
}

#[tokio::test]
async fn huge_lines_and_files_are_capped_and_say_so() {
    let fixture = Fixture::new();
    fixture.write("one-line.json", "x".repeat(3_000_000));
    let shown = fixture.call("Read", json!({"path": "one-line.json"})).await;
    assert!(shown.ok && shown.text.len() < 2000, "{}", shown.text.len());
    assert!(shown.text.contains("[… 2999000 characters]"));
    fixture.write("wide.txt", format!("{}\n", "y".repeat(900)).repeat(900));
    let shown = fixture.call("Read", json!({"path": "wide.txt"})).await;
    assert!(shown.text.len() < 60_000);
    assert!(
        shown.text.contains("more lines: offset="),
        "{}",
        &shown.text[shown.text.len() - 80..]
    );
    let file = std::fs::File::create(fixture.root.join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let shown = fixture.call("Read", json!({"path": "sparse"})).await;
    assert!(
        !shown.ok && shown.text.contains("more than the"),
        "{}",
        shown.text
    );
}

#[tokio::test]
async fn pictures_are_shown_and_torn_ones_are_not() {
    let fixture = Fixture::new();
    let mut gif = b"GIF89a\x05\x00\x07\x00\x00\x00\x00".to_vec();
    gif.extend(b",\0\0\0\0\x05\0\x07\0\0\x02\0;");
    fixture.write("logo.gif", &gif);
    fixture.write("torn.gif", &gif[..20]);
    let shown = fixture.call("Read", json!({"path": "logo.gif"})).await;
    assert!(
        shown.ok && shown.text.contains("a GIF picture, 5×7, 26 bytes"),
        "{}",
        shown.text
    );
    assert_eq!(shown.images, [Image::new("image/gif", &gif)]);
    let torn = fixture.call("Read", json!({"path": "torn.gif"})).await;
    assert!(!torn.ok && torn.text.contains("not whole"), "{}", torn.text);
    assert!(torn.images.is_empty());
}

#[tokio::test]
async fn a_pdf_is_read_as_text_and_a_bad_one_is_named() {
    let fixture = Fixture::new();
    // As small as a document gets; its table of places is wrong on purpose.
    let page = "BT /F1 12 Tf (Invoice 42) Tj ET";
    let pdf = format!(
        "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
         2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
         3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>> endobj\n\
         4 0 obj <</Length {}>> stream\n{page}\nendstream endobj\n\
         5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Courier>> endobj\n\
         xref\n0 0\ntrailer <</Root 1 0 R/Size 6>>\nstartxref\n0\n%%EOF\n",
        page.len()
    );
    fixture.write("bill.pdf", &pdf);
    let shown = fixture.call("Read", json!({"path": "bill.pdf"})).await;
    assert!(
        shown.ok
            && shown
                .text
                .contains("(a PDF of 1 pages as text), lines 1-2 of 2")
            && shown.text.contains("2\tInvoice 42"),
        "{}",
        shown.text
    );
    fixture.write("bad.pdf", &pdf[..60]);
    let bad = fixture.call("Read", json!({"path": "bad.pdf"})).await;
    assert!(
        !bad.ok && bad.text.contains("is a PDF document, 60 bytes"),
        "{}",
        bad.text
    );
}

#[tokio::test]
async fn binary_is_named_and_odd_encodings_are_read() {
    let fixture = Fixture::new();
    fixture.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    fixture.write("b.bin", b"ab\0cd");
    fixture.write("c.txt", b"\xff\xfeh\0i\0");
    fixture.write("d.txt", "one\r\ntwo\r\n");
    fixture.write("e.txt", "");
    let text = |path: &'static str| {
        let fixture = &fixture;
        async move { fixture.call("Read", json!({"path": path})).await }
    };
    assert!(
        text("a.png")
            .await
            .text
            .contains("is a PNG picture, 11 bytes")
    );
    assert!(!text("b.bin").await.ok);
    assert!(text("c.txt").await.text.contains("     1\thi"));
    assert!(
        text("d.txt")
            .await
            .text
            .ends_with("     1\tone\n     2\ttwo\n")
    );
    assert_eq!(text("e.txt").await.text, "`e.txt` is empty");
}

#[tokio::test]
async fn a_missing_file_names_what_looks_like_it() {
    let fixture = Fixture::new();
    fixture.write("src/Settings.rs", "");
    fixture.write("src/u\u{308}ber.txt", "");
    let near = fixture
        .call("Read", json!({"path": "src/settings.rs"}))
        .await;
    assert_eq!(
        near.text,
        "failed: `src/settings.rs` does not exist: did you mean src/Settings.rs?"
    );
    let other_form = fixture.call("Read", json!({"path": "src/über.txt"})).await;
    assert!(
        other_form
            .text
            .contains("did you mean src/u\u{308}ber.txt?"),
        "{}",
        other_form.text
    );
    let none = fixture.call("Read", json!({"path": "nowhere/x"})).await;
    assert!(none.text.contains("look for it with Glob"), "{}", none.text);
    let folder = fixture.call("Read", json!({"path": "src"})).await;
    assert!(
        folder.text.contains("is a folder: use Glob"),
        "{}",
        folder.text
    );
    let through = fixture
        .call("Read", json!({"path": "src/Settings.rs/x"}))
        .await;
    assert!(through.text.contains("not a folder"), "{}", through.text);
}

#[tokio::test]
async fn values_of_env_files_are_hidden() {
    let fixture = Fixture::new();
    let value = ["hun", "ter2"].concat();
    fixture.write(".env.local", format!("TOKEN={value}\n"));
    let shown = fixture.call("Read", json!({"path": ".env.local"})).await;
    assert!(
        shown.ok && shown.text.contains("TOKEN=[hidden]"),
        "{}",
        shown.text
    );
    let found = fixture.call("Grep", json!({"pattern": value})).await;
    assert!(found.text.starts_with("no line matches"), "{}", found.text);
    let found = fixture
        .call("Grep", json!({"pattern": value, "path": ".env.local"}))
        .await;
    assert!(found.text.starts_with("no line matches"), "{}", found.text);
}

#[tokio::test]
async fn a_notebook_is_shown_as_its_cells() {
    let fixture = Fixture::new();
    let notebook = json!({
        "nbformat": 4,
        "cells": [{ "cell_type": "code", "source": ["x = 1\n", "x"], "outputs": [
            { "output_type": "execute_result", "data": { "text/plain": "1" } }] }],
    });
    fixture.write("a.ipynb", notebook.to_string());
    let shown = fixture.call("Read", json!({"path": "a.ipynb"})).await;
    assert!(
        shown.ok && shown.text.contains("\tx = 1\n"),
        "{}",
        shown.text
    );
    assert!(shown.text.contains("\t> 1\n"), "{}", shown.text);
    assert!(
        shown.text.contains("the file itself is JSON"),
        "{}",
        shown.text
    );
    fixture.write("b.ipynb", "not a notebook\n");
    let plain = fixture.call("Read", json!({"path": "b.ipynb"})).await;
    assert!(plain.text.contains("\tnot a notebook\n"), "{}", plain.text);
}

#[tokio::test]
async fn the_researcher_reads_research_only_also_through_links() {
    let fixture = Fixture::new();
    fixture.write(".codebutler/research/a.md", "kept\n");
    fixture.write("src/main.rs", "code\n");
    std::os::unix::fs::symlink(
        "../../src/main.rs",
        fixture.root.join(".codebutler/research/b.md"),
    )
    .unwrap();
    let read = |path: &'static str| {
        let fixture = &fixture;
        async move {
            fixture
                .call_as(Role::Researcher, "Read", json!({"path": path}))
                .await
        }
    };
    assert!(read(".codebutler/research/a.md").await.ok);
    for path in ["src/main.rs", ".codebutler/research/b.md"] {
        let refused = read(path).await;
        assert!(
            !refused.ok && refused.text.contains("not among the files"),
            "{}",
            refused.text
        );
    }
    for tool in ["Grep", "Glob"] {
        let pattern = if tool == "Grep" { "kept|code" } else { "**/*" };
        let found = fixture
            .call_as(Role::Researcher, tool, json!({"pattern": pattern}))
            .await;
        assert!(found.text.contains("research/a.md"), "{}", found.text);
        assert!(!found.text.contains("main.rs"), "{}", found.text);
    }
}
