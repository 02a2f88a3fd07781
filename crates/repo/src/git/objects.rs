//! Taking over objects that git wrote in the sandbox. There it has a folder of its
//! own for them, so that nothing that it is talked into can change or delete what
//! the clone has. Each is taken over only if it is what its name says.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use flate2::read::ZlibDecoder;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// Moves the loose objects of one store into another.
pub(super) fn take_over(from: &Path, to: &Path) -> Result<()> {
    for folder in listed(from) {
        let Some(start) = hex(&folder, 2) else {
            refuse_packs(&folder)?;
            continue;
        };
        for file in listed(&folder) {
            let Some(rest) = hex(&file, 38).or_else(|| hex(&file, 62)) else {
                continue;
            };
            let place = to.join(&start).join(&rest);
            if place.exists() {
                continue;
            }
            if !is_named(&file, &format!("{start}{rest}")).map_err(Error::file(&file))? {
                return Err(Error::file(&file)(io::Error::other(
                    "git left an object that is not what its name says",
                )));
            }
            let moved = fs::create_dir_all(to.join(&start))
                .and_then(|()| fs::set_permissions(&file, PermissionsExt::from_mode(0o444)))
                .and_then(|()| fs::rename(&file, &place));
            moved.map_err(Error::file(&place))?;
        }
    }
    Ok(())
}

/// Other stores that one reads from, and those that they read from.
pub(super) fn alternates(store: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut open = vec![store.to_owned()];
    while let Some(store) = open.pop() {
        let text = fs::read_to_string(store.join("info/alternates")).unwrap_or_default();
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Ok(path) = store.join(line).canonicalize()
                && !found.contains(&path)
                && found.len() < 10
            {
                found.push(path.clone());
                open.push(path);
            }
        }
    }
    found
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The name of a file if it is so many digits.
fn hex(path: &Path, length: usize) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let digits = name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (digits && name.len() == length).then(|| name.to_owned())
}

/// Git packs files above its threshold by itself; ours is above all we allow.
fn refuse_packs(folder: &Path) -> Result<()> {
    let is_pack = |file: &PathBuf| file.extension().is_some_and(|end| end == "pack");
    match listed(folder).into_iter().find(is_pack) {
        Some(pack) => Err(Error::file(pack)(io::Error::other(
            "git left a pack where only single objects are expected",
        ))),
        None => Ok(()),
    }
}

fn is_named(file: &Path, name: &str) -> io::Result<bool> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(file)?;
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let content = ZlibDecoder::new(io::BufReader::new(file));
    if name.len() == 40 {
        let mut sum = Sha1::default();
        pieces(content, |piece| sha1::Digest::update(&mut sum, piece))?;
        return Ok(HEXLOWER.encode(&sha1::Digest::finalize(sum)) == name);
    }
    let mut sum = Sha256::default();
    pieces(content, |piece| sum.update(piece))?;
    Ok(HEXLOWER.encode(&sum.finalize()) == name)
}

fn pieces(mut content: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(()),
            read => take(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_testkit::{ScratchRepo, git};

    use super::*;

    #[test]
    fn what_is_not_what_its_name_says_is_refused() {
        let scratch = ScratchRepo::new();
        let root = scratch.root();
        let store = root.join(".git/objects");
        let blob = git(root, &["hash-object", "-w", "README.md"]);
        let (start, rest) = blob.split_at(2);
        let file = store.join(start).join(rest);
        assert!(is_named(&file, &blob).unwrap());

        let from = root.join("from");
        let wrong = format!("{rest:0>38}").replace('0', "1");
        fs::create_dir_all(from.join(start)).unwrap();
        fs::copy(&file, from.join(start).join(&wrong)).unwrap();
        assert!(take_over(&from, &store).is_err());
        assert!(!store.join(start).join(&wrong).exists());

        let from = root.join("again");
        fs::create_dir_all(from.join(start)).unwrap();
        fs::rename(&file, from.join(start).join(rest)).unwrap();
        take_over(&from, &store).unwrap();
        assert_eq!(git(root, &["cat-file", "-p", &blob]), "# scratch");
        take_over(&from, &store).unwrap();
    }

    #[test]
    fn a_link_is_no_object() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("ab")).unwrap();
        let link = from.join("ab").join("c".repeat(38));
        std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
        assert!(take_over(&from, &to).is_err());
    }
}
