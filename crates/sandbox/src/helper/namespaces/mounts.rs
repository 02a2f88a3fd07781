//! Mounts as building blocks: where they come from, and how they get into a new
//! root.
//!
//! Everything is done through descriptors that were opened without following a
//! link, so a command that still runs in the same worktree cannot redirect a
//! mount while it is made.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
    },
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use crate::helper::{
    Doing, Failed,
    sys::{Propagation, set_mount_attributes},
};
use crate::view::Step;

pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(crate) const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// What is to be mounted, mounted nowhere yet, and whether it is a folder.
pub(crate) type Tree = (OwnedFd, bool);

/// Where mounts come from: the host's root, and a place for covers.
pub(crate) struct Host {
    root: OwnedFd,
    covers: &'static Path,
    /// What most covers are: nobody can write to one, so they can be one and the same.
    empty_folder: OwnedFd,
    unreadable_file: OwnedFd,
}

impl Host {
    /// The host's root, and an empty folder of ours for covers.
    pub(crate) fn new(root: OwnedFd, covers: &'static Path) -> Result<Self, Failed> {
        let (folder, file) = (covers.join("folder"), covers.join("file"));
        fs::create_dir(&folder).doing(COVER)?;
        fs::write(&file, "").doing(COVER)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).doing(COVER)?;
        Ok(Self {
            root,
            covers,
            empty_folder: opened(&folder)?,
            unreadable_file: opened(&file)?,
        })
    }

    /// What a step mounts. Nothing for a link.
    pub(crate) fn tree(&self, step: &Step) -> Result<Option<Tree>, Failed> {
        let place = relative(step.place());
        match step {
            Step::Link { .. } => Ok(None),
            Step::Show { write, .. } => {
                let source = self.open(place)?;
                let attributes = if *write { 0 } else { READ_ONLY };
                let tree = clone(&source, place, attributes | HARMLESS)?;
                Ok(Some((tree, is_folder(&source))))
            }
            Step::Instead { from, .. } => {
                let source = self.open(relative(from.path()))?;
                let tree = clone(&source, place, READ_ONLY | HARMLESS)?;
                Ok(Some((tree, false)))
            }
            Step::Cover { folder, below, .. } => {
                let below = below.as_ref().map(|below| below.path());
                let with_way;
                let cover = match below {
                    Some(below) if *folder => {
                        with_way = self.cover_with_way(below)?;
                        &with_way
                    }
                    _ if *folder => &self.empty_folder,
                    _ => &self.unreadable_file,
                };
                let tree = clone(cover, place, READ_ONLY | HARMLESS)?;
                Ok(Some((tree, *folder)))
            }
        }
    }

    /// Opens a path of the host. The caller resolved its links; one that appears
    /// now is somebody's trick.
    pub(crate) fn open(&self, path: &Path) -> Result<OwnedFd, Failed> {
        openat2(
            &self.root,
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .doing_at("open", path)
    }

    /// A folder with nothing but the way to `below`; its own, named by the way.
    fn cover_with_way(&self, below: &Path) -> Result<OwnedFd, Failed> {
        let folder = self.covers.join(short_name(below));
        fs::create_dir_all(folder.join(below)).doing(COVER)?;
        opened(&folder)
    }
}

const COVER: &str = "make a cover";

fn opened(cover: &Path) -> Result<OwnedFd, Failed> {
    openat(CWD, cover, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).doing("open a cover")
}

/// A root in the making.
pub(crate) struct Root {
    pub(crate) folder: OwnedFd,
    /// The file system that mount points may be made in.
    ours: u64,
}

impl Root {
    /// The root at `folder`. Mount points are made in one file system only, its own or
    /// that of `scratch`: in the worktree they would be folders that the host keeps.
    pub(crate) fn new(folder: OwnedFd, scratch: Option<&OwnedFd>) -> Result<Self, Failed> {
        let ours = device(scratch.unwrap_or(&folder)).doing("look at the new root")?;
        Ok(Self { folder, ours })
    }

    /// Makes a link, or mounts what `tree` is, where the step says.
    pub(crate) fn apply(&self, step: &Step, tree: Option<&Tree>) -> Result<(), Failed> {
        let place = relative(step.place());
        if let Step::Link { to, .. } = step {
            let name = place.file_name().unwrap_or_default();
            let way = self.target(place.parent().unwrap_or(Path::new("")), true)?;
            return symlinkat(to.path(), &way, name).doing_at("link", place);
        }
        match tree {
            Some((tree, is_folder)) => self.put(tree, place, *is_folder),
            None => Ok(()),
        }
    }

    /// Moves a detached mount to a folder that the base root has for it: all of its
    /// way is the base root's, which nobody can change.
    pub(crate) fn put_at(&self, tree: impl AsFd, path: &str) -> Result<(), Failed> {
        let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(tree, "", &self.folder, path, whole).doing_at("mount", Path::new(path))
    }

    /// Moves a detached mount to `path`.
    pub(crate) fn put(&self, tree: impl AsFd, path: &Path, is_folder: bool) -> Result<(), Failed> {
        let target = self.target(path, is_folder)?;
        let whole =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(tree, "", &target, "", whole).doing_at("mount", path)
    }

    /// Opens the mount point, making the way to it where it lies in our tmpfs.
    pub(crate) fn target(&self, path: &Path, is_folder: bool) -> Result<OwnedFd, Failed> {
        let open = |at: &OwnedFd, path: &Path| {
            openat2(
                at,
                path,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
            )
        };
        let step = "make a mount point at";
        match open(&self.folder, path) {
            Err(Errno::NOENT) => {}
            other => return other.doing_at(step, path),
        }
        let mut here = self.folder.try_clone().doing_at(step, path)?;
        let mut parts = path.iter().peekable();
        while let Some(part) = parts.next() {
            let part = Path::new(part);
            here = match open(&here, part) {
                Err(Errno::NOENT) => {
                    if device(&here).doing_at(step, path)? != self.ours {
                        // What was to be covered is gone, since somebody removed it.
                        return Err(Errno::NOENT).doing_at(step, path);
                    }
                    if parts.peek().is_some() || is_folder {
                        mkdirat(&here, part, Mode::from_raw_mode(0o755)).doing_at(step, path)?;
                    } else {
                        let new = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                        openat(
                            &here,
                            part,
                            new | OFlags::WRONLY,
                            Mode::from_raw_mode(0o644),
                        )
                        .doing_at(step, path)?;
                    }
                    open(&here, part).doing_at(step, path)?
                }
                other => other.doing_at(step, path)?,
            };
        }
        Ok(here)
    }
}

/// A short name for a path. Two paths with one name would only share empty
/// folders.
fn short_name(path: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    format!("way-{:016x}", hasher.finish())
}

/// Enters a mount namespace, and its root.
pub(crate) fn enter(namespace: &OwnedFd) -> Result<(), Failed> {
    let kind = Some(LinkNameSpaceType::Mount);
    move_into_link_name_space(namespace.as_fd(), kind).doing("change the mount namespace")
}

/// A mount of what `source` is, and of everything mounted below it, that hears
/// of no later mount.
pub(crate) fn clone(source: &OwnedFd, path: &Path, attributes: u64) -> Result<OwnedFd, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(source, "", flags).doing_at("show", path)?;
    set_mount_attributes(&tree, attributes, Propagation::None, true).doing_at("show", path)?;
    Ok(tree)
}

/// A file system of kind `kind`, mounted nowhere yet; without devices and
/// set-uid programs.
pub(crate) fn detached(
    kind: &str,
    options: &[(&str, &str)],
    more: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    detached_with(kind, options, more | MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Terminals: a file system of devices.
pub(crate) fn terminals() -> rustix::io::Result<OwnedFd> {
    let options = [("ptmxmode", "0666"), ("mode", "620")];
    detached_with("devpts", &options, MountAttrFlags::MOUNT_ATTR_NOEXEC)
}

fn detached_with(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, *name, *value)?;
    }
    fsconfig_create(&context)?;
    let attributes = attributes | MountAttrFlags::MOUNT_ATTR_NOSUID;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

pub(crate) fn folder(path: impl AsRef<Path>) -> Result<OwnedFd, Failed> {
    let path = path.as_ref();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).doing_at("open", path)
}

fn device(file: &OwnedFd) -> rustix::io::Result<u64> {
    rustix::fs::fstat(file).map(|found| found.st_dev)
}

fn is_folder(file: &OwnedFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|found| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory
    })
}

/// The path as seen from a root's descriptor.
pub(crate) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_made_in_our_own_file_system_and_never_in_the_worktree() {
        let worktree = tempfile::tempdir().unwrap();
        let missing = worktree.path().join("missing");
        let at = |scratch: Option<&OwnedFd>| {
            let root = Root::new(folder(worktree.path()).unwrap(), scratch).unwrap();
            root.target(Path::new("missing/deeper"), true).is_ok()
        };
        let elsewhere = folder("/proc").unwrap();
        assert!(!at(Some(&elsewhere)));
        assert!(!missing.exists(), "somebody removed it: it stays away");
        assert!(at(None));
        assert!(missing.join("deeper").is_dir());
        assert!(at(Some(&elsewhere)), "what is there needs not be made");
    }
}
