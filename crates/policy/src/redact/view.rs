//! A second look at lines in which something was put between the letters:
//! zero-width characters, colours, `\u0041`, `%41`, markdown marks.

use super::spans::run;

/// A stretch of the text with those taken out, and where each byte came from.
pub(super) struct View {
    text: String,
    /// For each byte of `text`, where it begins and ends in the original.
    places: Vec<(usize, usize)>,
}

/// What a terminal takes for the beginning of an order.
const ESCAPE: u8 = 0x1b;

/// A longer line is looked at in pieces.
const LONGEST: usize = 16 * 1024;

impl View {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the original of a place in the view that is not empty. What
    /// was left out behind its last byte stays: a colour ends where it ended.
    pub(super) fn original(&self, start: usize, end: usize) -> (usize, usize) {
        (self.places[start].0, self.places[end - 1].1)
    }
}

/// Calls back for each line that needs a second look.
pub(super) fn each(text: &str, mut look: impl FnMut(&View)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = next_trigger(bytes, at) {
        let begins = bytes[..found].iter().rposition(|b| *b == b'\n');
        let start = begins
            .map_or(0, |at| at + 1)
            .max(found.saturating_sub(LONGEST));
        let ends = bytes[found..].iter().position(|b| *b == b'\n');
        let end = ends
            .map_or(bytes.len(), |at| found + at)
            .min(found + LONGEST);
        let (start, end) = (
            text.floor_char_boundary(start),
            text.ceil_char_boundary(end),
        );
        look(&view(&text[start..end], start));
        at = end.max(found + 1);
    }
}

/// The next byte that may hide something. Whole chunks without a candidate are
/// passed over at once: the comparisons have no branches and run side by side.
fn next_trigger(bytes: &[u8], from: usize) -> Option<usize> {
    const CHUNK: usize = 64;
    let mut at = from;
    while at < bytes.len() {
        let end = (at + CHUNK).min(bytes.len());
        let chunk = &bytes[at..end];
        let any = chunk.iter().fold(false, |any, b| any | may_hide(*b));
        if any {
            let found = chunk.iter().enumerate().find(|(index, b)| {
                let at = at + index;
                may_hide(**b) && hides(bytes, at)
            });
            if let Some((index, _)) = found {
                return Some(at + index);
            }
        }
        at = end;
    }
    None
}

fn may_hide(b: u8) -> bool {
    (b == b'%')
        | (b == b'\\')
        | (b == ESCAPE)
        | (b == b'*')
        | (b == b'`')
        | (b == b'~')
        | (b >= 0xc2)
}

fn hides(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'%' => hex(bytes, at + 1, 2).is_some(),
        b'\\' => {
            bytes.get(at + 1) == Some(&b'u') && hex(bytes, at + 2, 4).is_some()
                || is_escaped_mark(bytes, at)
                || colour(bytes, at) > 0
        }
        ESCAPE => colour(bytes, at) > 0,
        b'*' | b'`' | b'~' => mark_length(bytes, at) > 0,
        _ => invisible(bytes, at) > 0,
    }
}

/// The length of a colour or another order to the terminal, also as logs and
/// JSON spell the escape: `\u001b[31m`.
fn colour(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let spelled = [
        &b"\x1b["[..],
        b"\\u001b[",
        b"\\u001B[",
        b"\\x1b[",
        b"\\x1B[",
        b"\\033[",
        b"\\e[",
    ];
    let Some(begin) = spelled.iter().find(|begin| rest.starts_with(begin)) else {
        return 0;
    };
    let number = |b| matches!(b, b'0'..=b'9' | b';' | b':' | b'?');
    let length = begin.len() + run(rest, begin.len(), 24, number);
    match rest.get(length) {
        Some(b'A'..=b'Z' | b'a'..=b'z') => length + 1,
        _ => 0,
    }
}

/// Whether the letter at a place is the last of a colour, and so of no word.
pub(super) fn ends_colour(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(32);
    let begin = bytes[from..at].iter().rposition(|b| *b == b'[');
    begin.is_some_and(|open| {
        let open = from + open;
        (1..=6).any(|back| back <= open && colour(bytes, open - back) == at + 1 - (open - back))
    })
}

/// A backslash that markdown puts before a sign: `ghp\_abc`.
fn is_escaped_mark(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at + 1), Some(b'_' | b'-' | b'.' | b'/' | b'*'))
        && at > 0
        && bytes[at - 1].is_ascii_alphanumeric()
}

/// Marks between two characters of a word.
fn mark_length(bytes: &[u8], at: usize) -> usize {
    let mark = bytes[at];
    let length = run(bytes, at, 4, |b| b == mark);
    let word =
        |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let inside = length <= 3 && word(before) && word(bytes.get(at + length));
    if inside { length } else { 0 }
}

/// The length of a zero-width character.
fn invisible(bytes: &[u8], at: usize) -> usize {
    match &bytes[at..] {
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..] => 3,
        [0xe2, 0x81, 0xa0..=0xaf, ..] => 3,
        [0xef, 0xbb, 0xbf, ..] => 3,
        [0xc2, 0xad, ..] | [0xcd, 0x8f, ..] => 2,
        [0xe1, 0xa0, 0x8e, ..] => 3,
        _ => 0,
    }
}

fn hex(bytes: &[u8], at: usize, digits: usize) -> Option<u32> {
    let text = bytes.get(at..at + digits)?;
    text.iter().try_fold(0, |value, b| {
        Some(value * 16 + char::from(*b).to_digit(16)?)
    })
}

fn view(text: &str, offset: usize) -> View {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut places = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = step(bytes, at);
        if let Some(byte) = byte {
            out.push(byte);
            places.push((offset + at, offset + at + length));
        }
        at += length;
    }
    // Percent codes of other bytes: keep the text's own letters only.
    let ascii = |b: &u8| if b.is_ascii() { char::from(*b) } else { '?' };
    let text = String::from_utf8(out);
    let text = text.unwrap_or_else(|broken| broken.as_bytes().iter().map(ascii).collect());
    View { text, places }
}

/// What stands for the bytes at a place, and how many they are.
fn step(bytes: &[u8], at: usize) -> (Option<u8>, usize) {
    let plain = (Some(bytes[at]), 1);
    match bytes[at] {
        ESCAPE | b'\\' if colour(bytes, at) > 0 => (None, colour(bytes, at)),
        b'%' => match hex(bytes, at + 1, 2).and_then(|code| u8::try_from(code).ok()) {
            Some(code) if code.is_ascii_graphic() || code == b' ' || code == b'\n' => {
                (Some(code), 3)
            }
            _ => plain,
        },
        b'\\' if bytes.get(at + 1) == Some(&b'u') => {
            match hex(bytes, at + 2, 4).and_then(|code| u8::try_from(code).ok()) {
                Some(code) if code.is_ascii() && code >= 32 => (Some(code), 6),
                _ if hex(bytes, at + 2, 4).is_some_and(|code| {
                    (0x200b..=0x200f).contains(&code) || code == 0xfeff || code == 0x2060
                }) =>
                {
                    (None, 6)
                }
                _ => plain,
            }
        }
        b'\\' if is_escaped_mark(bytes, at) => (None, 1),
        b'*' | b'`' | b'~' => match mark_length(bytes, at) {
            0 => plain,
            length => (None, length),
        },
        0xe2 | 0xef | 0xc2 | 0xcd | 0xe1 => match invisible(bytes, at) {
            0 => plain,
            length => (None, length),
        },
        _ => plain,
    }
}
