//! What `.gitignore` and `.ignore` files say, folder by folder.
//!
//! They are read by descriptor and only when they are small regular files: a
//! pipe of that name must not hold the walk, a link must not lead out.

use std::{ffi::CStr, fs::File, io::Read, os::fd::BorrowedFd, sync::Arc};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};

use crate::{Inside, Workplace};

/// A longer list is not honoured.
const CAP: u64 = 1024 * 1024;

/// In the order in which they count: a later one overrules.
const FILES: [&CStr; 2] = [c".gitignore", c".ignore"];

/// The rules of one folder, and of those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    own: Gitignore,
}

pub(super) fn is_rule_file(name: &CStr) -> bool {
    FILES.contains(&name)
}

impl Rules {
    /// The rules of the folders above `start`, up to the root. What is named
    /// outright is looked at, also when a rule ignores it.
    pub(super) fn above(place: &Workplace, start: &Inside) -> Option<Arc<Self>> {
        let mut rules = None;
        let mut here = Inside::root();
        for part in start.parts() {
            if let Ok((fd, _)) = place.open_folder(&here) {
                rules = Self::with_folder(rules, std::os::fd::AsFd::as_fd(&fd), here.as_str());
            }
            here = here.join(part);
        }
        rules
    }

    /// These rules, and those of one folder more.
    pub(super) fn with_folder(
        above: Option<Arc<Self>>,
        folder: BorrowedFd<'_>,
        path: &str,
    ) -> Option<Arc<Self>> {
        let mut builder = GitignoreBuilder::new(path);
        for text in FILES.iter().filter_map(|name| read(folder, name)) {
            for line in text.lines() {
                // A line that is no pattern says nothing; the others still count.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => Some(Arc::new(Self { above, own })),
            _ => above,
        }
    }

    /// Whether a path is left out; the nearest folder decides.
    pub(super) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let matched = here.own.matched(path, is_folder);
            if matched.is_ignore() {
                return true;
            }
            if matched.is_whitelist() {
                return false;
            }
            rules = here.above.as_deref();
        }
        false
    }
}

fn read(folder: BorrowedFd<'_>, name: &CStr) -> Option<String> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(fd).take(CAP).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
