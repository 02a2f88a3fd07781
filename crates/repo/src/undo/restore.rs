//! Brings files back: git says which differ between two saved states, and gives
//! their bytes; they are written here, beneath the folder and through no link.

use std::path::{Path, PathBuf};

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use super::{Restored, beneath::Beneath, is_gits};
use crate::{
    Error, Git, Result,
    git::{Output, path_of},
};

/// What one file was.
struct File {
    path: PathBuf,
    mode: String,
    blob: String,
}

/// Makes the files below `root`, which are those of `now`, those of `then`.
pub(super) async fn from(
    git: &Git,
    root: &Path,
    now: &CommitSha,
    then: &CommitSha,
    cancel: &CancellationToken,
) -> Result<Restored> {
    let output = git
        .call([
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--raw",
            "--full-index",
        ])
        .args([now.as_str(), then.as_str()])
        .run(cancel)
        .await?;
    let (gone, files) = differences(&output)?;
    let contents = contents(git, &files, cancel).await?;
    let root = root.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let beneath = Beneath::of(&root).map_err(Error::file(&root))?;
        for path in &gone {
            let removed = beneath.remove(path);
            removed.map_err(Error::file(root.join(path)))?;
        }
        for (file, bytes) in files.iter().zip(&contents) {
            let written = beneath.write(&file.path, &file.mode, bytes);
            written.map_err(Error::file(root.join(&file.path)))?;
        }
        Ok(Restored {
            written: files.len(),
            removed: gone.len(),
            ..Restored::default()
        })
    });
    written.await.map_err(|_| Error::Cancelled {
        what: "bringing files back".to_owned(),
    })?
}

/// `:<mode> <mode> <blob> <blob> <status>` and a path, each ended by NUL.
fn differences(output: &Output) -> Result<(Vec<PathBuf>, Vec<File>)> {
    let fields: Vec<&[u8]> = output.fields().collect();
    let (mut gone, mut files) = (Vec::new(), Vec::new());
    for pair in fields.chunks(2) {
        let [about, path] = pair else {
            return Err(output.unreadable());
        };
        let about = String::from_utf8_lossy(about).into_owned();
        let words: Vec<&str> = about.split(' ').collect();
        let [_, mode, _, blob, status] = words.as_slice() else {
            return Err(output.unreadable());
        };
        let path = path_of(path);
        if is_gits(&path) || path.is_absolute() {
            continue;
        }
        if *status == "D" {
            gone.push(path);
        } else {
            files.push(File {
                path,
                mode: (*mode).to_owned(),
                blob: (*blob).to_owned(),
            });
        }
    }
    Ok((gone, files))
}

async fn contents(git: &Git, files: &[File], cancel: &CancellationToken) -> Result<Vec<Vec<u8>>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = files
        .iter()
        .map(|file| format!("{}\n", file.blob))
        .collect();
    let output = git
        .call(["cat-file", "--batch"])
        .input(asked)
        .run(cancel)
        .await?;
    let mut rest = output.stdout.as_slice();
    let mut contents = Vec::with_capacity(files.len());
    for _ in files {
        let bytes = one(&mut rest).ok_or_else(|| output.unreadable())?;
        contents.push(bytes.to_vec());
    }
    Ok(contents)
}

/// `<blob> blob <length>`, a line end, the bytes, a line end.
fn one<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let about = std::str::from_utf8(&rest[..end]).ok()?;
    let length: usize = about
        .strip_suffix(char::is_whitespace)
        .unwrap_or(about)
        .rsplit(' ')
        .next()?
        .parse()
        .ok()?;
    let bytes = rest.get(end + 1..end + 1 + length)?;
    *rest = rest.get(end + 2 + length..)?;
    Some(bytes)
}
