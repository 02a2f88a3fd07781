//! Opening files so that nothing leads out of the root.
//!
//! The kernel resolves each path beneath the root's descriptor in one step
//! (`openat2`). Where it cannot, the path is walked part by part and links are
//! refused. What was opened is then asked what and where it really is, and the
//! guards look at that answer, not at the text that was given.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};

use super::{Inside, PlaceError, Workplace, guard};

/// How often a resolution that raced with a rename is tried again.
const TRIES: u32 = 64;

/// A regular file beneath the root, open for reading.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    /// Where it really is; another place than asked for when links led there.
    pub real: Inside,
    /// Its size when it was opened.
    pub bytes: u64,
    /// Its permission bits.
    pub mode: u32,
}

impl Opened {
    /// All of it, if it is not larger than `cap`.
    pub fn read(mut self, cap: u64, instead: &'static str) -> Result<Vec<u8>, PlaceError> {
        let path = self.real.shown().to_owned();
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes.min(cap)).unwrap_or(0) + 1);
        // A file can grow while it is read, so the cap also holds for the reading.
        (&mut self.file)
            .take(cap + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| PlaceError::Io {
                path: path.clone(),
                source,
            })?;
        let read = bytes.len() as u64;
        if read > cap {
            return Err(PlaceError::TooBig {
                path,
                bytes: read.max(self.bytes),
                cap,
                instead,
            });
        }
        Ok(bytes)
    }
}

impl Workplace {
    /// Opens a regular file for reading.
    pub fn open_file(&self, path: &Inside) -> Result<Opened, PlaceError> {
        guard::may_read(path)?;
        // Non-blocking, so that a FIFO does not hold us before we see what it is.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = self
            .resolve(path, flags, Links::Inside)
            .map_err(|errno| self.explain(path, errno))?;
        let real = self.real_path(fd.as_fd(), path)?;
        guard::may_read(&real)?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| self.explain(path, errno))?;
        check_regular(&real, &stat)?;
        Ok(Opened {
            file: File::from(fd),
            real,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o777,
        })
    }

    /// Opens a folder for listing; says where it really is.
    pub fn open_folder(&self, path: &Inside) -> Result<(OwnedFd, Inside), PlaceError> {
        guard::may_read(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = self
            .resolve(path, flags, Links::Inside)
            .map_err(|errno| self.explain(path, errno))?;
        let real = self.real_path(fd.as_fd(), path)?;
        guard::may_read(&real)?;
        Ok((fd, real))
    }

    /// What lies at `path`, links not followed; nothing when there is nothing.
    pub(crate) fn kind(&self, path: &Inside) -> Result<Option<Stat>, PlaceError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.resolve(path, flags, Links::Inside) {
            Ok(fd) => rustix::fs::fstat(&fd)
                .map(Some)
                .map_err(|errno| self.explain(path, errno)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.explain(path, errno)),
        }
    }

    pub(super) fn resolve(
        &self,
        path: &Inside,
        flags: OFlags,
        links: Links,
    ) -> Result<OwnedFd, Errno> {
        resolve(self.dir(), &path.to_path(), flags, links)
    }

    /// Where an open descriptor really is. The kernel knows; without links in
    /// the path it is where we asked for.
    fn real_path(&self, fd: BorrowedFd<'_>, asked: &Inside) -> Result<Inside, PlaceError> {
        if !cfg!(target_os = "linux") {
            return Ok(asked.clone());
        }
        let outside = || PlaceError::Outside {
            path: asked.shown().to_owned(),
        };
        let own = std::os::fd::AsRawFd::as_raw_fd(&fd);
        let link = rustix::fs::readlinkat(CWD, format!("/proc/self/fd/{own}"), Vec::new())
            .map_err(|errno| self.explain(asked, errno))?;
        let real = Path::new(OsStr::from_bytes(link.as_bytes()));
        let relative = real.strip_prefix(self.root()).map_err(|_| outside())?;
        let text = relative.to_str().ok_or(PlaceError::Odd {
            path: asked.shown().to_owned(),
            why: "leads to a name that is not UTF-8",
        })?;
        if text.is_empty() {
            return Ok(Inside::root());
        }
        Inside::parse(text, &[])
    }

    /// What a failed resolution means for the model.
    pub(super) fn explain(&self, path: &Inside, errno: Errno) -> PlaceError {
        let shown = path.shown().to_owned();
        match errno {
            Errno::NOENT => PlaceError::Missing {
                near: self.look_alikes(path),
                path: shown,
            },
            Errno::XDEV | Errno::AGAIN => PlaceError::Outside { path: shown },
            Errno::LOOP => PlaceError::Link {
                target: None,
                path: shown,
            },
            Errno::NOTDIR => PlaceError::NotFolder { path: shown },
            Errno::ISDIR => PlaceError::Folder { path: shown },
            Errno::NXIO => PlaceError::Special {
                path: shown,
                kind: "socket or device",
            },
            errno => PlaceError::Io {
                path: shown,
                source: errno.into(),
            },
        }
    }

    /// Names in the same folder that differ in case, spelling or extension.
    fn look_alikes(&self, path: &Inside) -> Vec<String> {
        let Some((folder, name)) = path.split() else {
            return Vec::new();
        };
        let Ok((fd, real)) = self.open_folder(&folder) else {
            return Vec::new();
        };
        let Ok(entries) = Dir::read_from(&fd) else {
            return Vec::new();
        };
        let names: Vec<String> = entries
            .flatten()
            .take(2000)
            .filter_map(|entry| {
                let name = entry.file_name().to_str().ok()?.to_owned();
                (name != "." && name != "..").then_some(name)
            })
            .collect();
        butler_protocol::nearest(name, names.iter().map(String::as_str), 3)
            .into_iter()
            .map(|name| real.join(name).shown().to_owned())
            .collect()
    }
}

/// What happens to symbolic links on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Followed as long as they stay beneath the root.
    Inside,
    /// Refused.
    None,
}

pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, root, flags, Mode::empty())
}

#[cfg(target_os = "linux")]
fn resolve(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let mut how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::None {
        how |= ResolveFlags::NO_SYMLINKS;
    }
    let mut tries = 0;
    loop {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), how) {
            // Somebody renamed a folder meanwhile: the kernel asks for another try.
            Err(Errno::AGAIN | Errno::INTR) if tries < TRIES => tries += 1,
            Err(Errno::NOSYS) => return walk(dir, path, flags),
            result => return result,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn resolve(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    _links: Links,
) -> Result<OwnedFd, Errno> {
    walk(dir, path, flags)
}

/// Opens part by part and follows no link at all.
fn walk(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path.components().map(|part| part.as_os_str()).peekable();
    let mut held: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let at = held.as_ref().map_or(dir, |fd| fd.as_fd());
        if part == ".." {
            return Err(Errno::XDEV);
        }
        let flags = if parts.peek().is_some() {
            step
        } else {
            flags | OFlags::NOFOLLOW
        };
        held = Some(rustix::fs::openat(at, part, flags, Mode::empty())?);
    }
    held.ok_or(Errno::NOENT)
}

fn check_regular(path: &Inside, stat: &Stat) -> Result<(), PlaceError> {
    let path_text = || path.shown().to_owned();
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => return Err(PlaceError::Folder { path: path_text() }),
        FileType::Symlink => Some("symbolic link"),
        FileType::Fifo => Some("named pipe"),
        FileType::Socket => Some("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("device"),
        FileType::Unknown => Some("special file"),
    };
    if let Some(kind) = kind {
        return Err(PlaceError::Special {
            path: path_text(),
            kind,
        });
    }
    let links = stat.st_nlink;
    if links > 1 && !is_dependency(path) {
        return Err(PlaceError::Shared {
            path: path_text(),
            links,
        });
    }
    Ok(())
}

/// Whether a file with several hard links may be read: build tools and package
/// managers link files of their own stores into these folders.
pub(crate) fn is_dependency(path: &Inside) -> bool {
    path.parts()
        .any(|part| matches!(part, "node_modules" | "target" | ".venv" | "vendor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_without_openat2_follows_no_link() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/c"), "inside").unwrap();
        std::fs::write(scratch.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        std::os::unix::fs::symlink("a/b/c", root.join("c")).unwrap();
        let dir = open_root(&root).unwrap();
        let read = |path: &str| {
            walk(dir.as_fd(), Path::new(path), OFlags::RDONLY).map(|fd| {
                let mut text = String::new();
                File::from(fd).read_to_string(&mut text).unwrap();
                text
            })
        };
        assert_eq!(read("a/b/c").as_deref(), Ok("inside"));
        assert_eq!(read("./a/b/c").as_deref(), Ok("inside"));
        for path in ["up/secret", "../secret", "a/../../secret", "c"] {
            assert!(read(path).is_err(), "{path}");
        }
    }
}
