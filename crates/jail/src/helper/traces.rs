//! Whether a room is as new after a command, so that another may run in it: no
//! file is left in the scratch space, no queue and no shared memory, its folders
//! are the same ones, and nobody has changed the first process.
//!
//! Looked at when every process of the command is dead, so nothing changes
//! meanwhile. Processes and sockets are not looked at here (see `first`, `quiet`).

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Timespec, Timestamps, fstat, llistxattr, lstat, statvfs, utimensat},
    io::Errno,
};

use super::{
    Doing, Failed,
    sys::{self, Nature},
};
use crate::view::Step;

const TERMINALS: &str = "/dev/pts";

/// How the room was before its first command.
pub(super) struct Traces {
    /// Blocks and files in use in the scratch space.
    scratch: (u64, u64),
    /// The folders of the scratch space, which are the files just counted, and
    /// where terminals are.
    folders: Vec<(Folder, PathBuf)>,
    /// The root of the namespace's message queues, where there are such, and its
    /// size: the kernel counts the names in it so.
    queues: Option<(OwnedFd, i64)>,
    /// How many there are of each kind of object that outlives its maker.
    objects: [i64; 3],
    nature: Nature,
    times: Timestamps,
}

/// What a command can change about a folder besides its content. Numbers of a
/// tmpfs are not given out twice.
#[derive(Debug, PartialEq, Eq)]
struct Folder {
    number: (u64, u64),
    mode: u32,
    owner: (u32, u32),
    attributes: usize,
}

impl Traces {
    /// Looks at a room that nobody has used.
    pub(super) fn note(steps: &[Step], queues: Option<OwnedFd>) -> Result<Self, Failed> {
        let step = "look at the room";
        let mut folders = Vec::new();
        for path in self::folders(steps) {
            folders.push((look(&path).doing(step)?, path));
        }
        // Not everywhere there are terminals.
        let terminals = [TERMINALS, "/dev/pts/ptmx"].map(PathBuf::from);
        let terminals = terminals.into_iter();
        folders.extend(terminals.filter_map(|path| Some((look(&path).ok()?, path))));
        Ok(Self {
            scratch: in_use().doing(step)?,
            folders,
            queues: match queues {
                Some(queues) => {
                    let size = fstat(&queues).doing(step)?.st_size;
                    Some((queues, size))
                }
                None => None,
            },
            objects: sys::objects(),
            nature: sys::nature().doing(step)?,
            times: times().doing(step)?,
        })
    }

    /// Whether nothing was left. What cannot be seen counts as something.
    pub(super) fn none(&self) -> bool {
        in_use() == Ok(self.scratch)
            && self
                .folders
                .iter()
                .all(|(folder, path)| look(path).as_ref() == Ok(folder))
            && self.queues.as_ref().is_none_or(|(queues, size)| {
                fstat(queues).is_ok_and(|found| found.st_size == *size)
            })
            && sys::objects() == self.objects
            && sys::nature().is_ok_and(|nature| nature == self.nature)
            && self.is_as_old()
    }

    /// Gives the folders the time of the first one back: when they were used is
    /// nobody else's business. Those of terminals are not an ordinary user's.
    fn is_as_old(&self) -> bool {
        let own = self.folders.iter();
        let mut own = own.filter(|(_, path)| !path.starts_with(TERMINALS));
        own.all(|(_, path)| {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            utimensat(CWD, path, &self.times, flags).is_ok()
        })
    }
}

/// The scratch space's own folders, and the way to what is shown in it. What is
/// mounted cannot be moved, and what lies in it is not ours.
fn folders(steps: &[Step]) -> Vec<PathBuf> {
    let own = [crate::TMP, "/dev/shm", crate::HOME];
    let mut folders = own.map(PathBuf::from).to_vec();
    let is_mounted = |step: &&Step| !matches!(step, Step::Link { .. });
    for step in steps {
        let way = step.place().ancestors();
        let way = way.take_while(|place| own.iter().any(|own| place.starts_with(own)));
        folders.extend(way.map(Path::to_owned));
    }
    folders.retain(|folder| {
        let mut mounted = steps.iter().filter(is_mounted);
        !mounted.any(|step| folder.starts_with(step.place()))
    });
    folders.sort();
    folders.dedup();
    folders
}

fn look(path: &Path) -> rustix::io::Result<Folder> {
    let found = lstat(path)?;
    Ok(Folder {
        number: (found.st_dev, found.st_ino),
        mode: found.st_mode,
        owner: (found.st_uid, found.st_gid),
        // Nothing has any here, so a length is enough.
        attributes: match llistxattr(path, &mut [0_u8; 0]) {
            Err(Errno::OPNOTSUPP) => 0,
            other => other?,
        },
    })
}

fn times() -> rustix::io::Result<Timestamps> {
    let found = lstat(crate::TMP)?;
    let at = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or(0),
    };
    Ok(Timestamps {
        last_access: at(found.st_atime, found.st_atime_nsec),
        last_modification: at(found.st_mtime, found.st_mtime_nsec),
    })
}

fn in_use() -> rustix::io::Result<(u64, u64)> {
    let found = statvfs(crate::TMP)?;
    Ok((
        found.f_blocks - found.f_bfree,
        found.f_files - found.f_ffree,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_moved_in_the_scratch_space_is_looked_at() {
        let show = |path: &str| Step::Show {
            path: Path::new(path).into(),
            write: true,
        };
        let steps = [
            show("/tmp/a/b/tree"),
            show("/tmp/a/b/tree/.git"),
            show("/work/other"),
            Step::Link {
                at: Path::new("/tmp/tools").into(),
                to: Path::new("/usr").into(),
            },
        ];
        let expected = [
            "/dev/shm",
            "/tmp",
            "/tmp/a",
            "/tmp/a/b",
            "/tmp/home",
            "/tmp/tools",
        ];
        assert_eq!(folders(&steps), expected.map(PathBuf::from));
    }
}
