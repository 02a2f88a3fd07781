//! Deleting a folder of ours, the only place where this crate deletes folders.
//! It goes by open descriptors from a folder that is known, one name after the
//! other and never through a link, so that nothing that is renamed or linked
//! meanwhile can lead it to somebody else's files.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, open, openat, statat, unlinkat},
    io::Errno,
};

use crate::{Error, Result};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Goes last: until then a folder that is half gone can be told for what it is.
const LAST: &CStr = c".git";

/// Deletes `way/name` below `base`, if `is_it` says so of the opened folder.
/// What is not there is fine. Other file systems below it are left alone.
pub(crate) async fn folder(
    base: &Path,
    way: &[&str],
    name: &str,
    is_it: impl FnOnce(&OwnedFd) -> bool + Send + 'static,
) -> Result<()> {
    let (from, way) = (base.to_owned(), way.join("/"));
    let whole = base.join(&way).join(name);
    let name = name.to_owned();
    let deleted = tokio::task::spawn_blocking(move || {
        let mut here = open(&from, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
        for part in way.split('/').filter(|part| !part.is_empty()) {
            here = openat(&here, part, FOLDER, Mode::empty())?;
        }
        let below = openat(&here, name.as_str(), FOLDER, Mode::empty())?;
        if name.contains('/') || name.starts_with("..") || !is_it(&below) {
            return Err(Errno::PERM);
        }
        let device = fstat(&below)?.st_dev;
        clear(&below, device)?;
        unlinkat(&here, name.as_str(), AtFlags::REMOVEDIR)
    });
    match deleted.await {
        Ok(Ok(()) | Err(Errno::NOENT)) => Ok(()),
        Ok(Err(errno)) => Err(Error::file(whole)(errno.into())),
        Err(lost) => Err(Error::file(whole)(io::Error::other(lost))),
    }
}

fn clear(folder: &OwnedFd, device: u64) -> rustix::io::Result<()> {
    // Build tools leave folders that nobody may write to.
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(folder, mode | Mode::RWXU)?;
    }
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if ![c".", c"..", LAST].contains(&name) {
            names.push(name.to_owned());
        }
    }
    names.push(LAST.to_owned());
    for name in names {
        match remove(folder, &name, device) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn remove(folder: &OwnedFd, name: &CStr, device: u64) -> rustix::io::Result<()> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return unlinkat(folder, name, AtFlags::empty());
    }
    if stat.st_dev != device {
        return Err(Errno::XDEV);
    }
    let below = match openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(folder, name)?;
            openat(folder, name, FOLDER, Mode::empty())?
        }
        opened => opened?,
    };
    clear(&below, device)?;
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// Makes a folder readable that nobody may read, without following a link that
/// may have taken its place.
fn open_up(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
    let flags = FOLDER.difference(OFlags::RDONLY).union(OFlags::PATH);
    let held = openat(folder, name, flags, Mode::empty())?;
    let itself = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::chmod(itself, Mode::RWXU)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn filled(path: &Path) {
        fs::create_dir_all(path.join("below")).unwrap();
        fs::write(path.join("below/file"), "text").unwrap();
    }

    #[tokio::test]
    async fn links_are_removed_and_never_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        filled(&base.join("persons"));
        filled(&base.join("ours/one"));
        symlink(base.join("persons"), base.join("ours/one/link")).unwrap();
        symlink(base.join("persons"), base.join("ours/two")).unwrap();
        symlink(base.join("ours"), base.join("way")).unwrap();
        for (way, name) in [("ours", "two"), ("way", "one")] {
            assert!(folder(base, &[way], name, |_| true).await.is_err());
        }
        assert!(folder(base, &["ours"], "one", |_| false).await.is_err());
        assert!(folder(base, &["ours"], "..", |_| true).await.is_err());
        assert!(base.join("ours/one/below/file").exists());
        for _ in 0..2 {
            folder(base, &["ours"], "one", |_| true).await.unwrap();
            assert!(!base.join("ours/one").exists());
        }
        assert!(base.join("persons/below/file").exists());
    }

    #[tokio::test]
    async fn folders_that_nobody_may_write_to_go_too() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().unwrap();
        let one = base.path().join("one");
        filled(&one);
        for mode in [0o555, 0o000] {
            filled(&one);
            fs::set_permissions(one.join("below"), PermissionsExt::from_mode(mode)).unwrap();
            folder(base.path(), &[], "one", |_| true).await.unwrap();
            assert!(!one.exists());
        }
    }

    fn is_test(path: &Path) -> bool {
        path.to_string_lossy().ends_with("_tests.rs")
    }

    /// Whatever else deletes folders would not look where it goes.
    #[test]
    fn nothing_else_in_this_crate_deletes_folders() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("delete.rs") && !is_test(&path) {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(!text.contains("remove_dir_all"), "{}", path.display());
                }
            }
        }
    }
}
