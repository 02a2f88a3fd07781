//! Builds the new root: an empty tmpfs, filled step by step, then made read-only.
//!
//! There are two mount namespaces. The outer one has the host's root and belongs
//! to the helper, which waits in it; the inner one is the command's, and the
//! host's root leaves it while the command is not known yet, because letting go
//! of a root waits for every processor of the machine. What the command adds, its
//! worktree above all, is cloned in the outer one and mounted in the inner one.
//!
//! Everything is done through descriptors that were opened without following a
//! link, so a command that still runs in the same worktree cannot redirect a
//! mount while it is made.

use std::{
    cell::Cell,
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags,
        MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create, fsmount, fsopen, mount,
        mount_change, move_mount, open_tree, unmount,
    },
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space},
};

use super::{
    Doing, Failed,
    sys::{self, Propagation, set_mount_attributes},
};
use crate::{spec::Ground, view::Step};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// The new root in the making.
pub(super) struct Stage {
    /// The namespace with the host's root, and the one to come.
    outer: OwnedFd,
    inner: OwnedFd,
    /// The host's root, to take things from.
    old: OwnedFd,
    new: OwnedFd,
    /// Where covers are made, and how many there are.
    covers: (&'static Path, Cell<usize>),
}

/// Where covers are made in the outer namespace. Nothing is ever shown from there.
const COVERS: &str = "/proc";

impl Stage {
    /// Builds what does not depend on the command, and enters it.
    pub(super) fn build(ground: &Ground) -> Result<Self, Failed> {
        let stage = Self::set()?;
        stage.scratch(ground.memory_bytes)?;
        stage.devices()?;
        super::proc::show(&stage, ground)?;
        for step in &ground.steps {
            stage.apply(step)?;
        }
        stage.leave_old_root()
    }

    /// Builds the rest and seals it: nothing of the host is in reach afterwards
    /// but what was shown.
    pub(super) fn finish(self, steps: &[Step]) -> Result<(), Failed> {
        enter(&self.outer)?;
        let mut mounts = Vec::new();
        for step in steps {
            mounts.push((step, self.clone_of(step)?));
        }
        enter(&self.inner)?;
        for (step, mount) in &mounts {
            match mount {
                Some((tree, is_folder)) => self.put(tree, inner(step.place()), *is_folder)?,
                None => self.apply(step)?,
            }
        }
        set_mount_attributes(&self.new, READ_ONLY | HARMLESS, Propagation::Same, false)
            .doing("seal the new root")?;
        rustix::process::chdir("/").doing("enter the new root")
    }

    /// `/old` becomes the host's root, `/new` the one to come.
    fn set() -> Result<Self, Failed> {
        // What the host mounts while this waits is still seen in the outer one.
        let follow = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change("/", follow).doing("keep mounts to ourselves")?;
        let outer = own_namespace()?;
        sys::unshare(UnshareFlags::NEWNS).doing("make the inner mount namespace")?;
        let inner = own_namespace()?;
        tmpfs("/tmp", "mode=755,size=16m").doing("mount the stage")?;
        for folder in ["/tmp/old", "/tmp/new", "/tmp/covers", "/tmp/scratch"] {
            fs::create_dir(folder).doing(format!("make {folder}"))?;
        }
        tmpfs("/tmp/new", "mode=755,size=16m").doing("mount the new root")?;
        rustix::process::pivot_root("/tmp", "/tmp/old").doing("leave the old root")?;
        rustix::process::chdir("/").doing("enter the stage")?;
        Ok(Self {
            outer,
            inner,
            old: folder("/old")?,
            new: folder("/new")?,
            covers: (Path::new("/covers"), Cell::new(0)),
        })
    }

    /// The new root becomes the only one of the inner namespace.
    fn leave_old_root(self) -> Result<Self, Failed> {
        rustix::process::fchdir(&self.new).doing("enter the new root")?;
        rustix::process::pivot_root(".", ".").doing("change to the new root")?;
        unmount(".", UnmountFlags::DETACH).doing("let go of the old root")?;
        enter(&self.outer)?;
        tmpfs(COVERS, "mode=755,size=16m").doing("make room for covers")?;
        let old = folder("/")?;
        enter(&self.inner)?;
        Ok(Self {
            old,
            covers: (Path::new(COVERS), Cell::new(0)),
            ..self
        })
    }

    /// `/tmp` and `/dev/shm`: one tmpfs, so that one size holds for both.
    fn scratch(&self, memory_bytes: u64) -> Result<(), Failed> {
        let size = (memory_bytes / 2).max(1 << 20);
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

    fn apply(&self, step: &Step) -> Result<(), Failed> {
        if let Step::Link { at, to } = step {
            let at = inner(at.path());
            let name = at.file_name().unwrap_or_default();
            let way = self.target(at.parent().unwrap_or(Path::new("")), true)?;
            return symlinkat(to.path(), &way, name).doing(format!("link /{}", at.display()));
        }
        match self.clone_of(step)? {
            Some((tree, is_folder)) => self.put(tree, inner(step.place()), is_folder),
            None => Ok(()),
        }
    }

    /// What a step mounts, mounted nowhere yet, and whether it is a folder.
    fn clone_of(&self, step: &Step) -> Result<Option<(OwnedFd, bool)>, Failed> {
        let place = inner(step.place());
        match step {
            Step::Link { .. } => Ok(None),
            Step::Show { write, .. } => {
                let source = self.source(place)?;
                let attributes = if *write { 0 } else { READ_ONLY };
                let tree = clone(&source, place, attributes | HARMLESS)?;
                Ok(Some((tree, is_folder(&source))))
            }
            Step::Cover {
                folder: is_folder,
                below,
                ..
            } => {
                let (room, made) = &self.covers;
                let number = made.replace(made.get() + 1).to_string();
                let below = below.as_ref().map(|below| below.path());
                let cover = cover(room.join(number), *is_folder, below)?;
                let source = openat(CWD, &cover, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                    .doing("open a cover")?;
                let tree = clone(&source, place, READ_ONLY | HARMLESS)?;
                Ok(Some((tree, *is_folder)))
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
        let tree = clone(source, path, attributes)?;
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
}

/// The mount namespace this process is in.
fn own_namespace() -> Result<OwnedFd, Failed> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, "/proc/self/ns/mnt", flags, Mode::empty()).doing("open the mount namespace")
}

/// Enters a mount namespace, and its root.
fn enter(namespace: &OwnedFd) -> Result<(), Failed> {
    let kind = Some(LinkNameSpaceType::Mount);
    move_into_link_name_space(namespace.as_fd(), kind).doing("change the mount namespace")
}

/// A mount of what `source` is, and of everything mounted below it, that hears
/// of no later mount.
fn clone(source: &OwnedFd, path: &Path, attributes: u64) -> Result<OwnedFd, Failed> {
    let step = || format!("show /{}", path.display());
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(source, "", flags).doing(step())?;
    set_mount_attributes(&tree, attributes, Propagation::None, true).doing(step())?;
    Ok(tree)
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
fn cover(path: PathBuf, is_folder: bool, below: Option<&Path>) -> Result<PathBuf, Failed> {
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
