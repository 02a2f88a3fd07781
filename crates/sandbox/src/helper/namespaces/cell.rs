//! A root for one command: a copy of the base root, and on it the worktree, scratch
//! space and `/proc`, which are new in every cell.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, chmodat, mkdirat, openat},
    mount::MountAttrFlags,
    thread::UnshareFlags,
};

use crate::helper::{
    Doing, Failed,
    namespaces::{
        Outside,
        mounts::{Host, Root, Tree, clone, detached, enter, folder, terminals},
        proc,
    },
    sys,
};
use crate::{Limits, spec, view::Step};

/// What a cell is furnished with, mounted nowhere yet.
pub(crate) struct Cell<'a> {
    steps: &'a [Step],
    trees: Vec<Option<Tree>>,
    scratch: Scratch,
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
        let scratch = Scratch::new(limits)?;
        Ok(Self {
            steps,
            trees,
            scratch,
        })
    }

    /// What its command may write to, besides what is so in the base root.
    pub(crate) fn writable(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let shown = self.steps.iter().zip(&self.trees);
        let shown = shown.filter_map(|(step, tree)| match (step, tree) {
            (Step::Show { write: true, .. }, Some((tree, _))) => Some(tree.as_fd()),
            _ => None,
        });
        shown.chain([self.scratch.tmp.as_fd()])
    }

    /// Furnishes a copy of the base root and enters it. Nothing of the host is in
    /// reach afterwards but what was shown.
    pub(crate) fn enter(&self, outside: &Outside, wanted: &spec::Cell) -> Result<(), Failed> {
        // While the host's own can be seen: the kernel asks for that.
        let proc = proc::detached()?;
        proc::limit_processes(&proc, &wanted.limits);
        if wanted.sockets {
            proc::limit_shared_memory(&proc, &wanted.limits);
        }
        if !outside.outer.no_users {
            proc::refuse_user_namespaces(&proc);
        }
        proc::seal(&proc)?;
        enter(&outside.base_root.inner)?;
        sys::unshare(UnshareFlags::NEWNS).doing("copy the base root")?;
        let root = Root::new(folder("/")?, Some(&self.scratch.whole))?;
        self.scratch.put(&root)?;
        root.put_at(&proc, "proc")?;
        if wanted.sockets {
            put_terminals(&root)?;
        }
        for (step, tree) in self.steps.iter().zip(&self.trees) {
            root.apply(step, tree.as_ref())?;
        }
        rustix::process::chdir("/").doing("enter the new root")
    }
}

/// Adds what a cell has not that was built for a command without sockets.
pub(crate) fn complete(limits: &Limits) -> Result<(), Failed> {
    proc::limit_shared_memory(&proc::detached()?, limits);
    put_terminals(&Root::new(folder("/")?, None)?)
}

/// A terminal is a convenience: without it the sandbox is the same.
fn put_terminals(root: &Root) -> Result<(), Failed> {
    match terminals() {
        Ok(terminals) => root.put_at(&terminals, "dev/pts"),
        Err(_) => Ok(()),
    }
}

/// A tmpfs with the folders for `/tmp` and `/dev/shm`: one, so that one size
/// holds for both.
struct Scratch {
    whole: OwnedFd,
    tmp: OwnedFd,
    shm: OwnedFd,
}

impl Scratch {
    fn new(limits: &Limits) -> Result<Self, Failed> {
        let size = (limits.memory_bytes / 2).max(1 << 20).to_string();
        let options = [("mode", "755"), ("size", &size), ("nr_inodes", "200k")];
        let step = "make the scratch space";
        let whole = detached("tmpfs", &options, MountAttrFlags::empty()).doing(step)?;
        let make = |name: &str, mode: u32| {
            let mode = Mode::from_raw_mode(mode);
            mkdirat(&whole, name, mode)?;
            // Once more: the mode given to mkdir passes through the umask.
            chmodat(&whole, name, mode, AtFlags::empty())?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(&whole, name, flags, Mode::empty())
        };
        let tmp = make("tmp", 0o1777).doing(step)?;
        let shm = make("shm", 0o1777).doing(step)?;
        make("tmp/home", 0o700).doing(step)?;
        Ok(Self { whole, tmp, shm })
    }

    /// Older kernels clone only what is mounted, so the whole lies below `/tmp`,
    /// where nobody can take the upper mount away.
    fn put(&self, root: &Root) -> Result<(), Failed> {
        root.put_at(&self.whole, "tmp")?;
        for (source, at) in [(&self.shm, "dev/shm"), (&self.tmp, "tmp")] {
            root.put_at(&clone(source, Path::new(at), 0)?, at)?;
        }
        Ok(())
    }
}
