//! One line: `{"crc":"8 hex digits","entry":{…}}`. The checksum (CRC32C) covers
//! the bytes of the entry exactly as they stand in the line, so that reading
//! needs no canonical form.
//!
//! Lines of this build are of the first version and do not say so. A later one says
//! `"v":2` before its entry; such a line, and a whole one with a record that is not
//! known here, was written by a newer build and is nothing to cut off.

use butler_protocol::Entry;

const OPEN: &str = "{\"crc\":\"";
const MIDDLE: &str = "\",\"entry\":";
const VERSION: &str = "\",\"v\":";
const CRC_DIGITS: usize = 8;

/// Appends the line of `entry`, newline included.
pub(crate) fn encode(entry: &Entry, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let body = serde_json::to_vec(entry)?;
    out.extend_from_slice(OPEN.as_bytes());
    out.extend_from_slice(format!("{:08x}", crc32c::crc32c(&body)).as_bytes());
    out.extend_from_slice(MIDDLE.as_bytes());
    out.extend_from_slice(&body);
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// Why a line cannot be read.
#[derive(Debug)]
pub(crate) enum Bad {
    /// It is not what somebody wrote.
    Broken(String),
    /// It is, and this build does not know what it means.
    Newer(String),
}

/// Reads a line without its newline.
pub(crate) fn decode(line: &[u8]) -> Result<Entry, Bad> {
    let broken = |why: &str| Bad::Broken(why.to_owned());
    let Some((claimed, bytes)) = body(line) else {
        return Err(match later_version(line) {
            Some(version) => Bad::Newer(format!("it is of version {version}")),
            None => broken("it is not a line of a log"),
        });
    };
    let actual = format!("{:08x}", crc32c::crc32c(bytes));
    if claimed != actual.as_bytes() {
        return Err(broken("its checksum does not match"));
    }
    let unknown = |error| Bad::Newer(format!("its record is not understood: {error}"));
    serde_json::from_slice(bytes).map_err(unknown)
}

/// The version of a whole line that has one.
fn later_version(line: &[u8]) -> Option<u32> {
    let rest = line.strip_prefix(OPEN.as_bytes())?.get(CRC_DIGITS..)?;
    let rest = rest.strip_prefix(VERSION.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b',')?;
    line.strip_suffix(b"}")?;
    str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// Whether a bad line has a good one inside, which means that a newline is gone.
pub(crate) fn hides_another(line: &[u8]) -> bool {
    let starts = line
        .windows(OPEN.len())
        .enumerate()
        .filter(|(_, bytes)| *bytes == OPEN.as_bytes());
    starts
        .filter(|(at, _)| *at > 0)
        .any(|(at, _)| decode(&line[at..]).is_ok())
}

fn body(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(OPEN.as_bytes())?;
    let (crc, rest) = rest.split_at_checked(CRC_DIGITS)?;
    let bytes = rest.strip_prefix(MIDDLE.as_bytes())?.strip_suffix(b"}")?;
    Some((crc, bytes))
}
