//! What a file is. Its first bytes count more than its name: a page that calls itself a
//! picture is text, and a browser is told so. What is unknown is only ever saved.

/// What a file is, by its name and its first bytes; by its name alone where there are none.
pub(crate) fn mimetype_of(name: &str, head: &[u8]) -> &'static str {
    let claimed = by_name(name);
    if head.is_empty() {
        return claimed;
    }
    match by_bytes(head) {
        // Containers hold sounds as well as films: the name says which.
        Some("audio/webm" | "audio/mp4") if !claimed.starts_with("audio/") => SAVED,
        Some(kind) => kind,
        None if !reads_as_text(head) => SAVED,
        None if has_marks(claimed) || claimed == SAVED => "text/plain",
        None => claimed,
    }
}

/// Whether a file is something else than its name says: a picture of another kind is
/// still a picture, and Slack has other words for some kinds.
pub(crate) fn misnamed(name: &str, mimetype: &str) -> bool {
    let family = |kind: &str| match kind {
        SAVED => SAVED.to_owned(),
        text if is_text(text) => "text".to_owned(),
        other => other.split('/').next().unwrap_or_default().to_owned(),
    };
    let claimed = by_name(name);
    claimed != SAVED && family(claimed) != family(mimetype)
}

/// Pictures and sounds that a browser may show in place.
pub(crate) fn is_shown_in_place(mimetype: &str) -> bool {
    matches!(
        mimetype,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    ) || mimetype.starts_with("audio/")
}

/// What can be read as it is. Slack has more words for it than we.
pub(crate) fn is_text(mimetype: &str) -> bool {
    mimetype.starts_with("text/")
        || matches!(
            mimetype,
            "application/json" | "application/xml" | "image/svg+xml"
        )
}

/// What is only ever saved.
const SAVED: &str = "application/octet-stream";

/// Kinds that begin with bytes of their own: without them a file is something else.
fn has_marks(mimetype: &str) -> bool {
    is_shown_in_place(mimetype) || matches!(mimetype, "application/pdf" | "application/zip")
}

fn by_bytes(head: &[u8]) -> Option<&'static str> {
    let at = |from: usize, mark: &[u8]| head.get(from..from + mark.len()) == Some(mark);
    let known = [
        (at(0, b"\x89PNG\r\n\x1a\n"), "image/png"),
        (at(0, b"\xff\xd8\xff"), "image/jpeg"),
        (at(0, b"GIF87a") || at(0, b"GIF89a"), "image/gif"),
        (at(0, b"RIFF") && at(8, b"WEBP"), "image/webp"),
        (at(0, b"RIFF") && at(8, b"WAVE"), "audio/wav"),
        (at(0, b"%PDF-"), "application/pdf"),
        (at(0, b"OggS"), "audio/ogg"),
        (at(0, b"fLaC"), "audio/flac"),
        (at(0, b"ID3") || is_mpeg(head), "audio/mpeg"),
        (at(0, b"\x1a\x45\xdf\xa3"), "audio/webm"),
        (at(4, b"ftyp"), "audio/mp4"),
        (
            at(0, b"PK\x03\x04") || at(0, b"PK\x05\x06"),
            "application/zip",
        ),
    ];
    known.into_iter().find_map(|(is, kind)| is.then_some(kind))
}

/// A frame of MPEG audio, layer 3.
fn is_mpeg(head: &[u8]) -> bool {
    matches!(head, [0xff, second, ..] if second & 0xe6 == 0xe2)
}

/// No controls but those of lines, and UTF-8 but for a letter that was cut.
fn reads_as_text(head: &[u8]) -> bool {
    let printed = |byte: &u8| *byte >= 0x20 && *byte != 0x7f || b"\t\n\x0c\r\x1b".contains(byte);
    let letters = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    letters && head.iter().all(printed)
}

/// By the name's ending, from a short list.
fn by_name(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, end)| end);
    match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "mp3" | "mpga" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "ogg" | "oga" => "audio/ogg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "webm" => "audio/webm",
        "zip" => "application/zip",
        "txt" | "log" | "md" | "rs" | "toml" | "py" | "js" | "ts" | "go" | "c" | "h" | "sh"
        | "yml" | "yaml" | "csv" | "tsv" | "diff" | "patch" | "html" | "css" | "sql" => {
            "text/plain"
        }
        _ => SAVED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_more_than_a_name() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let wave = b"RIFF\x24\0\0\0WAVEfmt ";
        for (name, head, kind, odd) in [
            ("shot.png", &png[..], "image/png", false),
            ("shot", png, "image/png", false),
            ("notes.txt", png, "image/png", true),
            ("cat.png", b"<html><script>", "text/plain", true),
            ("cat.png", b"\x7fELF\x02\x01\x01\0", SAVED, true),
            ("notes.log", b"\x7fELF\x02\x01\x01\0", SAVED, true),
            ("logo.svg", b"<svg onload='x'>", "image/svg+xml", false),
            ("logo.svg", b"\0\0", SAVED, true),
            ("manual.pdf", b"%PDF-1.7", "application/pdf", false),
            ("manual.pdf", b"MZ\x90\0", SAVED, true),
            ("note.wav", wave, "audio/wav", false),
            ("note.mp3", wave, "audio/wav", false),
            ("film.mp4", b"\0\0\0\x20ftypisom", SAVED, false),
            ("note.m4a", b"\0\0\0\x20ftypM4A ", "audio/mp4", false),
            ("a.json", b"{\"a\": 1}", "application/json", false),
            ("Makefile", b"all:\n\tcargo", "text/plain", false),
            ("utf.txt", "größer ".as_bytes(), "text/plain", false),
            (
                "cut.txt",
                &"gr\u{f6}"[..].as_bytes()[..3],
                "text/plain",
                false,
            ),
            ("bomb.zip", b"PK\x03\x04", "application/zip", false),
            ("unknown.bin", b"\x01\x02", SAVED, false),
            ("shot.png", b"", "image/png", false),
        ] {
            assert_eq!(mimetype_of(name, head), kind, "{name}");
            assert_eq!(misnamed(name, kind), odd, "{name}: {kind}");
        }
    }
}
