//! A value that is handed over in code: `define("NAME", "…")`,
//! `os.getenv("NAME", "…")`, `setPassword("…")`, `token{"…"}`.

use super::{
    super::lists::FETCHING,
    sign::{Link, Sign, behind_blanks},
    words,
};

pub(super) fn sign(text: &str, first: usize, last: usize) -> Option<Sign> {
    let bytes = text.as_bytes();
    let is_quote = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\'' | b'`'));
    let end = match bytes.get(last)? {
        b'"' | b'\'' => {
            let comma = behind_blanks(bytes, last + 1);
            if bytes.get(comma) != Some(&b',') || !opens_arguments(bytes, first, bytes[last]) {
                return None;
            }
            behind_blanks(bytes, comma + 1)
        }
        b'(' | b'{' => behind_blanks(bytes, last + 1),
        _ => return None,
    };
    if !is_quote(end) {
        return None;
    }
    let name = &text[first..last];
    if matches!(bytes[last], b'(' | b'{') {
        let mut words = words(name).into_iter();
        let fetches = words.any(|word| FETCHING.has(&word));
        return (!fetches).then(|| Sign::loose(end, Link::Called));
    }
    // `("token1", "token2")` are the strings of a test.
    let numbered = name.ends_with(|c: char| c.is_ascii_digit());
    let shouted = !name.bytes().any(|b| b.is_ascii_lowercase());
    (shouted || !numbered).then(|| Sign::loose(end, Link::Passed))
}

/// Whether the name is in quotes and the first argument of a call.
fn opens_arguments(bytes: &[u8], first: usize, quote: u8) -> bool {
    let Some(before) = bytes[..first].strip_suffix(&[quote]) else {
        return false;
    };
    let last = before.iter().rev().take(8).find(|b| **b != b' ');
    last == Some(&b'(')
}
