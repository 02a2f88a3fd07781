//! What `git fast-import` is told: one commit, with the bytes of every file that
//! changed. Git itself looks at no file of the folder.

use std::{io, os::unix::ffi::OsStrExt, path::Path};

use butler_protocol::CommitSha;

use super::{
    beneath::{Beneath, Content},
    files::Change,
    is_gits,
    store::{Store, hex},
};
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

/// What is told at once. What comes after that much, and what is large, is put into the
/// store first: a folder can hold more than fits in memory.
const AT_ONCE: usize = 64 << 20;

/// The commit as a whole.
pub(super) fn tell(
    mut text: Vec<u8>,
    root: &Path,
    changes: &[Change],
    store: Option<&Store>,
) -> Result<Vec<u8>> {
    let beneath = Beneath::of(root).map_err(Error::file(root))?;
    for change in changes {
        match change {
            Change::Gone(path) if !is_gits(path) => {
                text.extend_from_slice(b"D ");
                quote(path, &mut text);
            }
            Change::There(path) if !is_gits(path) => match beneath.read(path) {
                Ok((mode, content)) => {
                    let told = one(&mut text, path, mode, content, store);
                    told.map_err(Error::file(root.join(path)))?;
                }
                // Gone between two looks: what was saved of it before stays.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::file(root.join(path))(error)),
            },
            _ => {}
        }
    }
    text.extend_from_slice(b"get-mark :1\ndone\n");
    Ok(text)
}

fn one(
    text: &mut Vec<u8>,
    path: &Path,
    mode: &str,
    content: Content,
    store: Option<&Store>,
) -> io::Result<()> {
    let kept = match (content, store) {
        (Content::Large { file, length }, Some(store)) => Ok(store.put_large(file, length)?),
        (Content::Bytes(bytes), Some(store)) if text.len() > AT_ONCE => {
            Ok(store.put("blob", &bytes)?)
        }
        (content, _) => Err(content.whole()?),
    };
    match kept {
        Ok(id) => {
            text.extend_from_slice(format!("M {mode} {} ", hex(&id)).as_bytes());
            quote(path, text);
        }
        Err(bytes) => {
            text.extend_from_slice(format!("M {mode} inline ").as_bytes());
            quote(path, text);
            text.extend_from_slice(format!("data {}\n", bytes.len()).as_bytes());
            text.extend_from_slice(&bytes);
            text.push(b'\n');
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_is_not_told_but_kept() {
        let scratch = butler_testkit::ScratchRepo::new();
        let root = scratch.root();
        let large = std::fs::File::create(root.join("large")).unwrap();
        large.set_len(20 << 20).unwrap();
        std::fs::write(root.join("small"), "here\n").unwrap();
        let store = Store::of(&root.join(".git"));
        let changes = ["large", "small"].map(|name| Change::There(name.into()));
        let told = tell(Vec::new(), root, &changes, store.as_ref()).unwrap();
        let told = String::from_utf8(told).unwrap();
        let id = butler_testkit::git(root, &["hash-object", "large"]);
        assert!(
            told.contains(&format!("M 100644 {id} \"large\"\n")),
            "{told}"
        );
        assert!(
            told.contains("M 100644 inline \"small\"\ndata 5\nhere\n"),
            "{told}"
        );
        butler_testkit::git(root, &["cat-file", "-e", &id]);
    }
}
