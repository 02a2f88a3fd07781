//! Lines of a `.pgpass` file: `host:port:database:user:password`.

use super::super::{
    assignment::value,
    spans::{Spans, touches_marker},
};

/// The port with its colons, as PostgreSQL has it, or any.
pub(in super::super) const PORTS: [&str; 2] = [":5432:", ":*:*:"];

/// A longer line is none of these.
const LINE: usize = 256;

/// At the port.
pub(in super::super) fn look(text: &str, start: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let before = bytes[..start].iter().rev().take(LINE);
    let host = before.take_while(|b| !ends_line(**b)).count();
    let behind = bytes[start..].iter().take(LINE);
    let rest = behind.take_while(|b| !ends_line(**b)).count();
    let (from, end) = (start - host, start + rest);
    let Some(line) = text.get(from..end) else {
        return;
    };
    // The password may hold colons, with a backslash before each.
    let mut fields = line.splitn(5, ':');
    let named = fields.by_ref().take(4).all(|field| !field.is_empty());
    let Some(password) = fields.next().filter(|_| named) else {
        return;
    };
    let whole = line.split(':').next().map(str::len) == Some(host);
    let plain = password.replace("\\:", "");
    let shape = value::shape(password);
    if whole
        && !plain.contains(':')
        && shape.length >= 4
        && shape.digits < shape.length
        && !value::is_placeholder(password)
        && !touches_marker(text, from, end)
    {
        spans.add(end - password.len(), end, "secret".into());
    }
}

fn ends_line(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`')
}
