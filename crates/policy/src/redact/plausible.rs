//! Is the value behind a name one that must go? By how secret the name sounds,
//! and by whether the value was chosen, made, or only stands for another.

use super::{
    assignment::{Name, words},
    literal::Value,
    sign::Sign,
    value::{is_figure, is_member, is_placeholder, is_type, is_uuid, is_wordy, shape},
};

pub(super) fn accepts(kind: Name, name: &str, found: &str, value: &Value, sign: &Sign) -> bool {
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
