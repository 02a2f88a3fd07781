//! `name = value`, where the name says secret and the value looks like one.
//!
//! The name is read to both sides of the word that was found, so that
//! `max_tokens` and `password_hash` are known for what they are. Then comes a
//! sign, then a value in quotes or bare; code that names, fetches or computes a
//! value is left alone.

mod calls;
mod literal;
mod pairs;
mod plausible;
mod sign;
pub(super) mod value;
mod wrapped;

use std::ops::Range;

use literal::value;
use plausible::accepts;
use sign::{Sign, sign};

use super::{
    lists::{LOOKED_UP, OTHER},
    spans::{Spans, touches_marker},
};

/// What kind of name it is, by how much its value must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// People choose passwords: almost any literal will do.
    Password,
    /// Machines make keys and tokens: they look made.
    Key,
    /// `Authorization` and `auth`.
    Header,
    /// `session`: long and surely made by a machine.
    Session,
    /// Any other `…_key`, and what stands behind `bearer`: surely made.
    Made,
}

pub(super) fn look(text: &str, start: usize, end: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let mut first = start;
    while first > 0 && start - first < 40 && is_name_byte(bytes[first - 1], true) {
        first -= 1;
    }
    let mut last = end;
    while last < bytes.len() && last - end < 40 && is_name_byte(bytes[last], false) {
        last += 1;
    }
    // Behind an escape, as in `\npassword=`, the letter belongs to the escape.
    if first > 0 && bytes[first - 1] == b'\\' && first < start {
        first += 1;
    }
    // Cheap first: most names are not followed by a sign.
    let Some(sign) = sign(text, first, last) else {
        return;
    };
    let Some(kind) = kind(&text[first..last], &text[start..end]) else {
        return;
    };
    take(text, first..last, kind, &sign, spans);
}

/// The same for a word of another language, which is a name as it stands.
pub(super) fn look_foreign(text: &str, first: usize, last: usize, spans: &mut Spans) {
    let inside = |at: Option<char>| at.is_some_and(char::is_alphanumeric);
    if inside(text[..first].chars().next_back()) || inside(text[last..].chars().next()) {
        return;
    }
    if let Some(sign) = sign(text, first, last) {
        take(text, first..last, Name::Password, &sign, spans);
    }
}

/// Takes the value behind the sign, if it looks like one.
fn take(text: &str, name: Range<usize>, kind: Name, sign: &Sign, spans: &mut Spans) {
    let Some(value) = value(text, sign.end, kind) else {
        return;
    };
    let found = &text[value.start..value.end];
    if accepts(kind, &text[name.clone()], found, &value, sign)
        && !spans.covers(value.start, value.end)
        && !touches_marker(text, name.start, value.end)
    {
        spans.add(value.start, value.end, "secret".into());
    }
}

fn is_name_byte(b: u8, before: bool) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-') || before && b == b'.'
}

/// The words of a name: split at signs and capitals.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut upper_before = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            open = false;
            continue;
        }
        let upper = c.is_ascii_uppercase();
        if !open || upper && !upper_before {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        open = true;
        upper_before = upper;
    }
    words
}

fn kind(name: &str, found: &str) -> Option<Name> {
    let words = words(name);
    if words.iter().any(|word| OTHER.has(word)) {
        return None;
    }
    let lower = found.to_ascii_lowercase();
    if lower == "auth" {
        let last = words.last().map_or("", String::as_str);
        return matches!(last, "auth" | "authorization").then_some(Name::Header);
    }
    if matches!(lower.as_str(), "pass" | "session") {
        // In the middle of `bypass` or `passed` it says nothing.
        let whole = words.contains(&lower);
        let kind = match lower.as_str() {
            "pass" => Name::Key,
            _ => Name::Session,
        };
        return whole.then_some(kind);
    }
    if matches!(lower.as_str(), "_key" | "bearer") {
        let looked_up = words.iter().any(|word| LOOKED_UP.has(word));
        let bare = lower.trim_start_matches('_');
        let whole = words.iter().any(|word| word == bare);
        return (whole && !looked_up).then_some(Name::Made);
    }
    if lower == "pw" {
        return words.contains(&lower).then_some(Name::Password);
    }
    let bare = lower.trim_start_matches(['_', '"']);
    // `tokenize`, `secretary`, `tokens`: the word must be whole.
    let compact: String = bare.chars().filter(char::is_ascii_alphanumeric).collect();
    let ends = (0..words.len()).any(|from| {
        (from + 1..=words.len().min(from + 3)).any(|to| {
            let joined = words[from..to].concat();
            let joined = joined.trim_end_matches(|c: char| c.is_ascii_digit());
            joined.ends_with(&compact) || compact == "credential" && joined == "credentials"
        })
    });
    if !ends {
        return None;
    }
    Some(match bare {
        "password" | "passwd" | "passphrase" | "pwd" | "pass" | "requirepass" => Name::Password,
        // Words of a sentence.
        spoken if spoken.contains(' ') => Name::Made,
        _ => Name::Key,
    })
}
