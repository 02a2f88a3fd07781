//! Whether the files that a base root shows are still the host's: a folder that was
//! replaced meanwhile (an updated toolchain, a new `/etc/passwd`) is another one.
//!
//! Whoever replaces something changes the folder that it lies in, or the mounts. So few
//! folders are looked at, and each place only when one of them is not as it was.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{spec::BaseRoot, view::Step};

/// Two changes within a tick of the kernel's clock leave the same time, so a folder that was
/// changed just now says nothing about what comes.
const TICK: Duration = Duration::from_secs(1);

/// What was there when a base root was built.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The folders that the places lie in.
    folders: Vec<PathBuf>,
    /// How they were; nothing while they say nothing.
    stamps: Option<Vec<Stamp>>,
    places: Vec<Identity>,
    mounts: io::Result<File>,
}

/// Which file a path leads to: device and number.
type Identity = Option<(u64, u64)>;

/// Which folder it is, and when its entries last changed.
type Stamp = (Identity, (i64, i64));

impl Shown {
    pub(crate) fn of(base_root: Option<&BaseRoot>) -> Self {
        Self::at(SystemTime::now(), base_root)
    }

    /// Whether every place leads to the very file it led to then.
    pub(crate) fn holds(&mut self, base_root: Option<&BaseRoot>) -> bool {
        self.holds_at(SystemTime::now(), base_root)
    }

    fn at(now: SystemTime, base_root: Option<&BaseRoot>) -> Self {
        // What changes while we look is found to have changed.
        let mounts = File::open("/proc/self/mountinfo");
        let folders: BTreeSet<&Path> = places(base_root).filter_map(Path::parent).collect();
        let folders: Vec<PathBuf> = folders.into_iter().map(Path::to_owned).collect();
        Self {
            stamps: stamps(&folders, now),
            folders,
            places: identities(base_root),
            mounts,
        }
    }

    fn holds_at(&mut self, now: SystemTime, base_root: Option<&BaseRoot>) -> bool {
        let quiet = self.mounts.as_ref().is_ok_and(is_quiet);
        let stamps = stamps(&self.folders, now);
        if quiet && self.stamps.is_some() && self.stamps == stamps {
            return true;
        }
        self.stamps = stamps;
        self.places == identities(base_root)
    }
}

fn places(base_root: Option<&BaseRoot>) -> impl Iterator<Item = &Path> {
    let steps = base_root.into_iter().flat_map(|base_root| &base_root.steps);
    steps.filter_map(|step| match step {
        Step::Show { path, .. } => Some(path.path()),
        _ => None,
    })
}

fn identities(base_root: Option<&BaseRoot>) -> Vec<Identity> {
    let found = places(base_root).map(fs::symlink_metadata);
    found.map(|found| Some(identity(&found.ok()?))).collect()
}

fn identity(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Nothing when one of the folders cannot be looked at, or changed just before `now`.
fn stamps(folders: &[PathBuf], now: SystemTime) -> Option<Vec<Stamp>> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let settled = since.checked_sub(TICK)?.as_secs().cast_signed();
    let stamps = folders.iter().map(|folder| {
        let found = fs::symlink_metadata(folder).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        (changed.0 < settled).then(|| (Some(identity(&found)), changed))
    });
    stamps.collect()
}

/// Whether nothing was mounted or taken away since the last time this was asked.
fn is_quiet(mounts: &File) -> bool {
    let mut polled = [PollFd::new(mounts, PollFlags::PRI)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut polled, Some(&now)).is_ok_and(|changed| changed == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn showing(path: &Path) -> BaseRoot {
        let steps = vec![Step::Show {
            path: path.into(),
            write: false,
        }];
        crate::view::base_root::on(steps, Vec::new(), Network::Loopback)
    }

    #[test]
    fn a_shown_place_that_was_replaced_is_noticed() {
        // At once, and as if all this had been long ago.
        for now in [SystemTime::now(), SystemTime::now() + 60 * TICK] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::create_dir_all(at("home/tools")).unwrap();
            let base_root = showing(&at("home/tools"));
            let holds = |shown: &mut Shown| shown.holds_at(now, Some(&base_root));
            let changed = |change: &dyn Fn()| {
                let mut shown = Shown::at(now, Some(&base_root));
                // The kernel's clock goes on.
                std::thread::sleep(Duration::from_millis(30));
                change();
                !holds(&mut shown)
            };
            let new = || fs::write(at("home/tools/new"), "").unwrap();
            assert!(!changed(&new), "its content may change");
            assert!(changed(&|| fs::rename(at("home/tools"), at("old")).unwrap()));
            let mut gone = Shown::at(now, Some(&base_root));
            assert!(holds(&mut gone));
            fs::create_dir(at("home/tools")).unwrap();
            let replace = |what: &str, by: &str| {
                fs::rename(at(what), at("away")).unwrap();
                fs::create_dir_all(at(by)).unwrap();
                fs::rename(
                    at("away"),
                    tempfile::tempdir_in(folder.path()).unwrap().keep(),
                )
                .unwrap();
            };
            assert!(changed(&|| replace("home/tools", "home/tools")));
            assert!(
                changed(&|| replace("home", "home/tools")),
                "on the way to it"
            );
        }
    }

    #[test]
    fn folders_that_changed_long_ago_are_enough_to_look_at() {
        let base_root = showing(Path::new("/usr"));
        let mut shown = Shown::of(Some(&base_root));
        assert!(shown.stamps.is_some() && is_quiet(shown.mounts.as_ref().unwrap()));
        shown.places = vec![None];
        assert!(shown.holds(Some(&base_root)), "it is not looked at");
        shown.mounts = Err(io::ErrorKind::NotFound.into());
        assert!(!shown.holds(Some(&base_root)), "nobody tells of mounts");
    }
}
