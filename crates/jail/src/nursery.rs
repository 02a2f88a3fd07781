//! A helper that has left the host and built a ground (see `spec::Ground`), and
//! runs one command after another on it: building is the dear part, and the same
//! for every command. Nothing that a command can change is shared, see
//! `helper::namespaces`. It goes when this process goes.
//!
//! It is used only for the very ground it built, only by one command at a time,
//! and only while the files it shows are still the host's: a folder that was
//! replaced meanwhile (an updated toolchain, a new `/etc/passwd`) makes the next
//! command start from nothing.

use std::{
    fs::File,
    io::{self, IoSlice, PipeReader, PipeWriter, Seek, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::MetadataExt, net::UnixStream},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    cmsg_space,
    fs::{MemfdFlags, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

use crate::{
    spawn::Prepared,
    spec::{Ground, NURSERY, Request},
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
    shown: Vec<Identity>,
    again: bool,
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
        let nursery = {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            let suits = |one: &Self| one.helper == helper && one.ground.as_ref() == Some(ground);
            let at = idle.iter().rposition(suits)?;
            idle.remove(at)
        };
        if nursery.shown != identities(&nursery.ground) {
            nursery.end();
            return None;
        }
        let (pipes, ends) = pipes().ok()?;
        match nursery.send(None, prepared, &ends) {
            Ok(()) => Some((nursery, pipes)),
            Err(error) => {
                tracing::debug!(%error, "a jail helper is gone");
                nursery.end();
                None
            }
        }
    }

    /// Starts a helper with its first command.
    pub(crate) fn start(helper: &Path, prepared: &Prepared) -> io::Result<(Self, Pipes)> {
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
        let nursery = Self {
            helper: helper.to_owned(),
            ground: prepared.ground.clone(),
            shown,
            again: prepared.again,
            child,
            line,
        };
        match nursery.send(prepared.ground.as_deref(), prepared, &ends) {
            Ok(()) => Ok((nursery, pipes)),
            Err(error) => {
                nursery.end();
                Err(error)
            }
        }
    }

    /// The requests go in memory only: nobody else can read them.
    fn send(
        &self,
        ground: Option<&Ground>,
        prepared: &Prepared,
        (output, report): &(PipeWriter, PipeWriter),
    ) -> io::Result<()> {
        let mut file = File::from(memfd_create("spec", MemfdFlags::CLOEXEC)?);
        let mut text = Vec::new();
        if let Some(ground) = ground {
            line(&Request::Ground(Box::new(ground.clone())), &mut text)?;
        }
        line(&prepared.run, &mut text)?;
        text.extend_from_slice(&prepared.stdin);
        file.write_all(&text)?;
        file.rewind()?;
        let ends = [file.as_fd(), output.as_fd(), report.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&ends));
        let byte = [IoSlice::new(b"!")];
        sendmsg(&self.line, &byte, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
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

fn pipes() -> io::Result<(Pipes, (PipeWriter, PipeWriter))> {
    let (output, output_end) = io::pipe()?;
    let (report, report_end) = io::pipe()?;
    Ok((Pipes { output, report }, (output_end, report_end)))
}

fn line(request: &Request, text: &mut Vec<u8>) -> io::Result<()> {
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
    use crate::Network;

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
