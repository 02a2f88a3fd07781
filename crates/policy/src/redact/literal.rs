//! The value of an assignment as people and programs write it: quoted, bare,
//! behind a type or behind the scheme of a header.

use super::assignment::Name;

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
    while at - from < 12 && matches!(peek(at), b' ' | b'\t' | b'*') {
        at += 1;
    }
    at = behind_annotation(text, at).unwrap_or(at);
    // `r"…"`, `b'…'`, `@"…"`.
    if matches!(peek(at), b'r' | b'b' | b'f' | b'u' | b'@') && matches!(peek(at + 1), b'"' | b'\'')
    {
        at += 1;
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
        at = behind_scheme(text, at)?;
    }
    let length = bytes[at.min(bytes.len())..]
        .iter()
        .take(2048)
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(
                    b,
                    b'"' | b'\''
                        | b'`'
                        | b','
                        | b';'
                        | b'<'
                        | b'>'
                        | b'|'
                        | b')'
                        | b'}'
                        | b']'
                        | b'\\'
                        | b'&'
                )
        })
        .count();
    let mut end = at + length;
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

/// `password: str = "…"`: the value stands behind the second sign.
fn behind_annotation(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let kind = rest
        .bytes()
        .take(40)
        .take_while(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'_' | b'[' | b']' | b'.' | b'<' | b'>' | b'&' | b'?')
        })
        .count();
    let after = rest.get(kind..)?.trim_start_matches(' ');
    let behind = after.strip_prefix('=')?;
    let value = behind.trim_start_matches(' ');
    (kind > 0 && value.starts_with(['"', '\''])).then(|| at + rest.len() - value.len())
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
    ["bearer ", "basic ", "token ", "apikey ", "key ", "digest "]
        .into_iter()
        .find_map(|scheme| {
            rest.get(..scheme.len())?
                .eq_ignore_ascii_case(scheme)
                .then(|| {
                    at + scheme.len()
                        + rest[scheme.len()..]
                            .bytes()
                            .take_while(|b| *b == b' ')
                            .count()
                })
        })
}
