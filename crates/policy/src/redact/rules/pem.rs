//! Private keys: the whole block, also escaped, quoted, indented or cut off.
//! Public keys and certificates stay, and so does code that names a header.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::super::spans::Spans;

/// A body longer than this is not a key.
const MAX_BODY: usize = 64 * 1024;

/// At `-----BEGIN`.
pub(in super::super) fn begin(text: &str, start: usize, spans: &mut Spans) {
    let Some(header) = label(text, start) else {
        return;
    };
    let body_start = start + header;
    let window_end = floor(text, (body_start + MAX_BODY).min(text.len()));
    let window = &text[body_start..window_end];
    let footer = window.find("-----END").filter(|at| {
        // Another block in between means that this one was cut off.
        window[..*at].find("-----BEGIN").is_none()
    });
    let end = match footer {
        Some(at) => {
            let from = body_start + at;
            from + label(text, from).unwrap_or("-----END".len())
        }
        None => body_start + body_length(window),
    };
    if digits(&text[body_start..end.min(text.len())]) >= 16 {
        spans.add(start, end.min(text.len()), "private_key".into());
    }
}

/// At `-----END`: the beginning may have been cut off.
pub(in super::super) fn end(text: &str, start: usize, spans: &mut Spans) {
    let Some(footer) = label(text, start) else {
        return;
    };
    let from = ceil(text, start.saturating_sub(MAX_BODY));
    let before = &text[from..start];
    if let Some(at) = before.rfind("-----BEGIN")
        && label(text, from + at).is_some()
    {
        return;
    }
    let mut first = start;
    for line in before.rsplit_inclusive_lines() {
        if body_length(line) < line.trim_end().len()
            || (digits(line) == 0 && !line.trim().is_empty())
        {
            break;
        }
        first -= line.len();
    }
    if digits(&text[first..start]) >= 16 {
        spans.add(first, start + footer, "private_key".into());
    }
}

/// Behind `Private-Lines:` of a PuTTY key: the count, then the lines.
pub(in super::super) fn putty(text: &str, start: usize, spans: &mut Spans) {
    let rest = &text[start..floor(text, (start + MAX_BODY).min(text.len()))];
    let mut lines = rest.split_inclusive('\n');
    let Some(count) = lines.next() else { return };
    let Ok(number) = count.trim().parse::<usize>() else {
        return;
    };
    let body: usize = lines.take(number).map(str::len).sum();
    if digits(&rest[count.len()..count.len() + body]) >= 16 {
        let from = start + count.len();
        let end = from + rest[count.len()..count.len() + body].trim_end().len();
        spans.add(from, end, "private_key".into());
    }
}

/// At `LS0tLS1CRUdJTi`: a whole key in base64, as Kubernetes keeps it. Its first
/// line tells a private key from a certificate.
pub(in super::super) fn base64(text: &str, start: usize, spans: &mut Spans) {
    const BEGIN: &str = "LS0tLS1CRUdJTi";
    const HEADER: usize = 72;
    /// Base64 that is broken into lines is broken into lines as long as this.
    const LINE: usize = 60;
    let bytes = text.as_bytes();
    let inside = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
    if inside || !text[start..].starts_with(BEGIN) {
        return;
    }
    let run = |from: usize| {
        let digits = bytes[from..].iter().take(MAX_BODY);
        digits
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count()
    };
    let mut length = run(start);
    let mut end = start + length;
    let Some(header) = bytes
        .get(start..start + HEADER)
        .filter(|_| length >= HEADER)
    else {
        return;
    };
    let private = STANDARD_NO_PAD
        .decode(header)
        .is_ok_and(|header| label(&String::from_utf8_lossy(&header), 0).is_some());
    if !private {
        return;
    }
    while length >= LINE && end - start < MAX_BODY && bytes.get(end) == Some(&b'\n') {
        let indent = bytes[end + 1..].iter().take(32).take_while(|b| **b == b' ');
        let line = end + 1 + indent.count();
        length = run(line);
        if length > 0 {
            end = line + length;
        }
    }
    spans.add(start, end, "private_key".into());
}

/// The length of `-----BEGIN … PRIVATE KEY …-----`, if it is one.
fn label(text: &str, start: usize) -> Option<usize> {
    let line: &str = &text[start..floor(text, (start + 100).min(text.len()))];
    let close = line[5..].find("-----")? + 5;
    let name = &line[5..close];
    let private = name.contains("PRIVATE KEY") && !name.contains('\n');
    private.then_some(close + 5)
}

/// How far the text goes on as the body of a key: base64 in lines, with the
/// marks that quoting leaves between them.
fn body_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let mut bare = line
            .trim()
            .trim_matches([
                '"', '\'', '+', ',', '>', '|', '#', '*', '/', '\\', '`', ';', ')',
            ])
            .trim();
        let header = bare.starts_with("Proc-Type")
            || bare.starts_with("DEK-Info")
            || bare.starts_with("Version:")
            || bare.starts_with("Comment:");
        bare = bare.trim_start_matches("- ");
        let body = bare.replace("\\n", "").replace("\\r", "").bytes().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'+' | b'/' | b'=' | b'.' | b'\\' | b'-' | b'_')
        });
        if header || body && !bare.contains(' ') {
            length += line.len();
            continue;
        }
        // The body may end inside a line, as in `…\n", "next": 1`.
        length += line
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\\'))
            .count();
        break;
    }
    text[..floor(text, length)].trim_end().len()
}

/// The longest run of base64 in a text: a key has one, prose has not.
fn digits(text: &str) -> usize {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/')))
        .map(str::len)
        .max()
        .unwrap_or(0)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

trait Lines {
    fn rsplit_inclusive_lines(&self) -> impl Iterator<Item = &str>;
}

impl Lines for str {
    fn rsplit_inclusive_lines(&self) -> impl Iterator<Item = &str> {
        let mut rest = self;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            // Without the last byte, which may end this line or be part of a letter.
            let before = &rest.as_bytes()[..rest.len() - 1];
            let cut = before.iter().rposition(|b| *b == b'\n');
            let cut = cut.map_or(0, |at| at + 1);
            let line = &rest[cut..];
            rest = &rest[..cut];
            Some(line)
        })
    }
}
