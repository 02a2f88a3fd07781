//! What code puts around a literal: a type, a constructor, raw or triple quotes,
//! something else that is tried first.

use super::super::{lists::HOLDERS, spans::run};

/// How XML quotes.
const CDATA: &str = "<![CDATA[";

/// A longer expression is not looked through.
const LONGEST: usize = 80;

/// Where the literal begins whose wrapping begins at `at`.
pub(super) fn behind(text: &str, at: usize) -> usize {
    let at = behind_anchor(text, at).unwrap_or(at);
    let at = behind_annotation(text, at).unwrap_or(at);
    let at = behind_alternative(text, at).unwrap_or(at);
    let at = behind_holders(text, at);
    behind_raw(text, at)
}

/// `&name …` of YAML.
fn behind_anchor(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix('&')?;
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name = run(rest.as_bytes(), 0, 40, part);
    let blank = rest.as_bytes().get(name) == Some(&b' ');
    // In Rust this is a type.
    (blank && name > 0 && !matches!(&rest[..name], "mut" | "dyn" | "str"))
        .then(|| at + 1 + name + 1)
}

/// `password: str = "…"`: the value stands behind the second sign.
fn behind_annotation(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let part = |b: u8| b.is_ascii_alphanumeric() || b"_[].<>&?".contains(&b);
    let kind = run(rest.as_bytes(), 0, 40, part);
    let after = rest.get(kind..)?.trim_start_matches(' ');
    let behind = after.strip_prefix('=')?;
    let value = behind.trim_start_matches(' ');
    (kind > 0 && value.starts_with(['"', '\''])).then(|| at + rest.len() - value.len())
}

/// `process.env.NAME || "…"`: the first quote behind `||`, `??` or `or`.
fn behind_alternative(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = bytes.get(at..)?;
    // Cheap first: an expression begins with a letter or a template's mark.
    if !first.first()?.is_ascii_alphabetic() && !first.starts_with(b"<%=") {
        return None;
    }
    let line = &first[..run(first, 0, LONGEST, |b| b != b'\n')];
    let mut either = [&b" || "[..], b" ?? ", b" or "].into_iter();
    let either = either.find_map(|either| line.windows(4).position(|found| found == either))?;
    let quote = at + either + 4;
    let quoted = matches!(bytes.get(quote), Some(b'"' | b'\'' | b'`'));
    // Anything but names and calls in between is another statement.
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_.$?!()[]\"'<%= ".contains(b);
    let plain = line[..either].iter().all(part);
    (quoted && plain).then_some(quote)
}

/// Behind constructors, if a literal stands in them: any other argument is code.
fn behind_holders(text: &str, at: usize) -> usize {
    let whole = text.get(at..).unwrap_or_default();
    if let Some(inner) = whole.strip_prefix(CDATA) {
        return text.len() - inner.len();
    }
    let mut rest = whole;
    for _ in 0..3 {
        let inner = HOLDERS.iter().find_map(|holder| rest.strip_prefix(holder));
        rest = inner.unwrap_or(rest);
    }
    let inner = text.len() - rest.len();
    let literal = behind_raw(text, inner);
    let quoted = text[literal..].starts_with(['"', '\'']);
    if quoted { inner } else { at }
}

/// `r"…"`, `b'…'`, `@"…"`, `r#"…"#`, `"""…"""`: at the last quote that opens.
fn behind_raw(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let letter = run(rest, 0, 1, |b| b"rbfu@".contains(&b));
    let hashes = run(rest, letter, 3, |b| b == b'#');
    let open = letter + if letter > 0 { hashes } else { 0 };
    match rest.get(open..) {
        Some([b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..]) => at + open + 2,
        Some([b'"' | b'\'', ..]) => at + open,
        _ => at,
    }
}
