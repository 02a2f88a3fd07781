//! What a file is, by its bytes and never by its name: for lists of files that people
//! attached.

use super::{picture, text};

/// A few words about a file, as in "a PNG picture, 640×480" or "text, 12 lines".
#[must_use]
pub fn kind_of(bytes: &[u8]) -> String {
    match picture::look(bytes) {
        Some(Ok(picture)) => return picture.kind(),
        Some(Err(problem)) => return problem,
        None => {}
    }
    if let Some(kind) = sound(bytes).or_else(|| text::binary_kind(bytes)) {
        return kind.to_owned();
    }
    match text::decode(bytes).lines().count() {
        1 => "text, 1 line".to_owned(),
        lines => format!("text, {lines} lines"),
    }
}

/// Whether a file is a recording.
#[must_use]
pub fn is_recording(bytes: &[u8]) -> bool {
    sound(bytes).is_some()
}

/// What a recording is, when it is one.
fn sound(bytes: &[u8]) -> Option<&'static str> {
    let at = |from: usize, mark: &[u8]| bytes.get(from..from + mark.len()) == Some(mark);
    let known = [
        (at(0, b"RIFF") && at(8, b"WAVE"), "a WAV recording"),
        (at(0, b"OggS"), "an Ogg recording"),
        (at(0, b"fLaC"), "a FLAC recording"),
        (at(0, b"ID3") || at(0, b"\xff\xfb"), "an MP3 recording"),
        (at(0, b"\x1a\x45\xdf\xa3"), "a WebM or Matroska recording"),
        (at(4, b"ftyp"), "an MP4 recording"),
    ];
    known.into_iter().find_map(|(is, kind)| is.then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_what_a_file_is() {
        let wave = b"RIFF\x24\0\0\0WAVEfmt ";
        for (bytes, expected) in [
            (&b"a\nb\n"[..], "text, 2 lines"),
            (b"one", "text, 1 line"),
            (b"", "text, 0 lines"),
            (b"<svg onload='alert(1)'/>", "text, 1 line"),
            (b"%PDF-1.7\n", "a PDF document"),
            (b"PK\x03\x04rest", "a ZIP archive"),
            (b"\x7fELF\x02", "an ELF program"),
            (wave, "a WAV recording"),
            (b"\0\0\0\x20ftypM4A ", "an MP4 recording"),
            (b"\0\x01\x02", "a binary file"),
        ] {
            assert_eq!(kind_of(bytes), expected);
        }
        let torn = kind_of(b"\x89PNG\r\n\x1a\n....");
        assert!(torn.contains("not whole"), "{torn}");
    }
}
