//! A name and its value in two fields: `{"name": "DB_PASSWORD", "value": "…"}`,
//! the same in YAML, `<add key="…" value="…"/>`, property lists, and forms that
//! are sent in parts.

use super::{
    super::spans::run,
    sign::{BLANKS, Link, Sign, behind_blanks},
};

pub(super) fn sign(bytes: &[u8], first: usize, last: usize) -> Option<Sign> {
    // Cheap first: few names are followed by one of these.
    let next = bytes.get(last)?;
    if !matches!(next, b'"' | b'\'' | b'\\' | b',' | b'<' | b'\r' | b'\n')
        || !is_named(bytes, first)
    {
        return None;
    }
    let end = tagged(bytes, last).or_else(|| field(bytes, last))?;
    Some(Sign::loose(end, Link::Assigned))
}

/// Whether the name is the value of a field that gives names: `name:`, `key=`,
/// `<key>`.
fn is_named(bytes: &[u8], first: usize) -> bool {
    let field = trim_end(trim_end(&bytes[..first], is_mark), is_blank);
    let Some((b':' | b'=' | b'>', field)) = field.split_last() else {
        return false;
    };
    let field = trim_end(trim_end(field, is_blank), is_mark);
    let ends = |word: &[u8]| {
        field.len() >= word.len() && field[field.len() - word.len()..].eq_ignore_ascii_case(word)
    };
    ends(b"name") || ends(b"key")
}

/// `</key><string>`: where the text of the next element begins.
fn tagged(bytes: &[u8], last: usize) -> Option<usize> {
    let rest = &bytes[last..];
    let mut closes = [&b"</key>"[..], b"</name>"].into_iter();
    let close = closes.find(|close| rest.starts_with(close))?;
    let blank = |b: u8| b.is_ascii_whitespace();
    let at = skip(bytes, last + close.len(), BLANKS, blank);
    let mut opens = [&b"<string>"[..], b"<value>"].into_iter();
    let open = opens.find(|open| bytes[at..].starts_with(open))?;
    Some(at + open.len())
}

/// `", "value": `: where the value of the next field begins, or the part of a
/// form behind its empty line.
fn field(bytes: &[u8], last: usize) -> Option<usize> {
    let at = skip(bytes, last, 4, is_mark);
    let rest = &bytes[at..];
    let mut empty = [&b"\r\n\r\n"[..], b"\n\n"].into_iter();
    if let Some(line) = empty.find(|line| rest.starts_with(line)) {
        return Some(at + line.len());
    }
    let word = skip(bytes, at, BLANKS, |b| b.is_ascii_whitespace() || b == b',');
    let word = skip(bytes, word, 4, is_mark);
    let end = skip(bytes, word, 24, |b| b.is_ascii_alphanumeric());
    let is_value = end >= word + 5 && bytes[end - 5..end].eq_ignore_ascii_case(b"value");
    let sign = behind_blanks(bytes, skip(bytes, end, 4, is_mark));
    (word > at && is_value && matches!(bytes.get(sign), Some(b':' | b'='))).then_some(sign + 1)
}

/// A quote, or the backslash before one.
fn is_mark(b: u8) -> bool {
    matches!(b, b'"' | b'\'' | b'\\')
}

fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

fn skip(bytes: &[u8], at: usize, most: usize, over: impl Fn(u8) -> bool) -> usize {
    at + run(bytes, at, most, over)
}

/// Without the few bytes of a sort at the end.
fn trim_end(bytes: &[u8], over: impl Fn(u8) -> bool) -> &[u8] {
    let last = bytes.iter().rev().take(8);
    &bytes[..bytes.len() - last.take_while(|b| over(**b)).count()]
}
