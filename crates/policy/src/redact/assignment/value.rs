//! Does a text look like a value, or like something that stands for one?

use super::super::lists::{STAND_IN_BEGINS, STAND_IN_HOLDS, STAND_INS, TYPES};

/// A variable, a template, a mask: something that is filled in elsewhere.
pub(in super::super) fn is_template(text: &str) -> bool {
    let bare = text.trim_matches(['"', '\'', '`']);
    bare.is_empty()
        || bare.starts_with(['$', '<', '{', '[', '(', '&', '|'])
        || bare.starts_with('%')
            && bare[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '(' || c == '{')
        || bare.starts_with("@{")
        || bare.starts_with("!ref")
        || bare.contains("${")
        || bare.contains("{{")
        || bare.contains("...")
        || bare.contains('…')
        || bare.contains("***")
        || is_mask(bare)
}

/// One character over and over, or nearly so: `xxxx-xxxx`, `••••`.
fn is_mask(text: &str) -> bool {
    let letters = text.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' '));
    let mut letters: Vec<char> = letters.collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() <= 1
        || letters.len() <= 2 && text.len() >= 8 && !text.bytes().any(|b| b.is_ascii_digit())
}

/// A template, or a word that stands where a value will be.
pub(in super::super) fn is_placeholder(text: &str) -> bool {
    if is_template(text) {
        return true;
    }
    let lower = text.to_lowercase();
    STAND_INS.has(&lower)
        || STAND_IN_BEGINS.begins(&lower)
        || STAND_IN_HOLDS.iter().any(|part| lower.contains(part))
}

/// What a value is made of.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Shape {
    pub digits: usize,
    pub lower: usize,
    pub upper: usize,
    pub signs: usize,
    pub length: usize,
}

pub(in super::super) fn shape(text: &str) -> Shape {
    let mut shape = Shape::default();
    for c in text.chars() {
        shape.length += 1;
        match c {
            '0'..='9' => shape.digits += 1,
            'a'..='z' => shape.lower += 1,
            'A'..='Z' => shape.upper += 1,
            _ => shape.signs += 1,
        }
    }
    shape
}

impl Shape {
    pub(in super::super) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// No person writes so.
    pub(in super::super) fn surely_made(&self) -> bool {
        self.length >= 10 && self.digits > 1 && self.upper > 1 && self.lower > 1
    }

    /// Letters and digits in one.
    pub(in super::super) fn mixed(&self) -> bool {
        self.digits > 0 && self.letters() > 0
    }
}

/// Words joined by signs, as names of things are: `my-tls-secret`, `app.v2`,
/// `projects/x/versions/1`.
pub(in super::super) fn is_wordy(text: &str) -> bool {
    let pieces = text.split(['-', '_', '.', '/', ':', '@']);
    let mut count = 0;
    for piece in pieces {
        count += 1;
        let shape = shape(piece);
        let word = shape.digits == 0
            && shape.signs == 0
            && !(shape.upper > 1 && shape.lower > 1 && shape.length > 12);
        let short = shape.length <= 4 && shape.signs == 0;
        let stem = piece.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = shape.signs == 0
            && (1..=2).contains(&shape.digits)
            && shape.length <= 10
            && stem.bytes().all(|b| b.is_ascii_lowercase());
        if !(word || short || numbered) {
            return false;
        }
    }
    count > 1 || shape(text).digits == 0
}

/// `u32`, `int64_t`, `Vec<u8>`, `utf8mb4`: names of types with digits.
pub(in super::super) fn is_type(text: &str) -> bool {
    let lower = text.to_lowercase();
    let bare = lower.trim_start_matches("__").trim_end_matches("_t");
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    TYPES.has(bare) || lower == "utf8mb4"
}

/// `user.password`, `config.db.token2`, `Self::x`: code that names a place.
pub(in super::super) fn is_member(text: &str) -> bool {
    let parts = text.split(['.', ':']).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    parts.len() > 1
        && parts.iter().all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && part.len() < 24
        })
}

/// Dates, versions, durations, plain numbers.
pub(in super::super) fn is_figure(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let only = |b: u8| b.is_ascii_digit() || b".,_-:+TZe%".contains(&b);
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    text.bytes().all(only) && digits > 0
        || !number.is_empty()
            && text.len() - number.len() <= 3
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || text.len() >= 10
            && text.as_bytes()[4] == b'-'
            && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
            && text.as_bytes()[7] == b'-'
}

/// `550e8400-e29b-41d4-a716-446655440000`.
pub(in super::super) fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
