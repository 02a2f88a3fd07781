//! What a file is, by its bytes and never by its name: for lists of files that people
//! attached.

use super::{picture, text};

/// A few words about a file, as in "a PNG picture, 640×480" or "text, 12 lines".
pub fn kind_of(bytes: &[u8]) -> String {
    match picture::look(bytes) {
        Some(Ok(picture)) => return picture.kind(),
        Some(Err(problem)) => return problem,
        None => {}
    }
    if is_film(bytes) {
        return "a WebM or Matroska film".to_owned();
    }
    let kind = sound(bytes).map(|(kind, _)| kind);
    if let Some(kind) = kind.or_else(|| text::binary_kind(bytes)) {
        return kind.to_owned();
    }
    match text::decode(bytes).lines().count() {
        1 => "text, 1 line".to_owned(),
        lines => format!("text, {lines} lines"),
    }
}

/// How the name of a recording with these bytes ends; nothing when it is none.
pub fn recording_ending(bytes: &[u8]) -> Option<&'static str> {
    let (_, ending) = sound(bytes).filter(|_| !is_film(bytes))?;
    Some(ending)
}

/// What a recording is, and how its name ends.
fn sound(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let at = |from: usize, mark: &[u8]| bytes.get(from..from + mark.len()) == Some(mark);
    let known = [
        (at(0, b"RIFF") && at(8, b"WAVE"), "a WAV recording", "wav"),
        (at(0, b"OggS"), "an Ogg recording", "ogg"),
        (at(0, b"fLaC"), "a FLAC recording", "flac"),
        (at(0, b"ID3") || is_mpeg(bytes), "an MP3 recording", "mp3"),
        (at(0, EBML), "a WebM or Matroska recording", "webm"),
        (at(4, b"ftyp"), "an MP4 recording", "m4a"),
    ];
    let found = known.into_iter().find(|(is, ..)| *is);
    found.map(|(_, kind, ending)| (kind, ending))
}

/// How WebM and Matroska begin.
const EBML: &[u8] = b"\x1a\x45\xdf\xa3";

/// A frame of MPEG audio, layer 3.
fn is_mpeg(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, second, ..] if second & 0xe6 == 0xe2)
}

/// Whether a WebM file has pictures that move: its tracks are named at its beginning.
/// A recorded screen is not listened to.
fn is_film(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(16 * 1024)];
    let names = |mark: &[u8]| head.windows(mark.len()).any(|part| part == mark);
    head.starts_with(EBML) && [&b"V_VP"[..], b"V_AV1", b"V_MPEG"].into_iter().any(names)
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
            (b"\x1a\x45\xdf\xa3..A_OPUS", "a WebM or Matroska recording"),
            (
                b"\x1a\x45\xdf\xa3..V_VP9..A_OPUS",
                "a WebM or Matroska film",
            ),
            (b"\xff\xf3\x44\xc4", "an MP3 recording"),
            (b"\0\x01\x02", "a binary file"),
        ] {
            assert_eq!(kind_of(bytes), expected);
        }
        assert_eq!(recording_ending(wave), Some("wav"));
        assert_eq!(recording_ending(b"\x1a\x45\xdf\xa3..V_VP9"), None);
        assert_eq!(recording_ending(b"note.wav"), None);
        let torn = kind_of(b"\x89PNG\r\n\x1a\n....");
        assert!(torn.contains("not whole"), "{torn}");
    }
}
