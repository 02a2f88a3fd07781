//! Replacing a file so that a reader sees the old text or the new one, never a
//! part, and so that a crash leaves at most a temporary file with a known name.

use std::{
    fs::File,
    io::Write,
    os::fd::{AsFd, OwnedFd},
};

use butler_protocol::{Sha256Hex, fault};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use super::{Inside, PlaceError, Workplace, beneath::Links, guard};

impl Workplace {
    /// Puts `bytes` at `path`, making missing folders. The mode of a file that
    /// is replaced is kept, its links are not followed.
    pub fn replace(&self, path: &Inside, bytes: &[u8]) -> Result<(), PlaceError> {
        self.check_target(path)?;
        let Some((folder, name)) = path.split() else {
            return Err(PlaceError::Folder {
                path: path.shown().to_owned(),
            });
        };
        let parent = self.make_folder(&folder)?;
        let failed = |source: std::io::Error| PlaceError::Io {
            path: path.shown().to_owned(),
            source,
        };
        let mode = kept_mode(&parent, name).map_err(|errno| failed(errno.into()))?;
        let draft = draft_name(name);
        let fd = create_draft(&parent, &draft).map_err(|errno| failed(errno.into()))?;
        let mut file = File::from(fd);
        let written = file.write_all(bytes).and_then(|()| {
            if let Some(mode) = mode {
                rustix::fs::fchmod(&file, mode)?;
            }
            file.sync_all()
        });
        fault("tools.before-replace");
        let done = written.and_then(|()| {
            rustix::fs::renameat(&parent, draft.as_str(), &parent, name)?;
            Ok(())
        });
        if let Err(source) = done {
            // The draft is ours and useless now; that it goes is not worth an error.
            let _ = rustix::fs::unlinkat(&parent, draft.as_str(), AtFlags::empty());
            return Err(failed(source));
        }
        rustix::fs::fsync(&parent).map_err(|errno| failed(errno.into()))?;
        fault("tools.after-replace");
        Ok(())
    }

    /// Removes what an interrupted [`Workplace::replace`] may have left.
    pub(crate) fn clean_after_crash(&self, path: &Inside) {
        let Some((folder, name)) = path.split() else {
            return;
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(parent) = self.resolve(&folder, flags, Links::None) {
            // Nothing there is the usual case.
            let _ = rustix::fs::unlinkat(&parent, draft_name(name).as_str(), AtFlags::empty());
        }
    }

    /// Refuses targets that are protected, links, folders or special files.
    pub(crate) fn check_target(&self, path: &Inside) -> Result<(), PlaceError> {
        guard::may_write(path)?;
        let shown = || path.shown().to_owned();
        if path.is_root() {
            return Err(PlaceError::Folder { path: shown() });
        }
        let Some(stat) = self.kind(path)? else {
            return Ok(());
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(PlaceError::Folder { path: shown() }),
            FileType::Symlink => Err(PlaceError::Link {
                target: self
                    .open_file(path)
                    .ok()
                    .map(|opened| opened.real.shown().to_owned()),
                path: shown(),
            }),
            _ => Err(PlaceError::Special {
                path: shown(),
                kind: "named pipe, socket or device",
            }),
        }
    }

    /// Opens a folder, making what is missing. Links on the way are refused:
    /// rights are given for the path that was named.
    fn make_folder(&self, folder: &Inside) -> Result<OwnedFd, PlaceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut here = Inside::root();
        let mut fd = self
            .resolve(&here, flags, Links::None)
            .map_err(|errno| self.explain(&here, errno))?;
        for part in folder.parts() {
            here = here.join(part);
            let next = rustix::fs::openat(&fd, part, flags | OFlags::NOFOLLOW, Mode::empty());
            fd = match next {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&fd, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(self.explain(&here, errno)),
                    }
                    rustix::fs::openat(&fd, part, flags | OFlags::NOFOLLOW, Mode::empty())
                }
                next => next,
            }
            .map_err(|errno| self.explain_step(&here, errno))?;
        }
        Ok(fd)
    }

    /// `O_DIRECTORY|O_NOFOLLOW` answers "not a directory" for links too.
    fn explain_step(&self, here: &Inside, errno: Errno) -> PlaceError {
        let is_link = self
            .kind(here)
            .ok()
            .flatten()
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link {
            return PlaceError::Link {
                target: self
                    .open_folder(here)
                    .ok()
                    .map(|(_, real)| real.shown().to_owned()),
                path: here.shown().to_owned(),
            };
        }
        self.explain(here, errno)
    }
}

/// The name of the temporary file for `name`: always the same, so that a later
/// try finds what a crash left behind, and short whatever `name` is.
fn draft_name(name: &str) -> String {
    format!(".codebutler-draft-{}", &Sha256Hex::of(name).as_str()[..16])
}

fn create_draft(parent: &OwnedFd, draft: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    match rustix::fs::openat(parent, draft, flags, mode) {
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(parent, draft, AtFlags::empty())?;
            rustix::fs::openat(parent, draft, flags, mode)
        }
        result => result,
    }
}

/// The permission bits of the file that is replaced, without setuid and the like.
fn kept_mode(parent: &OwnedFd, name: &str) -> Result<Option<Mode>, Errno> {
    match rustix::fs::statat(parent.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            Ok(Some(Mode::from_raw_mode(stat.st_mode & 0o777)))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
