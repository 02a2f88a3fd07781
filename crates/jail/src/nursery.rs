//! A helper that has left the host and built a ground (see `spec::Ground`), and
//! runs one command after another on it: building is the dear part, and the same
//! for every command. Nothing that a command can change is shared, see
//! `helper::namespaces`. It goes when this process goes.
//!
//! It is used only for the very ground it built, only by one command at a time,
//! and only while the files it shows are still the host's: a folder that was
//! replaced meanwhile (an updated toolchain, a new `/etc/passwd`) makes the next
//! command start from nothing.
//!
//! On the ground stands a room (see `room`), for commands that see the same
//! places. The first process in it takes commands itself while each leaves the
//! room as it was; any other command gets a new one.

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
    room::Room,
    spawn::Prepared,
    spec::{Asking, Ground, NURSERY},
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
    /// Where the last command was, and the next may be.
    room: Option<Room>,
    shown: Vec<Identity>,
    again: bool,
    /// Nothing has run in it yet.
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
    pub(crate) fn waiting(helper: &Path, prepared: &mut Prepared) -> Option<(Self, Pipes)> {
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
        if nursery.ground.as_ref() != Some(ground) {
            return nursery.move_to(prepared);
        }
        if nursery.shown != identities(&nursery.ground) {
            nursery.end();
            return None;
        }
        nursery.take(prepared)
    }

    /// Hands the first command to a helper that has run none, on a ground that it
    /// builds for it.
    fn move_to(mut self, prepared: &mut Prepared) -> Option<(Self, Pipes)> {
        let ground = prepared.ground.clone();
        self.shown = identities(&ground);
        self.ground.clone_from(&ground);
        self.again = prepared.again;
        let (pipes, ends) = pipes().ok()?;
        self.in_new_room(ground.as_deref(), prepared, (pipes, ends))
    }

    fn network(&self) -> Option<Network> {
        self.ground.as_ref().map(|ground| ground.network)
    }

    /// Hands it a command, in the room that stands or in a new one. Nothing when it
    /// died meanwhile.
    fn take(mut self, prepared: &mut Prepared) -> Option<(Self, Pipes)> {
        let (pipes, ends) = pipes().ok()?;
        if let Some(room) = self.room.take_if(|room| room.suits(prepared)) {
            match room.send(prepared, &ends) {
                Ok(()) => {
                    self.room = Some(room);
                    return Some((self, pipes));
                }
                Err(error) => tracing::debug!(%error, "a jail's room is gone"),
            }
        }
        self.in_new_room(None, prepared, (pipes, ends))
    }

    /// Hands it a command in a new room. Nothing when it died meanwhile.
    fn in_new_room(
        mut self,
        ground: Option<&Ground>,
        prepared: &mut Prepared,
        (pipes, ends): (Pipes, Ends),
    ) -> Option<(Self, Pipes)> {
        match self.open_room(ground, prepared, &ends) {
            Ok(()) => Some((self, pipes)),
            Err(error) => {
                tracing::debug!(%error, "a jail helper is gone");
                self.end();
                None
            }
        }
    }

    /// Asks the helper for a room with this command in it. What is in its place
    /// goes.
    fn open_room(
        &mut self,
        ground: Option<&Ground>,
        prepared: &mut Prepared,
        ends: &Ends,
    ) -> io::Result<()> {
        self.room = None;
        self.is_new = prepared.spec.argv.is_empty();
        let new = match self.again {
            true => Some(Room::new(prepared)?),
            false => None,
        };
        prepared.spec.stays = new.is_some();
        let its_line = new.as_ref().map(|(_, its_line)| its_line.as_fd());
        send(&self.line, ground, prepared, ends, its_line)?;
        self.room = new.map(|(room, _)| room);
        Ok(())
    }

    /// Starts a helper with its first command.
    pub(crate) fn start(helper: &Path, prepared: &mut Prepared) -> io::Result<(Self, Pipes)> {
        let shown = identities(&prepared.ground);
        let (line, its_line) = UnixStream::pair()?;
        let (pipes, ends) = pipes()?;
        let child = Command::new(helper)
            .args(["__jail", NURSERY])
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
            shown,
            again: prepared.again,
            is_new: prepared.spec.argv.is_empty(),
            child,
            line,
        };
        match nursery.open_room(ground.as_deref(), prepared, &ends) {
            Ok(()) => Ok((nursery, pipes)),
            Err(error) => {
                nursery.end();
                Err(error)
            }
        }
    }

    /// The same without the room: the next command gets a new one.
    pub(crate) fn without_room(mut self) -> Self {
        self.room = None;
        self
    }

    /// Its command is over and left nothing behind: waits for the next one, if
    /// there can be one.
    pub(crate) fn keep(self) {
        if !self.again {
            return self.end();
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
        crate::spawn::reap(self.hang_up(), crate::spawn::Traces::default());
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

/// Sends a command with all that belongs to it. The requests go in memory only:
/// nobody else can read them.
pub(crate) fn send(
    to: &UnixStream,
    ground: Option<&Ground>,
    prepared: &Prepared,
    (output, report): &Ends,
    room: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
    let mut text = Vec::new();
    if let Some(ground) = ground {
        line(&Asking::Ground(ground), &mut text)?;
    }
    line(&Asking::Run(&prepared.spec), &mut text)?;
    file.write_all(&text)?;
    file.rewind()?;
    let stdin = prepared.stdin.as_deref().map(sealed).transpose()?;
    let mut ends = vec![file.as_fd(), output.as_fd(), report.as_fd()];
    ends.extend(stdin.as_ref().map(AsFd::as_fd));
    ends.extend(room);
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(5))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&ends));
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
        let ground = crate::ground::on(steps, Vec::new(), Network::Loopback);
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
