//! A helper that has left the host and built a base root (see `spec::BaseRoot`), and
//! builds cells on it (see `cell`), one for each command: the base root is the dear
//! part, and the same for every command. Nothing that a command can touch is shared,
//! see `helper::namespaces`. It goes when this process goes.
//!
//! It is used only for the very base root it built, only by one command at a time,
//! and only while the files it shows are still the host's: a folder that was
//! replaced meanwhile (an updated toolchain, a new `/etc/passwd`) makes the next
//! command start from nothing.
//!
//! When a command is over, its cell ends, and the helper builds the next one, while
//! the model thinks about what came of it. A command that sees other places gets a
//! new one built.

use std::{
    fs::File,
    io::{self, IoSlice, PipeReader, PipeWriter, Seek, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    cmsg_space,
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

use crate::{
    Network,
    process::{
        cell::Cell,
        cgroup::{self, Cgroup},
        shown::Shown,
        spawn::{Input, Prepared},
    },
    spec::{self, Asking, BaseRoot, HELPER_POOL},
};

/// Worktrees that commands run in at the same time, or in turns.
const MOST: usize = 3;

/// Those that wait for their next command; the one that was used last is last.
static IDLE: Mutex<Vec<HelperPool>> = Mutex::new(Vec::new());

/// Ends the helpers that wait for a next command, and returns when they are gone.
/// They would go with this process anyway; this leaves nothing to the kernel, and
/// their time is counted as ours.
pub fn end_helpers() {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    let children: Vec<Child> = idle.into_iter().map(HelperPool::hang_up).collect();
    for mut child in children {
        let _ = child.wait();
    }
    cgroup::tidy();
}

/// A helper that lives, with the line to it.
#[derive(Debug)]
pub(crate) struct HelperPool {
    helper: PathBuf,
    /// Nothing without namespaces: such a helper runs one command and ends.
    base_root: Option<Arc<BaseRoot>>,
    /// The cell that waits for a command.
    cell: Option<Cell>,
    /// What the next command will need, if it is like the last one.
    next: Option<spec::Cell>,
    shown: Shown,
    again: bool,
    /// It has only been tried: it may build another base root.
    is_new: bool,
    pub(crate) child: Child,
    line: UnixStream,
    /// Holds all that runs in it, where there is one.
    cgroup: Option<Cgroup>,
}

/// Our ends of a command's pipes.
pub(crate) struct Pipes {
    pub output: PipeReader,
    pub report: PipeReader,
}

impl HelperPool {
    /// Hands the command to a helper that waits on its base root. Nothing when none
    /// does, or when it died meanwhile.
    pub(crate) fn waiting(helper: &Path, prepared: &Prepared) -> Option<(Self, Pipes)> {
        let base_root = prepared.base_root.as_ref()?;
        let mut helper_pool = {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            let at = |suits: &dyn Fn(&Self) -> bool| {
                idle.iter()
                    .rposition(|one| one.helper == helper && suits(one))
            };
            let at = at(&|one| one.base_root.as_ref() == Some(base_root))
                .or_else(|| at(&|one| one.is_new && one.network() == Some(base_root.network)))?;
            idle.remove(at)
        };
        // Its cell goes with it, but not at once.
        if !matches!(helper_pool.child.try_wait(), Ok(None)) {
            return None;
        }
        let moves = helper_pool.base_root.as_ref() != Some(base_root);
        if moves {
            helper_pool.shown = Shown::of(prepared.base_root.as_deref());
            helper_pool.base_root.clone_from(&prepared.base_root);
        } else if !helper_pool.shown.holds(Some(base_root)) {
            helper_pool.end();
            return None;
        }
        let (pipes, ends) = pipes().ok()?;
        match helper_pool.run(moves.then_some(&**base_root), prepared, &ends) {
            Ok(()) => Some((helper_pool, pipes)),
            Err(error) => {
                tracing::debug!(%error, "a sandbox helper is gone");
                helper_pool.end();
                None
            }
        }
    }

    fn network(&self) -> Option<Network> {
        self.base_root.as_ref().map(|base_root| base_root.network)
    }

    /// Starts a helper with its first command.
    pub(crate) fn start(helper: &Path, prepared: &Prepared) -> io::Result<(Self, Pipes)> {
        let shown = Shown::of(prepared.base_root.as_deref());
        let (line, its_line) = UnixStream::pair()?;
        let (pipes, ends) = pipes()?;
        let child = Command::new(helper)
            .args(["__sandbox", HELPER_POOL])
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(its_line))
            .stdout(Stdio::null())
            // What the loader has to say, should it not come to the helper.
            .stderr(ends.1.try_clone()?)
            .spawn()?;
        let base_root = prepared.base_root.clone();
        // It waits for its first message, so nothing of a command can have begun.
        let cgroup = Cgroup::around(child.id(), &prepared.spec.limits);
        let mut helper_pool = Self {
            helper: helper.to_owned(),
            base_root: base_root.clone(),
            cell: None,
            next: None,
            shown,
            again: false,
            is_new: true,
            child,
            line,
            cgroup,
        };
        match helper_pool.run(base_root.as_deref(), prepared, &ends) {
            Ok(()) => Ok((helper_pool, pipes)),
            Err(error) => {
                helper_pool.end();
                Err(error)
            }
        }
    }

    /// Hands it a command, in the cell that waits if it suits, or in a new one.
    fn run(
        &mut self,
        base_root: Option<&BaseRoot>,
        prepared: &Prepared,
        ends: &Ends,
    ) -> io::Result<()> {
        let limited = self
            .cgroup
            .as_ref()
            .map(|group| group.limit(&prepared.spec.limits));
        if let Some(Err(error)) = limited {
            tracing::debug!(%error, "the control group keeps the limits it had");
        }
        self.again = prepared.again;
        self.is_new = prepared.spec.argv.is_empty();
        if self.base_root.is_none() {
            return hand_over(&self.line, prepared, ends);
        }
        self.next = (prepared.again && prepared.ahead).then(|| prepared.cell.clone());
        if let Some(cell) = self.cell.take_if(|cell| cell.suits(&prepared.cell)) {
            match cell.run(prepared, ends) {
                Ok(()) => return Ok(()),
                Err(error) => tracing::debug!(%error, "a sandbox's cell is gone"),
            }
        }
        let cell = self.build(base_root, prepared.cell.clone())?;
        cell.run(prepared, ends)
    }

    /// Asks for a cell. What is in its place goes.
    fn build(&mut self, base_root: Option<&BaseRoot>, wanted: spec::Cell) -> io::Result<Cell> {
        self.cell = None;
        let (cell, its_line) = Cell::new(wanted)?;
        let mut text = Vec::new();
        if let Some(base_root) = base_root {
            line(&Asking::BaseRoot(base_root), &mut text)?;
        }
        line(&Asking::Cell(&cell.wanted), &mut text)?;
        send(&self.line, &text, &[its_line.as_fd()])?;
        Ok(cell)
    }

    /// Its command is over. Builds the next cell, if there can be a next command,
    /// and waits for it.
    pub(crate) fn keep(mut self) {
        if !self.again {
            return self.end();
        }
        if let Some(next) = self.next.take() {
            // Without one, the next command has it built.
            self.cell = self.build(None, next).ok();
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (idle.len() >= MOST).then(|| idle.remove(0));
        idle.push(self);
        drop(idle);
        if let Some(oldest) = oldest {
            oldest.end();
        }
    }

    /// Lets it go: it ends after its command.
    pub(crate) fn end(self) {
        crate::process::spawn::reap(self.hang_up(), crate::process::spawn::Traces::default());
    }

    /// Tells it that nothing follows; the process to wait for.
    pub(crate) fn hang_up(self) -> Child {
        self.child
    }
}

/// The command's ends of its pipes: output and report.
pub(crate) type Ends = (PipeWriter, PipeWriter);

fn pipes() -> io::Result<(Pipes, Ends)> {
    let (output, output_end) = io::pipe()?;
    let (report, report_end) = io::pipe()?;
    Ok((Pipes { output, report }, (output_end, report_end)))
}

/// Sends a command with all that belongs to it.
pub(crate) fn hand_over(
    to: &UnixStream,
    prepared: &Prepared,
    (output, report): &Ends,
) -> io::Result<()> {
    let mut text = Vec::new();
    line(&Asking::Run(&prepared.spec), &mut text)?;
    let bytes = match &prepared.stdin {
        Some(Input::Bytes(bytes)) => Some(sealed(bytes)?),
        _ => None,
    };
    let mut brought = vec![output.as_fd(), report.as_fd()];
    brought.extend(match &prepared.stdin {
        Some(Input::Talk(socket)) => Some(socket.as_fd()),
        _ => bytes.as_ref().map(AsFd::as_fd),
    });
    send(to, &text, &brought)
}

/// Sends requests with what they speak of. They go in memory only: nobody else can
/// read them.
fn send(to: &UnixStream, requests: &[u8], brought: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
    file.write_all(requests)?;
    file.rewind()?;
    let descriptors = [&[file.as_fd()], brought].concat();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let byte = [IoSlice::new(b"!")];
    sendmsg(to, &byte, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What a command reads: its own bytes in a file that nobody can change.
fn sealed(bytes: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("stdin", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

fn line(request: &Asking<'_>, text: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *text, request)?;
    text.push(b'\n');
    Ok(())
}
