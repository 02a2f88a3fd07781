//! Cookies that are a login as long as they live: `sessionid=…`, `PHPSESSID=…`.

use super::super::{
    assignment::value,
    spans::{Spans, touches_marker},
};

/// The shortest value that counts.
const SHORTEST: usize = 16;

/// Behind the name and its sign.
pub(in super::super) fn look(text: &str, start: usize, end: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).map(|at| bytes[at]);
    let in_word = before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    // `PHPSESSID`, but not `inside=`.
    if in_word && end - start < "sessid=".len() {
        return;
    }
    let run = bytes[end..].iter().take(4096);
    let length = run
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-.%+/~:".contains(b))
        .count();
    let padding = bytes[end + length..].iter().take(2);
    let length = length + padding.take_while(|b| **b == b'=').count();
    let found = text[end..end + length].trim_end_matches(['.', ':']);
    let shape = value::shape(found);
    let made = shape.length >= SHORTEST && shape.digits > 1 && shape.letters() > 1;
    // A session may be known by a UUID in logs; that names it only.
    let names = value::is_uuid(found) || value::is_wordy(found) || value::is_placeholder(found);
    let end_of_value = end + found.len();
    if made && !names && !touches_marker(text, start, end_of_value) {
        spans.add(end, end_of_value, "secret".into());
    }
}
