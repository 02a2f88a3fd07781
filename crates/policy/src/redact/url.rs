//! Connection strings: a URL with a password in it goes as a whole.

use super::{spans::Spans, value};

/// Schemes whose passwords may hold a slash.
const STORES: [&str; 14] = [
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mssql",
    "sqlserver",
    "clickhouse",
    "cockroachdb",
];

/// At `://`.
pub(super) fn look(text: &str, at: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let mut start = at;
    while start > 0 && at - start < 24 && is_scheme(bytes[start - 1]) {
        start -= 1;
    }
    let after = at + 3;
    let run = bytes[after..]
        .iter()
        .take(4096)
        .take_while(|b| !ends_url(**b))
        .count();
    if start == at || run == 0 || !text.is_char_boundary(after + run) {
        return;
    }
    let rest = &text[after..after + run];
    let store = STORES
        .iter()
        .any(|scheme| text[start..at].eq_ignore_ascii_case(scheme));
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some(sign) = rest[..authority]
        .rfind('@')
        .or_else(|| store.then(|| rest.rfind('@')).flatten())
    else {
        return;
    };
    let Some((_, password)) = rest[..sign].split_once(':') else {
        return;
    };
    if password.is_empty() || value::is_template(password) || password.starts_with('[') {
        return;
    }
    let whole =
        rest.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '*', '_', '\\']);
    let end = after + whole.len().max(sign + 1);
    spans.add(start, end, "connection_string".into());
}

/// At `@tcp(`: `user:password@tcp(host:3306)/name`.
pub(super) fn dsn(text: &str, at: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let mut start = at;
    while start > 0 && at - start < 256 && !ends_url(bytes[start - 1]) {
        start -= 1;
    }
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let Some((_, password)) = text[start..at].split_once(':') else {
        return;
    };
    let end = at + bytes[at..].iter().take_while(|b| !ends_url(**b)).count();
    if !password.is_empty() && !value::is_template(password) && text.is_char_boundary(end) {
        spans.add(start, end, "connection_string".into());
    }
}

/// Behind `curl `: the password in `-u user:password`.
pub(super) fn curl(text: &str, from: usize, spans: &mut Spans) {
    let line = text[from..].lines().next().unwrap_or_default();
    let mut words = line.split(' ').map(|word| {
        // Offsets by address: the words are slices of this very line.
        (word.as_ptr() as usize - line.as_ptr() as usize, word)
    });
    while let Some((_, word)) = words.next() {
        if !matches!(word, "-u" | "--user") {
            continue;
        }
        let Some((at, pair)) = words.next() else {
            return;
        };
        let bare = pair.trim_matches(['"', '\'', '`']);
        let Some((_, password)) = bare.split_once(':') else {
            continue;
        };
        if !value::is_template(password) {
            let end = from + at + pair.find(bare).unwrap_or(0) + bare.len();
            spans.add(end - password.len(), end, "secret".into());
        }
    }
}

/// Behind `mysql`, `sshpass` and the like: the password in `-pPASSWORD`, and for
/// `sshpass` in `-p PASSWORD`.
pub(super) fn glued(text: &str, from: usize, apart: bool, spans: &mut Spans) {
    let line = text[from..].lines().next().unwrap_or_default();
    let mut next = false;
    for word in line.split(' ').take(40) {
        let at = from + (word.as_ptr() as usize - line.as_ptr() as usize);
        let found = if next {
            Some(word)
        } else {
            word.strip_prefix("-p")
        };
        next = apart && word == "-p";
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            continue;
        };
        let bare = found.trim_matches(['"', '\'', '`']);
        let shape = value::shape(bare);
        let made = shape.length >= 6 && (shape.mixed() || shape.signs > 0 && shape.digits > 0);
        if made && !value::is_placeholder(bare) {
            let end = at + word.len() - found.len() + found.find(bare).unwrap_or(0) + bare.len();
            spans.add(end - bare.len(), end, "secret".into());
        }
    }
}

/// Behind `identified by`: the password in quotes.
pub(super) fn identified(text: &str, from: usize, spans: &mut Spans) {
    let rest = &text[from..];
    let Some(open) = rest
        .find(['\'', '"'])
        .filter(|open| rest[..*open].trim().is_empty())
    else {
        return;
    };
    let quote = &rest[open..=open];
    let Some(length) = rest[open + 1..].find(quote).filter(|length| *length < 256) else {
        return;
    };
    let found = &rest[open + 1..open + 1 + length];
    if found.len() >= 4 && !value::is_placeholder(found) && !found.starts_with(':') {
        spans.add(from + open + 1, from + open + 1 + length, "secret".into());
    }
}

fn is_scheme(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-')
}

fn ends_url(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|')
}
