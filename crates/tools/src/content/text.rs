//! What bytes of a file are: text or not, which line ends, which mark at the
//! start.

use std::borrow::Cow;

/// How much of a file is looked at for NUL bytes.
const SNIFF: usize = 8192;

/// What a file is, when it is not text.
pub(crate) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    if is_utf16(bytes) {
        return None;
    }
    let known: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"\0asm", "a WebAssembly module"),
    ];
    if let Some((_, kind)) = known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(kind);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("a WebP picture");
    }
    bytes[..bytes.len().min(SNIFF)]
        .contains(&0)
        .then_some("a binary file")
}

/// The text without a byte order mark; what is not UTF-8 is replaced.
pub(crate) fn decode(bytes: &[u8]) -> String {
    if is_utf16(bytes) {
        let little = bytes[0] == 0xff;
        let units: Vec<u16> = bytes[2..]
            .chunks_exact(2)
            .map(|pair| {
                let pair = [pair[0], pair[1]];
                if little {
                    u16::from_le_bytes(pair)
                } else {
                    u16::from_be_bytes(pair)
                }
            })
            .collect();
        return String::from_utf16_lossy(&units);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.len() >= 4
        && (bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff"))
        && !bytes.starts_with(b"\xff\xfe\0\0")
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// All with a line feed, or there is only one line.
    Lf,
    /// All with carriage return and line feed.
    CrLf,
    /// Some so, some so.
    Mixed,
}

impl LineEnds {
    /// What a text uses.
    pub(crate) fn of(text: &str) -> Self {
        let feeds = text.matches('\n').count();
        match text.matches("\r\n").count() {
            0 => LineEnds::Lf,
            all if all == feeds => LineEnds::CrLf,
            _ => LineEnds::Mixed,
        }
    }
}

/// The text with carriage returns before every line feed.
pub(crate) fn with_crlf(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return text.into();
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n").into()
}

/// The text of an `.env` file with its values hidden and its names left.
pub(crate) fn hide_values(text: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut quote = None;
    for line in text.lines() {
        if let Some(mark) = quote {
            // Still inside a value of several lines.
            hidden.push_str("[hidden]\n");
            if line.contains(mark) {
                quote = None;
            }
            continue;
        }
        let value = line
            .split_once('=')
            .filter(|_| !line.trim_start().starts_with('#'));
        match value {
            Some((name, value)) => {
                let value = value.trim();
                let shown = if value.is_empty() { "" } else { "[hidden]" };
                hidden.push_str(&format!("{name}={shown}\n"));
                quote = value
                    .chars()
                    .next()
                    .filter(|mark| "'\"`".contains(*mark) && value.matches(*mark).count() == 1);
            }
            None if line.trim_start().starts_with('#') || line.trim().is_empty() => {
                // A commented assignment is a value too.
                let line = if line.contains('=') {
                    "# [hidden]"
                } else {
                    line
                };
                hidden.push_str(line);
                hidden.push('\n');
            }
            None => hidden.push_str("[hidden]\n"),
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        assert_eq!(binary_kind(b"fn main() {}\n"), None);
        assert_eq!(binary_kind("ünïcode".as_bytes()), None);
        assert_eq!(binary_kind(b"caf\xe9 latin"), None);
        assert_eq!(binary_kind(b"a\0b"), Some("a binary file"));
        assert_eq!(binary_kind(b"\x89PNG\r\n\x1a\n..."), Some("a PNG picture"));
        assert_eq!(binary_kind(b"\xff\xfeh\0i\0"), None);
        assert_eq!(decode(b"\xff\xfeh\0i\0"), "hi");
        assert_eq!(decode(b"\xfe\xff\0h\0i"), "hi");
        assert_eq!(decode(b"\xef\xbb\xbfhi"), "hi");
        assert_eq!(decode(b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn line_ends_are_recognised() {
        assert_eq!(LineEnds::of("a\nb\n"), LineEnds::Lf);
        assert_eq!(LineEnds::of("a\r\nb\r\n"), LineEnds::CrLf);
        assert_eq!(LineEnds::of("a\r\nb\n"), LineEnds::Mixed);
        assert_eq!(LineEnds::of("a"), LineEnds::Lf);
        assert_eq!(with_crlf("a\r\nb\nc"), "a\r\nb\r\nc");
    }

    #[test]
    fn env_values_are_hidden_and_names_stay() {
        let text = "# note\nA=1\nexport B = 'x y'\nC=\nD=\"one\ntwo\nthree\"\n#E=5\nloose\nF=6";
        assert_eq!(
            hide_values(text),
            "# note\nA=[hidden]\nexport B =[hidden]\nC=\nD=[hidden]\n[hidden]\n[hidden]\n# [hidden]\n[hidden]\nF=[hidden]\n"
        );
    }
}
