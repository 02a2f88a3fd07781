//! A helper that has left the host and built a ground (see `spec::Ground`), and
//! builds rooms on it (see `room`), one for each command: the ground is the dear
//! part, and the same for every command. Nothing that a command can touch is shared,
//! see `helper::namespaces`. It goes when this process goes.
//!
//! It is used only for the very ground it built, only by one command at a time,
//! and only while the files it shows are still the host's: a folder that was
//! replaced meanwhile (an updated toolchain, a new `/etc/passwd`) makes the next
//! command start from nothing.
//!
//! When a command is over, its room ends, and the helper builds the next one, while
//! the model thinks about what came of it. A command that sees other places gets a
//! new one built.

use std::{
    fs::File,
    io::{self, IoSlice, PipeReader, PipeWriter, Seek, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{fs::MetadataExt, net::UnixStream},
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
    process::{cell::Room, spawn::Prepared},
    spec::{self, Asking, Ground, NURSERY},
    view::Step,
};

/// Worktrees that commands run in at the same time, or in turns.
const MOST: usize = 3;

/// Those that wait for their next command; the one that was used last is last.
static IDLE: Mutex<Vec<Nursery>> = Mutex::new(Vec::new());

/// Ends the helpers that wait for a next command, and returns when they are gone.
/// They would go with this process anyway; this leaves nothing to the kernel, and
/// their time is counted as ours.
pub fn end_helpers() {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    let children: Vec<Child> = idle.into_iter().map(Nursery::hang_up).collect();
    for mut child in children {
        let _ = child.wait();
    }
}

/// A helper that lives, with the line to it.
#[derive(Debug)]
pub(crate) struct Nursery {
    helper: PathBuf,
    /// Nothing without namespaces: such a helper runs one command and ends.
    ground: Option<Arc<Ground>>,
    /// The room that waits for a command.
    room: Option<Room>,
    /// What the next command will need, if it is like the last one.
    next: Option<spec::Room>,
    shown: Vec<Identity>,
    again: bool,
    /// It has only been tried: it may build another ground.
    is_new: bool,
    pub(crate) child: Child,
    line: UnixStream,
}

/// Which file a path leads to: device and number.
type Identity = Option<(u64, u64)>;

/// Our ends of a command's pipes.
pub(crate) struct Pipes {
    pub output: PipeReader,
    pub report: PipeReader,
}

impl Nursery {
    /// Hands the command to a helper that waits on its ground. Nothing when none
    /// does, or when it died meanwhile.
    pub(crate) fn waiting(helper: &Path, prepared: &Prepared) -> Option<(Self, Pipes)> {
        let ground = prepared.ground.as_ref()?;
        let mut nursery = {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            let at = |suits: &dyn Fn(&Self) -> bool| {
                idle.iter()
                    .rposition(|one| one.helper == helper && suits(one))
            };
            let at = at(&|one| one.ground.as_ref() == Some(ground))
                .or_else(|| at(&|one| one.is_new && one.network() == Some(ground.network)))?;
            idle.remove(at)
        };
        // Its room goes with it, but not at once.
        if !matches!(nursery.child.try_wait(), Ok(None)) {
            return None;
        }
        let moves = nursery.ground.as_ref() != Some(ground);
        if moves {
            nursery.shown = identities(&prepared.ground);
            nursery.ground.clone_from(&prepared.ground);
        } else if nursery.shown != identities(&nursery.ground) {
            nursery.end();
            return None;
        }
        let (pipes, ends) = pipes().ok()?;
        match nursery.run(moves.then_some(&**ground), prepared, &ends) {
            Ok(()) => Some((nursery, pipes)),
            Err(error) => {
                tracing::debug!(%error, "a jail helper is gone");
                nursery.end();
                None
            }
        }
    }

    fn network(&self) -> Option<Network> {
        self.ground.as_ref().map(|ground| ground.network)
    }

    /// Starts a helper with its first command.
    pub(crate) fn start(helper: &Path, prepared: &Prepared) -> io::Result<(Self, Pipes)> {
        let shown = identities(&prepared.ground);
        let (line, its_line) = UnixStream::pair()?;
        let (pipes, ends) = pipes()?;
        let child = Command::new(helper)
            .args(["__sandbox", NURSERY])
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(its_line))
            .stdout(Stdio::null())
            // What the loader has to say, should it not come to the helper.
            .stderr(ends.1.try_clone()?)
            .spawn()?;
        let ground = prepared.ground.clone();
        let mut nursery = Self {
            helper: helper.to_owned(),
            ground: ground.clone(),
            room: None,
            next: None,
            shown,
            again: false,
            is_new: true,
            child,
            line,
        };
        match nursery.run(ground.as_deref(), prepared, &ends) {
            Ok(()) => Ok((nursery, pipes)),
            Err(error) => {
                nursery.end();
                Err(error)
            }
        }
    }

    /// Hands it a command, in the room that waits if it suits, or in a new one.
    fn run(&mut self, ground: Option<&Ground>, prepared: &Prepared, ends: &Ends) -> io::Result<()> {
        self.again = prepared.again;
        self.is_new = prepared.spec.argv.is_empty();
        if self.ground.is_none() {
            return hand_over(&self.line, prepared, ends);
        }
        self.next = (prepared.again && prepared.ahead).then(|| prepared.room.clone());
        if let Some(room) = self.room.take_if(|room| room.suits(&prepared.room)) {
            match room.run(prepared, ends) {
                Ok(()) => return Ok(()),
                Err(error) => tracing::debug!(%error, "a jail's room is gone"),
            }
        }
        let room = self.build(ground, prepared.room.clone())?;
        room.run(prepared, ends)
    }

    /// Asks for a room. What is in its place goes.
    fn build(&mut self, ground: Option<&Ground>, wanted: spec::Room) -> io::Result<Room> {
        self.room = None;
        let (room, its_line) = Room::new(wanted)?;
        let mut text = Vec::new();
        if let Some(ground) = ground {
            line(&Asking::Ground(ground), &mut text)?;
        }
        line(&Asking::Room(&room.wanted), &mut text)?;
        send(&self.line, &text, &[its_line.as_fd()])?;
        Ok(room)
    }

    /// Its command is over. Builds the next room, if there can be a next command,
    /// and waits for it.
    pub(crate) fn keep(mut self) {
        if !self.again {
            return self.end();
        }
        if let Some(next) = self.next.take() {
            // Without one, the next command has it built.
            self.room = self.build(None, next).ok();
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
    let stdin = prepared.stdin.as_deref().map(sealed).transpose()?;
    let mut brought = vec![output.as_fd(), report.as_fd()];
    brought.extend(stdin.as_ref().map(AsFd::as_fd));
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

fn identities(ground: &Option<Arc<Ground>>) -> Vec<Identity> {
    let steps = ground.iter().flat_map(|ground| &ground.steps);
    let shown = steps.filter_map(|step| match step {
        Step::Show { path, .. } => Some(path.path()),
        _ => None,
    });
    shown
        .map(|path| {
            let found = path.symlink_metadata().ok()?;
            Some((found.dev(), found.ino()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_place_that_was_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        let steps = vec![Step::Show {
            path: tools.as_path().into(),
            write: false,
        }];
        let ground = crate::view::base_root::on(steps, Vec::new(), Network::Loopback);
        let ground = Some(Arc::new(ground));
        let before = identities(&ground);
        std::fs::write(tools.join("new"), "").unwrap();
        assert_eq!(identities(&ground), before, "its content may change");
        std::fs::rename(&tools, folder.path().join("old")).unwrap();
        assert_ne!(identities(&ground), before, "gone");
        std::fs::create_dir(&tools).unwrap();
        assert_ne!(identities(&ground), before, "another one");
    }
}
