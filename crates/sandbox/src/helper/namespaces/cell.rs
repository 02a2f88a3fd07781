//! A root for one command: a copy of the base root, and on it the worktree, scratch
//! space and `/proc`, which are new in every cell.

use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Mode, OFlags, chmodat, mkdirat, openat},
    mount::MountAttrFlags,
    thread::UnshareFlags,
};

use crate::helper::{
    Doing, Failed,
    namespaces::{
        base_root::BaseRoot,
        mounts::{Host, Root, Tree, clone, detached, enter, folder, terminals},
        proc,
    },
    sys,
};
use crate::{Limits, view::Step};

/// What a cell is furnished with, mounted nowhere yet.
pub(crate) struct Cell<'a> {
    steps: &'a [Step],
    trees: Vec<Option<Tree>>,
    scratch: OwnedFd,
}

impl<'a> Cell<'a> {
    /// Gets everything ready that needs no namespace of the command's own, in the
    /// outer namespace. The helper does this: what it runs is in memory already,
    /// and a process that was just forked has to fetch every page anew.
    pub(crate) fn prepare(host: &Host, steps: &'a [Step], limits: &Limits) -> Result<Self, Failed> {
        let mut trees = Vec::with_capacity(steps.len());
        for step in steps {
            trees.push(host.tree(step)?);
        }
        let scratch = scratch(limits)?;
        Ok(Self {
            steps,
            trees,
            scratch,
        })
    }

    /// Furnishes a copy of the base root and enters it. Nothing of the host is in
    /// reach afterwards but what was shown.
    pub(crate) fn enter(&self, base_root: &BaseRoot, limits: &Limits) -> Result<(), Failed> {
        // While the host's own can be seen: the kernel asks for that.
        let proc = proc::detached_for(limits)?;
        enter(&base_root.inner)?;
        sys::unshare(UnshareFlags::NEWNS).doing("copy the base root")?;
        let root = Root::new(folder("/")?, Some(&self.scratch))?;
        put_scratch(&root, &self.scratch)?;
        root.put(&proc, Path::new("proc"), true)?;
        // A terminal is a convenience: without it the sandbox is the same.
        if let Ok(terminals) = terminals() {
            root.put(&terminals, Path::new("dev/pts"), true)?;
        }
        for (step, tree) in self.steps.iter().zip(&self.trees) {
            root.apply(step, tree.as_ref())?;
        }
        rustix::process::chdir("/").doing("enter the new root")
    }
}

/// A tmpfs with the folders for `/tmp` and `/dev/shm`: one, so that one size
/// holds for both.
fn scratch(limits: &Limits) -> Result<OwnedFd, Failed> {
    let size = (limits.memory_bytes / 2).max(1 << 20).to_string();
    let options = [("mode", "755"), ("size", &size), ("nr_inodes", "200k")];
    let step = "make the scratch space";
    let scratch = detached("tmpfs", &options, MountAttrFlags::empty()).doing(step)?;
    for (name, mode) in [("tmp", 0o1777), ("shm", 0o1777), ("tmp/home", 0o700)] {
        let mode = Mode::from_raw_mode(mode);
        mkdirat(&scratch, name, mode).doing(step)?;
        // Once more: the mode given to mkdir passes through the umask.
        chmodat(&scratch, name, mode, AtFlags::empty()).doing(step)?;
    }
    Ok(scratch)
}

/// Older kernels clone only what is mounted, so the whole lies below `/tmp`,
/// where nobody can take the upper mount away.
fn put_scratch(root: &Root, scratch: &OwnedFd) -> Result<(), Failed> {
    root.put(scratch, Path::new("tmp"), true)?;
    for (name, at) in [("shm", "dev/shm"), ("tmp", "tmp")] {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let source = openat(scratch, name, flags, Mode::empty()).doing("open the scratch space")?;
        root.put(&clone(&source, Path::new(at), 0)?, Path::new(at), true)?;
    }
    Ok(())
}
