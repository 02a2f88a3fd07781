//! Is the value behind a name one that must go? By how secret the name sounds,
//! and by whether the value was chosen, made, or only stands for another.

use super::{
    super::lists::{
        FINGERPRINTED, LOOKED_UP, List, MADE_UP, REFERENCES, SPEECH, TAKING, UUID_NAMES, WIELDED,
    },
    Name,
    literal::Value,
    sign::{Link, Sign},
    value::{is_figure, is_member, is_placeholder, is_type, is_uuid, is_wordy, shape},
    words,
};

pub(super) fn accepts(kind: Name, name: &str, found: &str, value: &Value, sign: &Sign) -> bool {
    let plain = found.trim_end_matches('=');
    let reference = found.starts_with(['/', '.', '~']) && !is_aws(found)
        || found.contains("://")
        || REFERENCES.begins(found);
    let shape = shape(found);
    let says_little = match sign.link {
        Link::Assigned => false,
        Link::Told => !value.quoted && !shape.surely_made() && !is_strong(found),
        Link::Passed => !shape.mixed() || shape.length < 6,
        Link::Called => !shape.mixed() || shape.length < 6 || !takes_secret(name),
    };
    if is_placeholder(found) || reference || says_little {
        return false;
    }
    if found.contains(char::is_whitespace) {
        return value.quoted && phrase(kind, name, found, sign);
    }
    if is_uuid(found) {
        return holds_uuid(kind, name);
    }
    if !value.quoted && (is_code(found, value, sign) || is_verdict(name, found, sign)) {
        return false;
    }
    match kind {
        Name::Header => {
            shape.length >= 8 && (shape.mixed() || shape.length >= 20) && !is_wordy(plain)
        }
        Name::Session => shape.surely_made() && shape.length >= 24,
        Name::Made => {
            shape.surely_made() && shape.length >= 16 && !is_wordy(plain) || is_raw(name, found)
        }
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

/// As rules for passwords want it, and as nobody writes a word.
fn is_strong(found: &str) -> bool {
    let shape = shape(found);
    shape.length >= 10
        && shape.digits > 0
        && shape.upper > 1
        && shape.lower > 1
        && found.contains(['!', '#', '%', '^', '&', '*', '~', '$'])
}

/// A secret key of AWS: one in sixty-four begins like a path.
fn is_aws(found: &str) -> bool {
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    found.len() == 40
        && found.bytes().all(base64)
        && found.bytes().filter(|b| *b == b'/').count() <= 4
        && shape(found).surely_made()
        && !is_wordy(found)
}

/// Words with blanks between them that are a secret all the same.
fn phrase(kind: Name, name: &str, found: &str, sign: &Sign) -> bool {
    let words: Vec<&str> = found.split_whitespace().collect();
    let lower = !found.bytes().any(|b| b.is_ascii_uppercase());
    if name.to_ascii_lowercase().contains("passphrase") {
        return words.len() >= 4 && lower;
    }
    // Behind a colon such words are labels and advice far more often.
    kind == Name::Password
        && !sign.colon
        && sign.link == Link::Assigned
        && (3..=8).contains(&words.len())
        && words.iter().all(|word| {
            let letters = word.bytes().all(|b| b.is_ascii_lowercase());
            letters && (3..=12).contains(&word.len()) && !SPEECH.has(word)
        })
}

/// Whether a UUID behind this name is a credential, not the name of a thing.
fn holds_uuid(kind: Name, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if UUID_NAMES.iter().any(|word| lower.ends_with(word)) {
        return true;
    }
    let words = words(name);
    let made_up = words.iter().any(|word| MADE_UP.has(word));
    kind == Name::Header && is_authorization(name)
        || words.last().is_some_and(|last| last == "token") && !made_up
}

/// `setPassword(…)`, but not `contains_key(…)`, `encode_auth(…)`, `should_pass(…)`.
fn takes_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TAKING.iter().any(|word| lower.ends_with(word))
}

fn is_authorization(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("authorization")
}

fn is_code(found: &str, value: &Value, sign: &Sign) -> bool {
    // `visible = !visible`.
    let part = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b'.';
    let name = found.strip_prefix('!').filter(|_| !sign.tight);
    let negated = name.is_some_and(|name| name.bytes().all(part));
    value.next == b'('
        || found.contains(['(', '{', '['])
        || is_member(found)
        || is_type(found)
        || negated
}

/// `PASS: TestStore2` is the verdict on a test.
fn is_verdict(name: &str, found: &str, sign: &Sign) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':');
    name == "PASS" && sign.colon && found.bytes().all(plain)
}

/// Hex, or digits and letters of one case: as long as a machine makes them, and
/// behind a name whose keys are not digests.
fn is_raw(name: &str, found: &str) -> bool {
    let shape = shape(found);
    if name.contains(' ') {
        return shape.length >= 20 && shape.digits > 3 && shape.letters() > 3 && shape.signs == 0;
    }
    let words = words(name);
    let any = |list: &List| words.iter().any(|word| list.has(word));
    let shouted = name.bytes().all(|b| !b.is_ascii_lowercase());
    let hex = shape.length >= 32 && shape.mixed() && found.bytes().all(|b| b.is_ascii_hexdigit());
    hex && !any(&FINGERPRINTED)
        && !any(&LOOKED_UP)
        && words.last().is_some_and(|last| last == "key")
        && (shouted || any(&WIELDED))
}

fn password(name: &str, found: &str, value: &Value, sign: &Sign) -> bool {
    let shape = shape(found);
    if names_itself(name, found) {
        return false;
    }
    if shape.digits == shape.length {
        return value.quoted && shape.length >= 4 || sign.tight && shape.length >= 6;
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
