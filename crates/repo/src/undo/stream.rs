//! What `git fast-import` is told: one commit, with the bytes of every file that
//! changed. Git itself looks at no file of the folder.

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use butler_protocol::CommitSha;

use super::{files::Change, is_gits};
use crate::{Error, Result};

/// Who it is by: nobody whose name would appear in a history.
pub(super) const COMMITTER: &str = "committer CodeButler <codebutler@localhost>";

/// The beginning of the commit.
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) message: String,
    pub(super) from: Option<&'a CommitSha>,
    /// When, in seconds since 1970.
    pub(super) at: i64,
    /// All files follow, not only those that differ from its parent's.
    pub(super) whole: bool,
}

impl Head<'_> {
    pub(super) fn text(&self) -> Vec<u8> {
        let now = self.at;
        let (name, message) = (self.name, &self.message);
        let mut text = format!(
            "commit {name}\nmark :1\n{COMMITTER} {now} +0000\ndata {}\n{message}\n",
            message.len()
        );
        if let Some(from) = self.from {
            text.push_str(&format!("from {from}\n"));
        }
        if self.whole {
            text.push_str("deleteall\n");
        }
        text.into_bytes()
    }
}

/// The commit as a whole.
pub(super) fn tell(mut text: Vec<u8>, root: &Path, changes: &[Change]) -> Result<Vec<u8>> {
    for change in changes {
        match change {
            Change::Gone(path) if !is_gits(path) => {
                text.extend_from_slice(b"D ");
                quote(path, &mut text);
            }
            Change::There(path) if !is_gits(path) => {
                let full = root.join(path);
                match read(&full) {
                    Ok((mode, bytes)) => {
                        text.extend_from_slice(format!("M {mode} inline ").as_bytes());
                        quote(path, &mut text);
                        text.extend_from_slice(format!("data {}\n", bytes.len()).as_bytes());
                        text.extend_from_slice(&bytes);
                        text.push(b'\n');
                    }
                    // Gone between two looks: what was saved of it before stays.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(Error::file(full)(error)),
                }
            }
            _ => {}
        }
    }
    text.extend_from_slice(b"get-mark :1\ndone\n");
    Ok(text)
}

/// A file as git keeps it: mode and bytes.
pub(super) fn read(path: &Path) -> io::Result<(&'static str, Vec<u8>)> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        let target = fs::read_link(path)?;
        return Ok(("120000", target.as_os_str().as_bytes().to_vec()));
    }
    let mode = match found.permissions().mode() & 0o100 {
        0 => "100644",
        _ => "100755",
    };
    Ok((mode, fs::read(path)?))
}

/// Any bytes but NUL can be in a path.
fn quote(path: &Path, text: &mut Vec<u8>) {
    text.push(b'"');
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
            b'\n' => text.extend_from_slice(b"\\n"),
            other => text.push(*other),
        }
    }
    text.extend_from_slice(b"\"\n");
}
