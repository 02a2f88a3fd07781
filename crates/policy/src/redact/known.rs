//! Secrets that this machine holds, in every form they usually take: plain,
//! base64 in any alignment, URL-encoded, JSON-escaped, hex.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use butler_protocol::Secret;

use super::spans::Spans;

/// Shorter values would tear ordinary words apart.
const MIN_LENGTH: usize = 6;

/// A head as long as this is looked for, the rest is compared.
const HEAD: usize = 10;

#[derive(Debug, Clone)]
struct Form {
    text: Vec<u8>,
    /// The whole run of base64 around it goes too.
    base64: bool,
}

/// All forms of all known secrets.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    forms: Vec<Form>,
}

impl Known {
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let mut known = Self::default();
        for secret in secrets {
            let value = secret.expose().trim();
            if value.len() >= MIN_LENGTH {
                known.add_all(value);
            }
        }
        known
    }

    fn add_all(&mut self, value: &str) {
        let json = serde_json::Value::from(value).to_string();
        let json = json[1..json.len() - 1].to_owned();
        let hex: String = value.bytes().map(|b| format!("{b:02x}")).collect();
        for text in [
            value.to_owned(),
            json.clone(),
            json.replace('\\', "\\\\"),
            json.replace('/', "\\/"),
            encoded(value, false),
            encoded(value, true),
            hex,
        ] {
            self.add(text.into_bytes(), false);
        }
        for shift in 0..3 {
            for text in cores(value.as_bytes(), shift) {
                if text.len() >= MIN_LENGTH {
                    self.add(text.into_bytes(), true);
                }
            }
        }
    }

    fn add(&mut self, text: Vec<u8>, base64: bool) {
        if !self.forms.iter().any(|form| form.text == text) {
            self.forms.push(Form { text, base64 });
        }
    }

    pub(super) fn heads(&self) -> impl Iterator<Item = &[u8]> {
        let head = |form: &'_ Form| HEAD.min(form.text.len());
        self.forms.iter().map(move |form| &form.text[..head(form)])
    }

    pub(super) fn look(&self, form: usize, text: &str, start: usize, spans: &mut Spans) {
        let form = &self.forms[form];
        let bytes = text.as_bytes();
        let end = start + form.text.len();
        // Hex digits and percent codes come in both cases; all else is exact.
        let same = bytes.get(start..end).is_some_and(|found| {
            found == form.text || is_code(&form.text) && found.eq_ignore_ascii_case(&form.text)
        });
        if !same || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            return;
        }
        let (mut from, mut to) = (start, end);
        if form.base64 {
            let inside =
                |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_');
            while from > 0 && start - from < 4096 && inside(bytes[from - 1]) {
                from -= 1;
            }
            while to < bytes.len() && to - end < 4096 && inside(bytes[to]) {
                to += 1;
            }
        }
        spans.add(from, to, "secret".into());
    }
}

fn is_code(form: &[u8]) -> bool {
    form.contains(&b'%') || form.iter().all(u8::is_ascii_hexdigit)
}

/// Percent-encoding as forms and as paths do it.
fn encoded(value: &str, plus: bool) -> String {
    value
        .bytes()
        .map(|b| match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(b).to_string()
            }
            b' ' if plus => "+".to_owned(),
            b => format!("%{b:02X}"),
        })
        .collect()
}

/// The part of its base64 that does not depend on its neighbours, when `shift`
/// bytes stand before it.
fn cores(value: &[u8], shift: usize) -> [String; 2] {
    let padded = [&vec![0; shift], value].concat();
    // Each byte that shares a digit with what is around it costs digits.
    let front = [0, 2, 3][shift];
    let whole = padded.len() / 3 * 4 + [0, 1, 2][padded.len() % 3];
    [
        STANDARD_NO_PAD.encode(&padded),
        URL_SAFE_NO_PAD.encode(&padded),
    ]
    .map(|text| {
        text.get(front..whole.min(text.len()))
            .unwrap_or_default()
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_is_in_the_base64_of_anything_around_it() {
        let value = b"hunter2-is-long-enough";
        for before in 0..7 {
            for after in 0..4 {
                let whole = [&vec![b'x'; before], value.as_slice(), &vec![b'y'; after]].concat();
                let text = STANDARD_NO_PAD.encode(&whole);
                let core = &cores(value, before % 3)[0];
                assert!(
                    text.contains(core.as_str()),
                    "{before} {after} {text} {core}"
                );
            }
        }
    }
}
