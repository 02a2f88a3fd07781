//! Files that leave: their text may be in another encoding than ours.

use super::{Found, Redactor};

/// How the bytes of a file are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// Two bytes for a character, with or without a mark in front.
    Utf16 {
        big: bool,
        marked: bool,
    },
    /// One byte for a character: Latin-1, or UTF-8 with a byte in it that is none.
    Bytes,
}

impl Redactor {
    /// A file without what must not leave, in its own encoding, and what was taken out.
    /// What is no text stays as it is.
    pub fn redact_file(&self, bytes: Vec<u8>) -> (Vec<u8>, Vec<Found>) {
        let Some((encoding, text)) = text_of(&bytes) else {
            return (bytes, Vec::new());
        };
        let redaction = self.redact(&text);
        if redaction.text == text {
            return (bytes, Vec::new());
        }
        (encoding.bytes_of(&redaction.text), redaction.findings)
    }
}

fn text_of(bytes: &[u8]) -> Option<(Encoding, String)> {
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((false, true, rest)),
        [0xfe, 0xff, rest @ ..] => Some((true, true, rest)),
        // Of plain words every other byte is nothing.
        _ if mostly_nothing(bytes, 1) => Some((false, false, bytes)),
        _ if mostly_nothing(bytes, 0) => Some((true, false, bytes)),
        _ => None,
    };
    if let Some((big, marked, rest)) = wide
        && let Some(text) = wide_text(rest, big)
    {
        return Some((Encoding::Utf16 { big, marked }, text));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some((Encoding::Utf8, text.to_owned()));
    }
    // A tenth of what is packed or a picture is control characters, of a text hardly any is.
    let is_control = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31);
    let controls = bytes.iter().filter(is_control).count();
    let text = || bytes.iter().map(|byte| char::from(*byte)).collect();
    (controls * 50 <= bytes.len()).then(|| (Encoding::Bytes, text()))
}

fn mostly_nothing(bytes: &[u8], from: usize) -> bool {
    let nothing = bytes.iter().skip(from).step_by(2).filter(|b| **b == 0);
    bytes.len() >= 8 && bytes.len().is_multiple_of(2) && nothing.count() * 4 > bytes.len()
}

fn wide_text(bytes: &[u8], big: bool) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| match big {
        true => u16::from_be_bytes(*pair),
        false => u16::from_le_bytes(*pair),
    });
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty())
}

impl Encoding {
    fn bytes_of(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            // All that was read is one byte each, and so is what stands for a secret.
            Self::Bytes => text
                .chars()
                .map(|c| u8::try_from(c).unwrap_or(b'?'))
                .collect(),
            Self::Utf16 { big, marked } => {
                let mark = marked.then_some(0xfeff);
                let units = mark.into_iter().chain(text.encode_utf16());
                let pair = |unit: u16| match big {
                    true => unit.to_be_bytes(),
                    false => unit.to_le_bytes(),
                };
                units.flat_map(pair).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str, big: bool, marked: bool) -> Vec<u8> {
        Encoding::Utf16 { big, marked }.bytes_of(text)
    }

    #[test]
    fn a_secret_goes_in_whatever_encoding_the_file_is() {
        let redactor = Redactor::new(&[], &[]).unwrap();
        let key = ["ghp", "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
        let text = format!("first line\nthe key {key}\nlast line\n");
        let clean = "first line\nthe key [REDACTED:api_key]\nlast line\n";
        let with = |before: &[u8], text: &str| [before, text.as_bytes(), b"\xe9t\xe9\n"].concat();
        let mut cases = vec![
            (text.clone().into_bytes(), clean.as_bytes().to_vec()),
            (with(b"\xff\n", &text), with(b"\xff\n", clean)),
            (with(b"\0\n", &text), with(b"\0\n", clean)),
        ];
        for (big, marked) in [(false, false), (false, true), (true, false), (true, true)] {
            cases.push((wide(&text, big, marked), wide(clean, big, marked)));
        }
        for (file, without) in cases {
            let (left, found) = redactor.redact_file(file.clone());
            assert_eq!(left, without, "{file:?}");
            assert_eq!(found.len(), 1);
            assert_eq!(redactor.redact_file(left.clone()), (left, Vec::new()));
        }
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        let redactor = Redactor::new(&[], &[]).unwrap();
        let mut state = 7_u32;
        let mut packed: Vec<u8> = Vec::new();
        for _ in 0..4096 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            packed.push((state >> 24) as u8);
        }
        packed.extend_from_slice(b"password=hunter2Xyz9");
        for file in [
            packed,
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(redactor.redact_file(file.clone()), (file, Vec::new()));
        }
    }
}
