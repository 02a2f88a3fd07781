//! Write: a whole file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    NotDone,
    change::{self, FILE_BYTES, Planned},
};
use crate::{
    Workplace,
    content::text::{self, LineEnds},
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The file, from the root; missing folders are made.
    path: String,
    /// The whole new content.
    content: String,
}

/// The tool.
pub struct Write;

const DESCRIPTION: &str = "
Writes a whole file: creates it, or replaces everything in it. To change parts of a file use Edit,
which cannot lose the rest. Mode and line ends are kept; git's own files and the agents' rules cannot
be written. Returns what was created, or the diff.
Example: {\"path\": \"docs/usage.md\", \"content\": \"# Usage\\n\"}";

super::change::of_one_file!(Write, "Write");

fn plan(place: &Workplace, input: &Input) -> Result<Planned, NotDone> {
    if input.content.len() as u64 > FILE_BYTES {
        return Err(format!(
            "failed: `content` has {} bytes, more than {FILE_BYTES}: write it in parts, or make it with a program in Bash",
            input.content.len()
        )
        .into());
    }
    let path = place.locate(&input.path)?;
    let before = change::present(place, &path)?;
    let after = match &before {
        Some(old) => as_before(old, &input.content),
        None => input.content.clone().into_bytes(),
    };
    Ok(Planned {
        path,
        before,
        after,
        what: "rewrote".to_owned(),
    })
}

/// The content with the line ends and the byte order mark that the file had.
fn as_before(old: &[u8], content: &str) -> Vec<u8> {
    let mark: &[u8] = b"\xef\xbb\xbf";
    let mut bytes = Vec::with_capacity(content.len());
    if old.starts_with(mark) && !content.starts_with('\u{feff}') {
        bytes.extend_from_slice(mark);
    }
    let crlf = std::str::from_utf8(old).is_ok_and(|old| LineEnds::of(old) == LineEnds::CrLf);
    if crlf {
        bytes.extend_from_slice(text::with_crlf(content).as_bytes());
    } else {
        bytes.extend_from_slice(content.as_bytes());
    }
    bytes
}
