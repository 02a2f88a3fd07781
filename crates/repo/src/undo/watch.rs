//! What happened in folders since somebody asked last, as the kernel tells it, so that
//! a save need not look at every file.
//!
//! A watch only ever says less work is enough: where it cannot be sure (too many
//! events or folders, a file system whose changes come from elsewhere, a folder that
//! came or went, another ignore rule) it says so, and all files are looked at.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::{
    fs::{
        inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
        statfs,
    },
    io::Errno,
};

/// A person has 128 of these altogether, and other programs want some too.
const MOST_WATCHES: usize = 16;
/// Each costs the kernel a kilobyte.
const MOST_FOLDERS: usize = 8192;

/// File systems that only this machine changes: ext, xfs, btrfs, tmpfs, f2fs, zfs,
/// overlay, bcachefs.
const OWN: [i64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0x794c_7630,
    0xca45_1a4e,
];

static WATCHES: AtomicUsize = AtomicUsize::new(0);

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Only these can have changed, come or gone.
    These(BTreeSet<PathBuf>),
    /// Anything can have.
    Anything,
}

/// Listens to folders below a root.
#[derive(Debug)]
pub(super) struct Watch {
    line: OwnedFd,
    /// By the kernel's number; as the way from the root.
    folders: Mutex<HashMap<i32, PathBuf>>,
}

impl Watch {
    /// Nothing where the kernel would not tell everything.
    pub(super) fn of(root: &Path) -> Option<Self> {
        let found = statfs(root).ok()?;
        if !OWN.contains(&found.f_type) {
            return None;
        }
        let taken = WATCHES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < MOST_WATCHES).then_some(taken + 1)
        });
        taken.ok()?;
        let Ok(line) = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) else {
            WATCHES.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        Some(Self {
            line,
            folders: Mutex::default(),
        })
    }

    /// Listens to a folder from now on; false when it cannot.
    pub(super) fn add(&self, full: &Path, way: &Path) -> bool {
        let what = WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= MOST_FOLDERS {
            return false;
        }
        match inotify::add_watch(&self.line, full, what) {
            Ok(number) => {
                folders.insert(number, way.to_owned());
                true
            }
            // Gone again: the folder above it tells that.
            Err(error) => error == Errno::NOENT,
        }
    }

    /// What happened since this was asked last.
    pub(super) fn told(&self) -> Told {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut events = Reader::new(&self.line, &mut space);
        let mut these = BTreeSet::new();
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Told::These(these),
                Err(Errno::INTR) => continue,
                Err(_) => return Told::Anything,
            };
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let (Some(folder), Some(name)) = (folders.get(&event.wd()), name) else {
                // Of a folder itself: the rights of one that stays say nothing of its files.
                if event.events() == ReadFlags::ATTRIB | ReadFlags::ISDIR {
                    continue;
                }
                return Told::Anything;
            };
            let is_folder = event.events().contains(ReadFlags::ISDIR);
            match name.as_bytes() {
                b".git" => {}
                _ if is_folder && event.events().contains(ReadFlags::ATTRIB) => {}
                b".gitignore" => return Told::Anything,
                _ if is_folder => return Told::Anything,
                _ => {
                    these.insert(folder.join(name));
                }
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}
