//! Files below a folder, by open descriptors and never through a link: a command that
//! runs in the background may put a link in the place of a folder at any moment, and
//! what is read here ends in git's objects, which commands may read.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, fchmod, fstat, mkdirat, open, openat, readlinkat,
        renameat, statat, symlinkat, unlinkat,
    },
    io::Errno,
};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How often a name for a file that is being written is tried.
const TRIES: u32 = 100;

/// What is larger is not held in memory.
const LARGE: u64 = 8 << 20;

/// More is not read where little is expected.
const SMALL: u64 = 1 << 20;

static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// What a file or link holds.
#[derive(Debug)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    Large { file: File, length: u64 },
}

impl Content {
    /// All of it at once, for who has no other way.
    pub(super) fn whole(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Large { mut file, .. } => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

/// The folder.
#[derive(Debug)]
pub(super) struct Beneath(OwnedFd);

impl Beneath {
    pub(super) fn of(root: &Path) -> io::Result<Self> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        Ok(Self(open(root, flags, Mode::empty())?))
    }

    /// A file or link as git keeps it: mode and content. What is neither, stands behind a
    /// link, or may not be read, is not found: nothing can be saved of it, and a save that fails
    /// would keep every command from running.
    pub(super) fn read(&self, path: &Path) -> io::Result<(&'static str, Content)> {
        self.read_now(path).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ACCESS => {
                io::ErrorKind::NotFound.into()
            }
            other => other.into(),
        })
    }

    fn read_now(&self, path: &Path) -> rustix::io::Result<(&'static str, Content)> {
        let (folder, name) = self.folder_of(path)?;
        let here = folder.as_ref().unwrap_or(&self.0);
        let found = statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            return match readlinkat(here, name, Vec::new()) {
                Ok(target) => Ok(("120000", Content::Bytes(target.into_bytes()))),
                // No link any more.
                Err(Errno::INVAL) => Err(Errno::NOENT),
                Err(errno) => Err(errno),
            };
        }
        // Does not wait for who writes into a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(here, name, flags | OFlags::NOCTTY, Mode::empty())?;
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Errno::NOENT);
        }
        let mode = match found.st_mode & 0o100 {
            0 => "100644",
            _ => "100755",
        };
        let mut file = File::from(file);
        let length = u64::try_from(found.st_size).unwrap_or(0);
        if length > LARGE {
            return Ok((mode, Content::Large { file, length }));
        }
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok((mode, Content::Bytes(bytes)))
    }

    /// The bytes of a small regular file; of a larger one its beginning.
    pub(super) fn small(&self, path: &Path) -> Option<Vec<u8>> {
        let (folder, name) = self.folder_of(path).ok()?;
        let here = folder.as_ref().unwrap_or(&self.0);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(here, name, flags | OFlags::NOCTTY, Mode::empty()).ok()?;
        if FileType::from_raw_mode(fstat(&file).ok()?.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        let read = File::from(file).take(SMALL).read_to_end(&mut bytes);
        read.is_ok().then_some(bytes)
    }

    /// Removes a file, and the folders above it that hold nothing then. One that is not
    /// there, or stands behind a link, is gone already.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let unlink = |path: &Path, flags| {
            let (folder, name) = self.folder_of(path)?;
            unlinkat(folder.as_ref().unwrap_or(&self.0), name, flags)
        };
        match unlink(path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        for folder in path.ancestors().skip(1) {
            if folder.as_os_str().is_empty() || unlink(folder, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Puts a file or link there, as git keeps it, making the folders above it. Rights of a
    /// file that is there stay, but for "executable".
    pub(super) fn write(&self, path: &Path, mode: &str, bytes: &[u8]) -> io::Result<()> {
        let (way, name) = split(path)?;
        let mut folder = None;
        for part in way {
            let above = folder.as_ref().unwrap_or(&self.0);
            folder = Some(folder_there(above, part)?);
        }
        let here = folder.as_ref().unwrap_or(&self.0);
        let before = statat(here, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kind = before.map(|found| FileType::from_raw_mode(found.st_mode));
        if kind == Some(FileType::Directory) {
            // What was in it and is saved went; what is ignored is not ours to take.
            unlinkat(here, name, AtFlags::REMOVEDIR)?;
        }
        if mode == "120000" {
            if before.is_some() && kind != Some(FileType::Directory) {
                unlinkat(here, name, AtFlags::empty())?;
            }
            return Ok(symlinkat(OsStr::from_bytes(bytes), here, name)?);
        }
        let before = before.filter(|_| kind == Some(FileType::RegularFile));
        let before = before.map_or(0o644, |found| found.st_mode & 0o777);
        let rights = match mode {
            "100755" => before | 0o111,
            _ => before & !0o111,
        };
        let (draft, mut file) = draft(here)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(rights))?))
            .and_then(|()| Ok(renameat(here, &draft, here, name)?));
        if written.is_err() {
            // Ours, and of no use now: that it goes is not worth an error.
            let _ = unlinkat(here, &draft, AtFlags::empty());
        }
        written
    }

    /// The folder that holds `path`, unless it is the root itself, and its name there.
    fn folder_of<'a>(&self, path: &'a Path) -> rustix::io::Result<(Option<OwnedFd>, &'a OsStr)> {
        let (way, name) = split(path)?;
        let mut folder = None;
        for part in way {
            let above = folder.as_ref().unwrap_or(&self.0);
            folder = Some(openat(above, part, FOLDER, Mode::empty())?);
        }
        Ok((folder, name))
    }
}

/// The folders on the way to a path, and its name in the last of them.
fn split(path: &Path) -> rustix::io::Result<(&Path, &OsStr)> {
    let is_plain = |part| matches!(part, Component::Normal(_));
    let (Some(way), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    if !path.components().all(is_plain) {
        return Err(Errno::INVAL);
    }
    Ok((way, name))
}

/// The folder of that name; a file or a link in its place was saved when it was a folder,
/// and goes.
fn folder_there(above: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    match openat(above, name, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => {}
        Err(Errno::LOOP | Errno::NOTDIR) => unlinkat(above, name, AtFlags::empty())?,
        opened => return opened,
    }
    mkdirat(above, name, Mode::from_raw_mode(0o777))?;
    openat(above, name, FOLDER, Mode::empty())
}

/// A new file with a name of its own.
fn draft(folder: &OwnedFd) -> rustix::io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let name = format!(".codebutler-undo-{}-{number}", std::process::id());
        match openat(folder, &name, flags, Mode::from_raw_mode(0o600)) {
            Ok(file) => return Ok((name, file.into())),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;

    /// This thread has no right of root's that files do not give.
    fn may_read_no_more_than_others() {
        let mut own = capabilities(None).unwrap();
        let all = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        own.effective.remove(all);
        set_capabilities(None, own).unwrap();
    }

    #[test]
    fn nothing_is_read_through_a_link_or_out_of_a_pipe() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "inside").unwrap();
        fs::write(scratch.path().join("c"), "the person's").unwrap();
        symlink(scratch.path(), root.join("out")).unwrap();
        symlink("../../c", root.join("a/link")).unwrap();
        let fifo = FileType::Fifo;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        fs::write(root.join("closed"), "nobody's").unwrap();
        fs::set_permissions(root.join("closed"), PermissionsExt::from_mode(0o000)).unwrap();
        may_read_no_more_than_others();
        let beneath = Beneath::of(&root).unwrap();
        let read = |path: &str| {
            let (mode, content) = beneath.read(Path::new(path))?;
            Ok::<_, io::Error>((mode, content.whole()?))
        };
        assert_eq!(read("a/b/c").unwrap(), ("100644", b"inside".to_vec()));
        assert_eq!(read("a/link").unwrap(), ("120000", b"../../c".to_vec()));
        for path in [
            "out/c",
            "a/link/c",
            "a/b/c/d",
            "pipe",
            "a",
            "nowhere/c",
            "closed",
        ] {
            let error = read(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{path}: {error}");
        }
        for path in ["../c", "a/../../c"] {
            // Git keeps no such path, so nobody asks; what is asked for all the same is not of a
            // folder of ours.
            assert!(beneath.write(Path::new(path), "100644", b"x").is_err());
            assert!(read(path).is_err(), "{path}");
        }
        assert_eq!(fs::read(scratch.path().join("c")).unwrap(), b"the person's");
    }
}
