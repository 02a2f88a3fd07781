//! The value of an assignment as people and programs write it: quoted, bare,
//! on the next line or behind the scheme of a header.

use super::{
    super::{lists::SCHEMES, spans::run},
    Name,
    sign::{BLANKS, behind_blanks},
    value::shape,
    wrapped,
};

/// What stands behind the sign.
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    /// What follows it.
    pub(super) next: u8,
}

/// The value that begins at `from`, in quotes or bare.
pub(super) fn value(text: &str, from: usize, kind: Name) -> Option<Value> {
    let bytes = text.as_bytes();
    let peek = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut at = from;
    while at - from < BLANKS && matches!(peek(at), b' ' | b'\t' | b'*') {
        at += 1;
    }
    let one_line = matches!(kind, Name::Header | Name::Session);
    let below = next_line(text, at).filter(|_| !one_line);
    if let Some(line) = below {
        at = line;
    } else {
        at = wrapped::behind(text, at);
    }
    let escaped = peek(at) == b'\\' && matches!(peek(at + 1), b'"' | b'\'');
    if escaped {
        at += 1;
    }
    let quote = peek(at);
    if matches!(quote, b'"' | b'\'' | b'`') {
        return quoted(text, at, quote, escaped, kind);
    }
    if kind == Name::Header {
        at = behind_scheme(text, at).or_else(|| is_bare_header(text, at).then_some(at))?;
    }
    let part = |b: u8| !b.is_ascii_whitespace() && !b"\"'`,;<>|)}]\\&".contains(&b);
    let mut end = at + run(bytes, at, 2048, part);
    while end > at && matches!(bytes[end - 1], b'.' | b':' | b'*' | b'!' | b'?') {
        end -= 1;
    }
    let whole = end > at && text.is_char_boundary(at) && text.is_char_boundary(end);
    whole.then(|| Value {
        start: at,
        end,
        quoted: false,
        next: peek(end),
    })
}

fn quoted(text: &str, at: usize, quote: u8, escaped: bool, kind: Name) -> Option<Value> {
    let bytes = text.as_bytes();
    let mut start = at + 1;
    let mut end = start;
    while end < bytes.len() && end - start < 4096 && bytes[end] != b'\n' {
        match bytes[end] {
            b'\\' if !escaped => end += 1,
            b'\\' if escaped && bytes.get(end + 1) == Some(&quote) => break,
            b if b == quote => break,
            _ => {}
        }
        end += 1;
    }
    let end = end.min(bytes.len());
    if kind == Name::Header {
        start = behind_scheme(text, start).unwrap_or(start).min(end);
    }
    let whole = start < end && text.is_char_boundary(start) && text.is_char_boundary(end);
    whole.then(|| Value {
        start,
        end,
        quoted: true,
        next: bytes.get(end).copied().unwrap_or(0),
    })
}

/// `Bearer `, `Basic `, `token ` of an Authorization header.
fn behind_scheme(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let is_it = |scheme: &&str| {
        let start = rest.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let scheme = SCHEMES.iter().find(is_it)?;
    let blanks = run(rest.as_bytes(), scheme.len(), usize::MAX, |b| b == b' ');
    Some(at + scheme.len() + blanks)
}

/// Whether a header's value stands there without a scheme: only what was made.
fn is_bare_header(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let part = |b: u8| b.is_ascii_alphanumeric() || b"+/=_.~-".contains(&b);
    let length = run(rest.as_bytes(), 0, 2048, part);
    let shape = shape(&rest[..length]);
    let base64 = shape.digits > 0 && shape.upper > 1 && shape.lower > 1 && shape.signs == 0;
    // `_auth=` of an npmrc; in code, that would be the name of something.
    let tight = text.as_bytes()[..at].ends_with(b"_auth=");
    shape.length >= 16 && shape.surely_made() || tight && base64 && shape.length >= 12
}

/// The value on the next line: a block of YAML, something in quotes, or a line
/// that holds nothing but what a machine made.
fn next_line(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[at.min(bytes.len())..];
    let block = rest.first().is_some_and(|b| matches!(b, b'|' | b'>'));
    let mark = |b| matches!(b, b'|' | b'>' | b'+' | b'-' | b'0'..=b'9' | b'\\' | b'(');
    let marks = run(rest, 0, 4, mark);
    let line_end = match rest.get(marks..)? {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    if !block && marks > 0 && !matches!(rest[0], b'\\' | b'(') {
        return None;
    }
    let from = at + marks + line_end;
    let line = behind_blanks(bytes, from);
    let blanks = line - from;
    let word = run(bytes, line, 2048, |b| !b.is_ascii_whitespace());
    let alone = matches!(bytes.get(line + word), None | Some(b'\n' | b'\r'));
    let found = text.get(line..line + word)?;
    let quoted = found.starts_with(['"', '\'']);
    let made = || shape(found).surely_made() && !found.contains(['=', ':', '(', '{', '<']);
    (quoted || alone && (block && blanks > 0 || made())).then_some(line)
}
