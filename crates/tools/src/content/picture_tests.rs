//! Real pictures, torn ones, and ones that only look like pictures.

use super::*;

/// Two by three pixels, as a drawing program wrote it.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEElEQVR4nGMQUDAAIgYUCgAW9QJBFAxP+QAAAABJRU5ErkJggg==";

/// The head of a baseline JPEG of 16 by 9, with an application segment first.
fn jpeg_file() -> Vec<u8> {
    let mut bytes = b"\xff\xd8\xff\xe0\x00\x04ab".to_vec();
    bytes.extend(b"\xff\xc0\x00\x0b\x08\x00\x09\x00\x10\x01\x01\x11\x00");
    bytes.extend(b"\xff\xda\x00\x02data\xff\xd9");
    bytes
}

fn gif_file() -> Vec<u8> {
    let mut bytes = b"GIF89a\x05\x00\x07\x00\x00\x00\x00".to_vec();
    bytes.extend(b",\0\0\0\0\x05\0\x07\0\0\x02\0;");
    bytes
}

fn webp_file() -> Vec<u8> {
    let mut bytes = b"RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00".to_vec();
    bytes.extend([0, 0, 0, 0, 99, 0, 0, 49, 0, 0]);
    bytes
}

fn all() -> Vec<(Vec<u8>, &'static str)> {
    let png = base64(PNG);
    vec![
        (png, "a PNG picture, 2×3, 73 bytes"),
        (jpeg_file(), "a JPEG picture, 16×9, 31 bytes"),
        (gif_file(), "a GIF picture, 5×7, 26 bytes"),
        (webp_file(), "a WebP picture, 100×50, 30 bytes"),
    ]
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let text = text.trim_end_matches('=').as_bytes();
    let join = |four: &[u8]| {
        let bits = four
            .iter()
            .fold(0_u32, |sum, c| sum << 6 | u32::from(digit(*c)));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    text.chunks(4).flat_map(join).collect()
}

#[test]
fn every_kind_is_known_with_its_size() {
    for (bytes, line) in all() {
        assert_eq!(look(&bytes).unwrap().unwrap().line(), line);
    }
    assert_eq!(look(b"fn main() {}"), None);
    assert_eq!(look(b""), None);
}

#[test]
fn a_torn_picture_is_never_shown() {
    for (bytes, line) in all() {
        for cut in 12..bytes.len() {
            let torn = look(&bytes[..cut]);
            assert!(
                matches!(torn, Some(Err(_))),
                "{line} cut at {cut}: {torn:?}"
            );
        }
    }
    let mut bent = base64(PNG);
    bent[45] ^= 1;
    assert!(look(&bent).unwrap().is_err(), "a checksum is wrong");
}

#[test]
fn a_picture_over_the_caps_is_named() {
    let mut wide = gif_file();
    wide[6..8].copy_from_slice(&9000_u16.to_le_bytes());
    let problem = look(&wide).unwrap().unwrap_err();
    assert!(
        problem.contains("9000×7") && problem.contains("too large"),
        "{problem}"
    );
    let mut heavy = webp_file();
    heavy.resize(MOST_BYTES + 1, 0);
    assert!(look(&heavy).unwrap().unwrap_err().contains("too large"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(kind in 0_usize..4, tail in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let heads: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x05\0\0\0WEBP"];
        let mut bytes = heads[kind].to_vec();
        bytes.extend(tail);
        let _ = look(&bytes);
    }
}
