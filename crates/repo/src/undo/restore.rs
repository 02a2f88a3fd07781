//! Brings files back: git says which differ between two saved states, and gives
//! their bytes; they are written here, beneath the folder and through no link.

use std::{
    fs, io,
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use butler_protocol::CommitSha;
use tokio_util::sync::CancellationToken;

use super::{Restored, is_folder, is_gits};
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
        for path in &gone {
            remove(&root, path).map_err(Error::file(root.join(path)))?;
        }
        for (file, bytes) in files.iter().zip(&contents) {
            write(&root, file, bytes).map_err(Error::file(root.join(&file.path)))?;
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

fn remove(root: &Path, path: &Path) -> io::Result<()> {
    let way = path
        .ancestors()
        .skip(1)
        .filter(|part| !part.as_os_str().is_empty());
    if !way.clone().all(|part| is_folder(&root.join(part))) {
        return Ok(());
    }
    match fs::remove_file(root.join(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Folders that hold nothing any more; one that holds something says so.
    for folder in way {
        if fs::remove_dir(root.join(folder)).is_err() {
            break;
        }
    }
    Ok(())
}

fn write(root: &Path, file: &File, bytes: &[u8]) -> io::Result<()> {
    let full = root.join(&file.path);
    let way: Vec<&Path> = file.path.ancestors().skip(1).collect();
    for part in way.iter().rev().filter(|part| !part.as_os_str().is_empty()) {
        let folder = root.join(part);
        if !is_folder(&folder) {
            // A file or a link in its place: it was saved, and then it was a folder.
            let _ = fs::remove_file(&folder);
            fs::create_dir(&folder)?;
        }
    }
    if is_folder(&full) {
        // What was in it and is saved went; what is ignored is not ours to take.
        fs::remove_dir(&full)?;
    }
    if file.mode == "120000" {
        let _ = fs::remove_file(&full);
        return symlink(Path::new(std::ffi::OsStr::from_bytes(bytes)), &full);
    }
    let folder = full.parent().unwrap_or(root);
    let mut new = tempfile::Builder::new()
        .prefix(".codebutler-")
        .tempfile_in(folder)?;
    new.write_all(bytes)?;
    let before = fs::symlink_metadata(&full)
        .ok()
        .filter(|found| found.is_file());
    let before = before.map_or(0o644, |found| found.permissions().mode() & 0o777);
    let mode = match file.mode.as_str() {
        "100755" => before | 0o111,
        _ => before & !0o111,
    };
    new.as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    new.persist(&full).map_err(|error| error.error)?;
    Ok(())
}
