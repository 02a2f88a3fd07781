//! Pictures for models that can see: which kind a file is, how large, and
//! whether it is whole. A provider refuses a torn picture, and goes on refusing
//! because the conversation keeps it, so only what holds together is shown.

use butler_protocol::Image;

/// Providers take 5 MB in base64.
const MOST_BYTES: usize = 3_500_000;

/// Providers refuse a longer side.
const MOST_PIXELS: u32 = 8000;

/// A picture that a model can be shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    media_type: &'static str,
    name: &'static str,
    width: u32,
    height: u32,
    bytes: usize,
}

impl Picture {
    pub(crate) fn kind(&self) -> String {
        format!("a {} picture, {}×{}", self.name, self.width, self.height)
    }

    /// One line about it.
    pub(crate) fn line(&self) -> String {
        format!("{}, {} bytes", self.kind(), self.bytes)
    }

    pub(crate) fn image(&self, bytes: &[u8]) -> Image {
        Image::new(self.media_type, bytes)
    }
}

/// As what a whole picture is sent, when these bytes are one that can be shown.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    Some(look(bytes)?.ok()?.media_type)
}

/// Looks at the bytes of a file. Nothing when it is no picture of a known kind;
/// the reason when it is one that cannot be shown.
pub(crate) fn look(bytes: &[u8]) -> Option<Result<Picture, String>> {
    let (media_type, name, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("image/png", "PNG", png(bytes))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        ("image/jpeg", "JPEG", jpeg(bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        ("image/gif", "GIF", gif(bytes))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        ("image/webp", "WebP", webp(bytes))
    } else {
        return None;
    };
    Some(judge(media_type, name, size, bytes.len()))
}

fn judge(
    media_type: &'static str,
    name: &'static str,
    size: Option<(u32, u32)>,
    bytes: usize,
) -> Result<Picture, String> {
    let Some((width, height)) = size.filter(|(width, height)| *width > 0 && *height > 0) else {
        return Err(format!(
            "a {name} picture, {bytes} bytes, and it is not whole: it is not shown"
        ));
    };
    let picture = Picture {
        media_type,
        name,
        width,
        height,
        bytes,
    };
    if bytes > MOST_BYTES || width.max(height) > MOST_PIXELS {
        return Err(format!(
            "{}: too large to be shown (at most {MOST_BYTES} bytes and {MOST_PIXELS} pixels a side); make a smaller copy",
            picture.line()
        ));
    }
    Ok(picture)
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let join = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
    Some(bytes.iter().rev().fold(0, join))
}

/// Walks the chunks with their checksums, from the header to the end mark.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at: usize = 8;
    let mut size = None;
    loop {
        let length = usize::try_from(big(bytes, at)?).ok()?;
        let end = at.checked_add(8)?.checked_add(length)?;
        let chunk = bytes.get(at + 4..end)?;
        if crc32(chunk) != big(bytes, end)? {
            return None;
        }
        match chunk.get(..4)? {
            b"IHDR" => size = Some((big(chunk, 4)?, big(chunk, 8)?)),
            b"IEND" => return size,
            _ => {}
        }
        at = end + 4;
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Walks the segments to the frame header; the file must reach its end mark.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    // Cameras write zeros behind the end mark.
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    if bytes.get(last.checked_sub(1)?..=last)? != b"\xff\xd9" {
        return None;
    }
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            0xff => {
                at += 1;
                continue;
            }
            0x01 | 0xd0..=0xd7 => {
                at += 2;
                continue;
            }
            0xd9 | 0xda => return None,
            _ => {}
        }
        let body = bytes.get(at + 2..)?;
        let short =
            |at: usize| Some(u32::from(*body.get(at)?) << 8 | u32::from(*body.get(at + 1)?));
        let frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if frame {
            return Some((short(5)?, short(3)?));
        }
        let length = short(0)?;
        if length < 2 {
            return None;
        }
        at += 2 + length as usize;
    }
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    if last < 13 || bytes[last] != b';' {
        return None;
    }
    Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let length = usize::try_from(little(bytes, 4, 4)?).ok()?;
    if bytes.len() < length.checked_add(8)? {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little(bytes, 26, 2)? & 0x3fff,
            little(bytes, 28, 2)? & 0x3fff,
        )),
        _ => None,
    }
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
