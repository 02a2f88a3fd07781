//! One line: `{"crc":"8 hex digits","entry":{…}}`. The checksum (CRC32C) covers
//! the bytes of the entry exactly as they stand in the line, so that reading
//! needs no canonical form.

use butler_protocol::Entry;

const OPEN: &str = "{\"crc\":\"";
const MIDDLE: &str = "\",\"entry\":";
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

/// Reads a line without its newline.
pub(crate) fn decode(line: &[u8]) -> Result<Entry, String> {
    let body = body(line).ok_or("it is not a line of a log")?;
    let (claimed, bytes) = body;
    let actual = format!("{:08x}", crc32c::crc32c(bytes));
    if claimed != actual.as_bytes() {
        return Err("its checksum does not match".to_owned());
    }
    serde_json::from_slice(bytes).map_err(|error| format!("its record is not understood: {error}"))
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
