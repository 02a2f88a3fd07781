//! Private keys: the whole block, also escaped, quoted, indented or cut off.
//! Public keys and certificates stay, and so does code that names a header.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::super::spans::{Spans, run};

/// A body longer than this is not a key.
const MAX_BODY: usize = 64 * 1024;

/// At `-----BEGIN`.
pub(in super::super) fn begin(text: &str, start: usize, spans: &mut Spans) {
    let Some(header) = label(text, start) else {
        return;
    };
    let body_start = start + header;
    let window_end = text.floor_char_boundary(body_start + MAX_BODY);
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
    let from = text.ceil_char_boundary(start.saturating_sub(MAX_BODY));
    let before = &text[from..start];
    if let Some(at) = before.rfind("-----BEGIN")
        && label(text, from + at).is_some()
    {
        return;
    }
    let mut first = start;
    for line in lines_back(before) {
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
    let rest = &text[start..text.floor_char_boundary(start + MAX_BODY)];
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
    let digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let run = |from: usize| run(bytes, from, MAX_BODY, digit);
    let mut length = run(start);
    let mut end = start + length;
    let header = bytes.get(start..start + HEADER);
    let Some(header) = header.filter(|_| length >= HEADER) else {
        return;
    };
    let header = STANDARD_NO_PAD.decode(header);
    let is_private = |header: Vec<u8>| label(&String::from_utf8_lossy(&header), 0).is_some();
    if !header.is_ok_and(is_private) {
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
    let line: &str = &text[start..text.floor_char_boundary(start + 100)];
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
        let quoting = |c: char| "\"'+,>|#*/\\`;)".contains(c);
        let bare = line.trim().trim_matches(quoting).trim();
        let mut headers = ["Proc-Type", "DEK-Info", "Version:", "Comment:"].iter();
        let header = headers.any(|header| bare.starts_with(header));
        let bare = bare.trim_start_matches("- ");
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
    text[..text.floor_char_boundary(length)].trim_end().len()
}

/// The longest run of base64 in a text: a key has one, prose has not.
fn digits(text: &str) -> usize {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/')))
        .map(str::len)
        .max()
        .unwrap_or(0)
}

/// The lines of a text from its end on, each with its line break.
fn lines_back(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        // Without the last byte, which may end this line or be part of a letter.
        let (_, before) = rest.as_bytes().split_last()?;
        let cut = before.iter().rposition(|b| *b == b'\n');
        let (left, line) = rest.split_at(cut.map_or(0, |at| at + 1));
        rest = left;
        Some(line)
    })
}
