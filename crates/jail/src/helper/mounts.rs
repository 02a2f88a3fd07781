//! Builds the new root: an empty tmpfs, filled step by step, then made read-only
//! and entered. The old root is gone afterwards.
//!
//! Everything is done through descriptors that were opened without following a
//! link, so a command that still runs in the same worktree cannot redirect a
//! mount while it is made.

use std::{
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags,
        MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create, fsmount, fsopen, mount,
        mount_change, move_mount, open_tree, unmount,
    },
};

use super::{Doing, Failed, sys::set_mount_attributes};
use crate::{Limits, view::Step};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Builds the view and enters it.
pub(super) fn build(steps: &[Step], limits: &Limits) -> Result<(), Failed> {
    let stage = Stage::set()?;
    stage.scratch(limits)?;
    stage.devices()?;
    super::proc::show(&stage, limits)?;
    for (number, step) in steps.iter().enumerate() {
        stage.apply(number, step)?;
    }
    stage.enter()
}

/// Where the work happens: `/old` is the host's root, `/new` the one to come.
pub(super) struct Stage {
    old: OwnedFd,
    new: OwnedFd,
}

impl Stage {
    fn set() -> Result<Self, Failed> {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).doing("make mounts private")?;
        tmpfs("/tmp", "mode=755,size=16m").doing("mount the stage")?;
        for folder in ["/tmp/old", "/tmp/new", "/tmp/covers", "/tmp/scratch"] {
            fs::create_dir(folder).doing(format!("make {folder}"))?;
        }
        tmpfs("/tmp/new", "mode=755,size=16m").doing("mount the new root")?;
        rustix::process::pivot_root("/tmp", "/tmp/old").doing("leave the old root")?;
        rustix::process::chdir("/").doing("enter the stage")?;
        Ok(Self {
            old: folder("/old")?,
            new: folder("/new")?,
        })
    }

    /// `/tmp` and `/dev/shm`: one tmpfs, so that one size holds for both.
    fn scratch(&self, limits: &Limits) -> Result<(), Failed> {
        let size = (limits.memory_bytes / 2).max(1 << 20);
        tmpfs("/scratch", &format!("mode=755,size={size},nr_inodes=200k"))
            .doing("mount the scratch space")?;
        for (name, at) in [("tmp", "tmp"), ("shm", "dev/shm")] {
            let path = Path::new("/scratch").join(name);
            fs::create_dir(&path).doing("make the scratch space")?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))
                .doing("open the scratch space")?;
            let source = folder(&path)?;
            self.attach(&source, Path::new(at), true, 0)?;
        }
        fs::DirBuilder::new()
            .mode(0o700)
            .create("/scratch/tmp/home")
            .doing("make the home folder")
    }

    /// The handful of devices that programs expect, and terminals of our own.
    fn devices(&self) -> Result<(), Failed> {
        for name in ["null", "zero", "full", "random", "urandom"] {
            let path = Path::new("dev").join(name);
            let source = self.source(&path)?;
            self.attach(&source, &path, false, libc::MOUNT_ATTR_NOSUID)?;
        }
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(to, Path::new("/new/dev").join(name)).doing("link a device")?;
        }
        fs::create_dir("/new/dev/pts").doing("make /dev/pts")?;
        // A terminal is a convenience: without it the walls are the same.
        let _ = mount(
            "devpts",
            "/new/dev/pts",
            "devpts",
            MountFlags::NOSUID | MountFlags::NOEXEC,
            Some(c"newinstance,ptmxmode=0666,mode=620"),
        );
        for folder in ["/new/run", "/new/var"] {
            fs::create_dir(folder).doing(format!("make {folder}"))?;
        }
        symlink("/tmp", "/new/var/tmp").doing("link /var/tmp")?;
        symlink("/run", "/new/var/run").doing("link /var/run")
    }

    fn apply(&self, number: usize, step: &Step) -> Result<(), Failed> {
        match step {
            Step::Link { at, to } => {
                let at = Path::new("/new").join(inner(at.path()));
                if let Some(parent) = at.parent() {
                    fs::create_dir_all(parent).doing(format!("make {}", parent.display()))?;
                }
                symlink(to.path(), &at).doing(format!("link {}", at.display()))
            }
            Step::Show { path, write } => {
                let path = inner(path.path());
                let source = self.source(path)?;
                let is_folder = is_folder(&source);
                let attributes = if *write { 0 } else { READ_ONLY };
                self.attach(&source, path, is_folder, attributes | HARMLESS)
            }
            Step::Cover {
                path,
                folder: is_folder,
                below,
            } => {
                let cover = cover(number, *is_folder, below.as_ref().map(|below| below.path()))?;
                let source = openat(CWD, &cover, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                    .doing("open a cover")?;
                self.attach(
                    &source,
                    inner(path.path()),
                    *is_folder,
                    READ_ONLY | HARMLESS,
                )
            }
        }
    }

    /// Opens a path of the host. The caller resolved its links; one that appears
    /// now is somebody's trick.
    fn source(&self, path: &Path) -> Result<OwnedFd, Failed> {
        openat2(
            &self.old,
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .doing(format!("open /{}", path.display()))
    }

    /// Mounts what `source` is at `path` of the new root.
    fn attach(
        &self,
        source: &OwnedFd,
        path: &Path,
        is_folder: bool,
        attributes: u64,
    ) -> Result<(), Failed> {
        let step = || format!("show /{}", path.display());
        let tree = open_tree(
            source,
            "",
            OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH
                | OpenTreeFlags::AT_RECURSIVE,
        )
        .doing(step())?;
        if attributes != 0 {
            set_mount_attributes(&tree, attributes, 0, true).doing(step())?;
        }
        self.put(&tree, path, is_folder)
    }

    /// Moves a detached mount to `path` of the new root.
    pub(super) fn put(&self, tree: impl AsFd, path: &Path, is_folder: bool) -> Result<(), Failed> {
        let target = self.target(path, is_folder)?;
        let whole =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(tree, "", &target, "", whole).doing(format!("mount /{}", path.display()))
    }

    /// Opens the mount point, making the way to it where it lies in our tmpfs.
    fn target(&self, path: &Path, is_folder: bool) -> Result<OwnedFd, Failed> {
        let open = |at: &OwnedFd, path: &Path| {
            openat2(
                at,
                path,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
            )
        };
        let step = || format!("make a mount point at /{}", path.display());
        match open(&self.new, path) {
            Err(Errno::NOENT) => {}
            other => return other.doing(step()),
        }
        let mut here = self.new.try_clone().doing(step())?;
        let mut parts = path.iter().peekable();
        while let Some(part) = parts.next() {
            let part = Path::new(part);
            here = match open(&here, part) {
                Err(Errno::NOENT) => {
                    if parts.peek().is_some() || is_folder {
                        mkdirat(&here, part, Mode::from_raw_mode(0o755)).doing(step())?;
                    } else {
                        let new = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                        openat(
                            &here,
                            part,
                            new | OFlags::WRONLY,
                            Mode::from_raw_mode(0o644),
                        )
                        .doing(step())?;
                    }
                    open(&here, part).doing(step())?
                }
                other => other.doing(step())?,
            };
        }
        Ok(here)
    }

    /// Seals the new root and makes it the only one.
    fn enter(self) -> Result<(), Failed> {
        set_mount_attributes(&self.new, READ_ONLY | HARMLESS, 0, false)
            .doing("seal the new root")?;
        rustix::process::fchdir(&self.new).doing("enter the new root")?;
        drop(self);
        rustix::process::pivot_root(".", ".").doing("change to the new root")?;
        unmount(".", UnmountFlags::DETACH).doing("let go of the old root")?;
        rustix::process::chdir("/").doing("enter the new root")
    }
}

/// A file system of kind `kind`, mounted nowhere yet.
pub(super) fn detached(kind: &str) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn tmpfs(at: &str, options: &str) -> Result<(), Box<dyn std::error::Error>> {
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount(
        "tmpfs",
        at,
        "tmpfs",
        flags,
        Some(options.as_c_str()),
    )?)
}

/// An empty folder or an unreadable file of its own for each cover.
fn cover(number: usize, is_folder: bool, below: Option<&Path>) -> Result<PathBuf, Failed> {
    let path = Path::new("/covers").join(number.to_string());
    let step = "make a cover";
    if is_folder {
        fs::create_dir_all(path.join(below.unwrap_or(Path::new("")))).doing(step)?;
    } else {
        fs::write(&path, "").doing(step)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).doing(step)?;
    }
    Ok(path)
}

fn folder(path: impl AsRef<Path>) -> Result<OwnedFd, Failed> {
    let path = path.as_ref();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).doing(format!("open {}", path.display()))
}

fn is_folder(file: &OwnedFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|found| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory
    })
}

/// The path as seen from a root's descriptor.
fn inner(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
