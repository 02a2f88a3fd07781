//! Private keys as JSON: in an object with `"kty"`, the members that only the
//! owner may know.

use super::super::spans::{Spans, touches_marker};

/// The private number, the two primes and what is computed from them, and the
/// bytes of a symmetric key.
const PRIVATE: [&str; 7] = ["d", "k", "p", "q", "dp", "dq", "qi"];

/// So far from `"kty"` the object may reach to either side.
const REACH: usize = 4096;

/// A member shorter than this is no key.
const SHORTEST: usize = 16;

/// At `kty"`.
pub(in super::super) fn look(text: &str, start: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let before = bytes[..start].iter().rev().take(REACH);
    let from = start - before.take_while(|b| **b != b'{' && **b != b'}').count();
    // Its first one looks at an object; a hostile one has thousands.
    if bytes[from..start].windows(3).any(|word| word == b"kty") {
        return;
    }
    let behind = bytes[start..].iter().take(REACH);
    let end = start + behind.take_while(|b| **b != b'{' && **b != b'}').count();
    let Some(object) = text.get(from..end) else {
        return;
    };
    let mut strings = strings(object);
    let mut name = strings.next();
    while let (Some((_, member)), Some((at, found))) = (name, strings.next()) {
        name = Some((at, found));
        let behind_name = object[..at].trim_end_matches(['"', '\\', ' ', '\n', '\r', '\t']);
        let digits = found
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'='));
        let (first, last) = (from + at, from + at + found.len());
        if behind_name.ends_with(':')
            && PRIVATE.contains(&member)
            && found.len() >= SHORTEST
            && digits
            && !spans.covers(first, last)
            && !touches_marker(text, first, last)
        {
            spans.add(first, last, "private_key".into());
        }
    }
}

/// What stands between quotes, also escaped ones, with its place.
fn strings(object: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let pieces = object.split('"').map(move |piece| {
        let place = at;
        at += piece.len() + 1;
        (place, piece.strip_suffix('\\').unwrap_or(piece))
    });
    pieces.skip(1).step_by(2)
}
