//! Connection strings: a URL with a password in it goes as a whole.

use super::super::{
    assignment::value,
    lists::STORES,
    spans::{Spans, run},
};

/// At `://`.
pub(in super::super) fn look(text: &str, at: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let mut start = at;
    while start > 0 && at - start < 24 && is_scheme(bytes[start - 1]) {
        start -= 1;
    }
    let after = at + 3;
    let run = run(bytes, after, 4096, |b| !ends_url(b));
    if start == at || run == 0 || !text.is_char_boundary(after + run) {
        return;
    }
    let rest = &text[after..after + run];
    let scheme = &text[start..at];
    let store = STORES
        .iter()
        .any(|store| scheme.eq_ignore_ascii_case(store));
    let sign = rest[..authority(rest)].rfind('@');
    let Some(sign) = sign.or_else(|| rest.rfind('@').filter(|_| store)) else {
        return;
    };
    let (user, password) = match rest[..sign].split_once(':') {
        Some((user, password)) => (user, password),
        // The forges take a token as the name alone.
        None if is_made(&rest[..sign]) => ("", &rest[..sign]),
        None => return,
    };
    // `https://TOKEN:x-oauth-basic@…`, `https://TOKEN:@…`
    let password = if is_made(user) { user } else { password };
    if password.is_empty() || value::is_template(password) || password.starts_with('[') {
        return;
    }
    let whole =
        rest.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '*', '_', '\\']);
    let end = after + whole.len().max(sign + 1);
    spans.add(start, end, "connection_string".into());
}

/// Whether a machine made this name: long, and of digits and letters in no order.
fn is_made(name: &str) -> bool {
    let has = |sort: fn(&u8) -> bool| name.bytes().filter(sort).count();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // What a client of an error tracker is known by: thirty-two hex digits, for all to see.
    let public = name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    name.len() >= 20
        && plain
        && !public
        && has(u8::is_ascii_digit) >= 3
        && has(u8::is_ascii_alphabetic) >= 6
}

/// At `@tcp(`: `user:password@tcp(host:3306)/name`.
pub(in super::super) fn dsn(text: &str, at: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let mut start = at;
    while start > 0 && at - start < 256 && !ends_url(bytes[start - 1]) {
        start -= 1;
    }
    let start = text.ceil_char_boundary(start);
    let Some((_, password)) = text[start..at].split_once(':') else {
        return;
    };
    let end = at + bytes[at..].iter().take_while(|b| !ends_url(**b)).count();
    if !password.is_empty() && !value::is_template(password) && text.is_char_boundary(end) {
        spans.add(start, end, "connection_string".into());
    }
}

/// Where the part with user and host ends. A `#` that stands in a password does
/// not end it: behind a port there would be no `@`.
fn authority(rest: &str) -> usize {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let Some(hash) = rest[..end].find('#') else {
        return end;
    };
    let in_password = rest[..hash].split_once(':').is_some_and(|(user, begun)| {
        !user.is_empty() && !begun.is_empty() && !begun.bytes().all(|b| b.is_ascii_digit())
    });
    let behind = rest[hash..end].rsplit_once('@');
    let host = behind.map_or("", |(_, host)| host);
    let whole = in_password && !host.is_empty();
    if whole { end } else { hash }
}

fn is_scheme(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-')
}

fn ends_url(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|')
}
