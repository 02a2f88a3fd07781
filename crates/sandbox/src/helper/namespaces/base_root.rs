//! The base root: one with all that is the same for command after command,
//! built once by the helper.
//!
//! There are two mount namespaces. The outer one has the host's root, and the
//! helper waits in it; what a cell adds, its worktree above all, is cloned there.
//! The inner one holds the base root alone: the host's root leaves it here, because
//! letting go of a root waits for every processor of the machine. Each cell gets a
//! copy of the inner one (see `cell`), so nothing that is mounted for one is there
//! for the next.

use std::{
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::symlink,
    },
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, openat},
    mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount},
    thread::UnshareFlags,
};

use crate::helper::{
    Doing, Failed,
    namespaces::{
        mounts::{HARMLESS, Host, READ_ONLY, Root, clone, enter, folder, relative},
        proc::refuse_user_namespaces,
    },
    sys::{self, Propagation, set_mount_attributes},
};
use crate::{spec, view::Step};

/// Where covers are made in the outer namespace. Nothing is ever shown from there.
const COVERS: &str = "/proc";

/// The outer namespace, which this process is in.
pub(crate) struct Outer {
    namespace: OwnedFd,
    /// The host's, which is under the covers.
    proc: OwnedFd,
    /// What cells may add is taken from here.
    pub(crate) host: Host,
    /// Whether nobody can make a user namespace any more, in any cell.
    pub(crate) no_users: bool,
}

impl Outer {
    /// Makes the namespace we are in the outer one.
    pub(crate) fn take() -> Result<Self, Failed> {
        // What the host mounts later is still seen in it.
        let follow = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change("/", follow).doing("keep mounts to ourselves")?;
        let proc = folder("/proc")?;
        let namespace = own_namespace(&proc)?;
        let no_users = refuse_user_namespaces(&proc);
        tmpfs(COVERS).doing("make space for covers")?;
        let host = Host::new(folder("/")?, Path::new(COVERS))?;
        Ok(Self {
            namespace,
            proc,
            host,
            no_users,
        })
    }

    /// Builds a base root, and comes back.
    pub(crate) fn build(&self, wanted: &spec::BaseRoot) -> Result<BaseRoot, Failed> {
        sys::unshare(UnshareFlags::NEWNS).doing("make the inner mount namespace")?;
        let inner = own_namespace(&self.proc)?;
        let (host, root) = stage()?;
        devices(&host, &root)?;
        // Each cell gets its own of these.
        for place in ["tmp", "dev/shm", "proc"] {
            root.target(Path::new(place), true)?;
        }
        for step in &wanted.steps {
            root.apply(step, host.tree(step)?.as_ref())?;
        }
        for way in &wanted.ways {
            root.target(relative(way.path.path()), way.folder)?;
        }
        old_names()?;
        leave_host(&root)?;
        enter(&self.namespace)?;
        let shown = wanted.steps.iter().filter_map(|step| match step {
            Step::Show { path, write: true } => Some(relative(path.path())),
            _ => None,
        });
        let writable = shown.chain([Path::new("dev")]);
        let writable = writable.map(|place| root.target(place, true));
        Ok(BaseRoot {
            inner,
            writable: writable.collect::<Result<_, _>>()?,
            root: root.folder,
        })
    }
}

/// A base root that stands: the namespace that every cell gets a copy of.
pub(crate) struct BaseRoot {
    pub(crate) inner: OwnedFd,
    pub(crate) root: OwnedFd,
    writable: Vec<OwnedFd>,
}

impl BaseRoot {
    /// What commands may write to in it, as far as the mounts let them.
    pub(crate) fn writable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.writable.iter().map(AsFd::as_fd)
    }
}

/// `/old` becomes the host's root, `/new` the one to come.
fn stage() -> Result<(Host, Root), Failed> {
    tmpfs("/tmp").doing("mount the stage")?;
    for folder in ["/tmp/old", "/tmp/new", "/tmp/covers"] {
        fs::create_dir(folder).doing(format!("make {folder}"))?;
    }
    tmpfs("/tmp/new").doing("mount the new root")?;
    rustix::process::pivot_root("/tmp", "/tmp/old").doing("leave the old root")?;
    rustix::process::chdir("/").doing("enter the stage")?;
    let host = Host::new(folder("/old")?, Path::new("/covers"))?;
    let new = folder("/new")?;
    Ok((host, Root::new(new, None)?))
}

/// The new root becomes the only one of this namespace, and read-only.
fn leave_host(root: &Root) -> Result<(), Failed> {
    rustix::process::fchdir(&root.folder).doing("enter the new root")?;
    rustix::process::pivot_root(".", ".").doing("change to the new root")?;
    unmount(".", UnmountFlags::DETACH).doing("let go of the old root")?;
    set_mount_attributes(&root.folder, READ_ONLY | HARMLESS, Propagation::Same, false)
        .doing("seal the new root")
}

/// The handful of devices that programs expect.
fn devices(host: &Host, root: &Root) -> Result<(), Failed> {
    for name in ["null", "zero", "full", "random", "urandom"] {
        let path = Path::new("dev").join(name);
        // Read-only holds for the file, its mode and times, not for what it leads to.
        let tree = clone(
            &host.open(&path)?,
            &path,
            READ_ONLY | libc::MOUNT_ATTR_NOSUID,
        )?;
        root.put(&tree, &path, false)?;
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
    for folder in ["/new/dev/pts", "/new/run", "/new/var"] {
        fs::create_dir(folder).doing(format!("make {folder}"))?;
    }
    Ok(())
}

/// `/var/tmp` and `/var/run` lead where programs may write, unless something that
/// the command works on lies below them: then they are the way to it.
fn old_names() -> Result<(), Failed> {
    for (to, at) in [("/tmp", "/new/var/tmp"), ("/run", "/new/var/run")] {
        match symlink(to, at) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.doing(format!("link {at}"))?,
        }
    }
    Ok(())
}

/// The mount namespace this process is in.
fn own_namespace(proc: &OwnedFd) -> Result<OwnedFd, Failed> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    openat(proc, "self/ns/mnt", flags, Mode::empty()).doing("open the mount namespace")
}

/// A small tmpfs, for folders and links only.
fn tmpfs(at: &str) -> rustix::io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, Some(c"mode=755,size=16m"))
}
