//! A page as text for a model: decoded, HTML made Markdown, invisible
//! characters dropped.

use super::{Page, html};
use crate::content::pdf;

/// `text/html; charset=utf-8` in its parts, lower case.
pub(super) fn media_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    (kind, charset)
}

/// Whether a media type is shown.
pub(super) fn is_readable(kind: &str) -> bool {
    kind.starts_with("text/")
        || is_pdf(kind)
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-javascript"
                | "application/toml"
                | "application/yaml"
                | "application/x-yaml"
                | "application/x-sh"
                | "application/x-ndjson"
        )
}

/// Whether it is a document that has a reader of its own.
pub(super) fn is_pdf(kind: &str) -> bool {
    matches!(kind, "application/pdf" | "application/x-pdf")
}

/// The text of a page; why it has none. Blocking: pages can be large.
pub(crate) fn text_of(page: &Page) -> Result<String, String> {
    if is_pdf(&page.media_type) {
        if page.cut {
            return Err("it is a PDF of more than 16 MB".to_owned());
        }
        let pages = pdf::read(page.body.clone()).map_err(|why| format!("it is a PDF: {why}"))?;
        return Ok(tidy(&pages.text));
    }
    let text = decode(&page.body, page.charset.as_deref());
    let text = match page.media_type.as_str() {
        "text/html" | "application/xhtml+xml" => html::to_markdown(&text),
        _ => text,
    };
    Ok(tidy(&text))
}

fn decode(bytes: &[u8], charset: Option<&str>) -> String {
    let latin = matches!(
        charset,
        Some("iso-8859-1" | "latin1" | "windows-1252" | "us-ascii" | "iso-8859-15")
    );
    if latin && std::str::from_utf8(bytes).is_err() {
        return bytes.iter().map(|byte| char::from(*byte)).collect();
    }
    crate::content::text::decode(bytes)
}

/// Without characters that people do not see and models obey, and without
/// long runs of empty lines.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line: String = line.chars().filter(|c| is_visible(*c)).collect();
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.trim_matches('\n').to_owned()
}

/// Control, direction, zero-width and tag characters carry hidden text.
fn is_visible(c: char) -> bool {
    !matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        assert_eq!(
            media_type("Text/HTML; Charset=\"UTF-8\""),
            ("text/html".into(), Some("utf-8".into()))
        );
        assert!(is_readable("application/ld+json") && is_readable("text/x-rust"));
        assert!(!is_readable("application/octet-stream") && !is_readable("image/png"));
    }

    #[test]
    fn hidden_characters_go_and_latin_is_read() {
        assert_eq!(tidy("a\u{200b}b\u{e0041}\u{202e}\n\n\n\nc\u{7}"), "ab\n\nc");
        assert_eq!(decode(b"caf\xe9", Some("iso-8859-1")), "café");
        assert_eq!(decode("café".as_bytes(), Some("iso-8859-1")), "café");
    }
}
