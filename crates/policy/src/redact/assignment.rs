//! `name = value`, where the name says secret and the value looks like one.
//!
//! The name is read to both sides of the word that was found, so that
//! `max_tokens` and `password_hash` are known for what they are. Then comes a
//! sign, then a value in quotes or bare; code that names, fetches or computes a
//! value is left alone.

use std::ops::Range;

use super::{
    literal::{Value, value},
    names::{LOOKED_UP, OTHER},
    spans::{Spans, touches_marker},
    value::{is_figure, is_member, is_placeholder, is_type, is_uuid, is_wordy, shape},
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
    let Some(sign) = sign(bytes, first, last) else {
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
    if let Some(sign) = sign(text.as_bytes(), first, last) {
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
fn words(name: &str) -> Vec<String> {
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
    if words.iter().any(|word| OTHER.contains(&word.as_str())) {
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
        let kind = if lower == "pass" {
            Name::Key
        } else {
            Name::Session
        };
        return whole.then_some(kind);
    }
    if matches!(lower.as_str(), "_key" | "bearer") {
        let looked_up = words.iter().any(|word| LOOKED_UP.contains(&word.as_str()));
        let whole = words
            .iter()
            .any(|word| *word == lower.trim_start_matches('_'));
        return (whole && !looked_up).then_some(Name::Made);
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
        _ => Name::Key,
    })
}

/// The sign between name and value.
struct Sign {
    end: usize,
    /// `NAME=value`, without a blank.
    tight: bool,
    /// `:`, as in YAML, JSON and prose.
    colon: bool,
    /// `is`, or nothing: only a value that no person would write counts.
    prose: bool,
}

fn sign(bytes: &[u8], first: usize, last: usize) -> Option<Sign> {
    let mut at = last;
    let peek = |at: usize| bytes.get(at).copied().unwrap_or(0);
    while at - last < 5 && matches!(peek(at), b'"' | b'\'' | b'`' | b'\\' | b']' | b'*') {
        at += 1;
    }
    let before = at;
    while at - before < 12 && matches!(peek(at), b' ' | b'\t') {
        at += 1;
    }
    let spaced = at > before;
    let sign = |end: usize, colon: bool| {
        Some(Sign {
            end,
            tight: !spaced && !matches!(peek(end), b' ' | b'\t'),
            colon,
            prose: false,
        })
    };
    let flag =
        first >= 2 && bytes[first - 2..first] == *b"--" || first < last && bytes[first] == b'-';
    match (peek(at), peek(at + 1)) {
        (b'=', b'>') | (b':', b'=') => sign(at + 2, false),
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => None,
        (b'=', _) => sign(at + 1, false),
        (b':', _) => sign(at + 1, true),
        (b'>', _) if first > 0 && bytes[first - 1] == b'<' => sign(at + 1, false),
        (b'i', b's') if spaced && peek(at + 2) == b' ' => Some(Sign {
            end: at + 3,
            tight: false,
            colon: true,
            prose: true,
        }),
        // `CREATE USER app PASSWORD '…'`.
        (b'\'', _) if spaced && bytes[first..last].eq_ignore_ascii_case(b"password") => {
            Some(Sign {
                end: at,
                tight: false,
                colon: true,
                prose: true,
            })
        }
        _ if (flag
            || takes_no_sign(&bytes[first..last])
            || is_netrc(bytes, first)
            || is_fish(bytes, first))
            && spaced
            && at == before + 1 =>
        {
            Some(Sign {
                end: at,
                tight: true,
                colon: false,
                prose: false,
            })
        }
        _ => None,
    }
}

/// `requirepass …` of Redis, `npm config set …:_authToken …`, `Bearer …`.
fn takes_no_sign(name: &[u8]) -> bool {
    [&b"requirepass"[..], b"_authToken", b"bearer"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// `machine example.com login you password …`.
fn is_netrc(bytes: &[u8], first: usize) -> bool {
    let before = &bytes[first.saturating_sub(160)..first];
    let has = |word: &[u8]| before.windows(word.len()).any(|found| found == word);
    has(b"login ") && (has(b"machine ") || has(b"default "))
}

/// `set -x TOKEN …`, as fish exports.
fn is_fish(bytes: &[u8], first: usize) -> bool {
    [&b"set -x "[..], b"set -gx ", b"set -Ux "]
        .iter()
        .any(|set| bytes[..first].ends_with(set))
}

fn accepts(kind: Name, name: &str, found: &str, value: &Value, sign: &Sign) -> bool {
    let plain = found.trim_end_matches('=');
    let reference = found.starts_with(['/', '.', '~'])
        || found.contains("://")
        || [
            "arn:",
            "sha256:",
            "sha512-",
            "sha256-",
            "sha1-",
            "env:",
            "file:",
            "vault:",
            "ref:",
            "ENC[",
            "kms:",
            "ssm:",
            "process.env",
            "os.",
            "env.",
            "import.",
            "std::",
            "self.",
        ]
        .iter()
        .any(|start| found.starts_with(start));
    let shape = shape(found);
    let surely_made = shape.length >= 10 && shape.digits > 1 && shape.upper > 1 && shape.lower > 1;
    let says_little = sign.prose && !value.quoted && !surely_made;
    if is_placeholder(found) || reference || says_little {
        return false;
    }
    if found.contains(char::is_whitespace) {
        let phrase = name.to_ascii_lowercase().contains("passphrase");
        return phrase && value.quoted && found.split_whitespace().count() >= 4 && shape.upper == 0;
    }
    if is_uuid(found) {
        let lower = name.to_ascii_lowercase();
        return [
            "api_key",
            "apikey",
            "api-key",
            "secret",
            "password",
            "access_token",
            "auth_token",
        ]
        .iter()
        .any(|word| lower.ends_with(word));
    }
    let code = !value.quoted
        && (value.next == b'('
            || found.contains(['(', '{', '['])
            || is_member(found)
            || is_type(found));
    if code || is_type(found) && !value.quoted {
        return false;
    }
    match kind {
        Name::Header => {
            shape.length >= 8 && (shape.mixed() || shape.length >= 20) && !is_wordy(plain)
        }
        Name::Session => surely_made && shape.length >= 24,
        Name::Made => surely_made && shape.length >= 16 && !is_wordy(plain),
        Name::Password => password(name, found, value, sign),
        Name::Key => {
            let cased = shape.upper > 2 && shape.lower > 2;
            let odd = found.contains(['!', '#', '%', '^', '&', '*', '+', '~', '$']);
            let made = shape.mixed() && shape.length >= 8
                || cased && (shape.length >= 20 || odd && shape.length >= 12);
            made && !is_wordy(plain) && !is_figure(found) && !names_itself(name, found)
        }
    }
}

fn password(name: &str, found: &str, value: &Value, sign: &Sign) -> bool {
    let shape = shape(found);
    if names_itself(name, found) {
        return false;
    }
    if shape.digits == shape.length {
        return value.quoted && shape.length >= 4;
    }
    if is_figure(found) {
        return value.quoted && shape.length >= 8;
    }
    let shouted = name.bytes().all(|b| !b.is_ascii_lowercase());
    if shape.letters() == shape.length {
        let lower_word = shape.upper == 0 && shape.length >= 6;
        let made = shape.upper > 1 && shape.lower > 1 && shape.length >= 10;
        return made && value.quoted || lower_word && (value.quoted || shouted && sign.tight);
    }
    if value.quoted {
        // Keys of translations and form fields: `auth.password.label`.
        return shape.length >= 4 && !(is_wordy(found) && shape.digits == 0);
    }
    let identifier = found
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let in_code = !sign.colon && !sign.tight && matches!(value.next, b';' | b',' | b')');
    if identifier && in_code || shape.length < 5 {
        return false;
    }
    shape.mixed() || shape.signs > 0 && shape.length >= 8 && !is_wordy(found)
}

/// `token = token2`, `password=password_1`.
fn names_itself(name: &str, found: &str) -> bool {
    let last = words(name).pop().unwrap_or_default();
    let lower = found.to_ascii_lowercase();
    let rest = lower.strip_prefix(&last);
    last.len() > 2
        && rest.is_some_and(|rest| {
            rest.len() <= 3 && rest.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        })
}
