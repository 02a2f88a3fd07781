//! Where runs are remembered: `<state>/<folder's hash>/exec-<seconds>-<micros>/`,
//! outside the folder that is worked on, so that no commit contains a transcript
//! and no file tool reaches the log.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_journal::{JournalError, ThreadDir, read, write_whole};
use butler_protocol::{
    ChannelId, Clock, Ending, MessageTs, Record, Role, Sha256Hex, ThreadId, fault,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The channel in the ids of sessions.
const CHANNEL: &str = "exec";
const GO_ON: &str = "Go on where you stopped.";

/// All sessions of one folder.
#[derive(Debug, Clone)]
pub struct Sessions {
    root: PathBuf,
    folder: PathBuf,
    clock: Clock,
}

/// One task, perhaps over several runs.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its id in the log.
    pub thread: ThreadId,
    /// Who works.
    pub role: Role,
    pub(super) conversation: PathBuf,
}

/// What is written down about a session.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    /// The shape of this file, for later builds.
    #[serde(default = "first_version")]
    version: u32,
    folder: PathBuf,
    role: Role,
    task: String,
}

/// The shape that this build writes, and the only one that it reads.
const fn first_version() -> u32 {
    1
}

/// How far a session came.
#[derive(Debug, PartialEq, Eq)]
enum Stand {
    /// Nothing is written yet.
    Empty,
    /// In the middle of its work.
    Open,
    /// Its last activation ended like this.
    Ended(Ending),
}

/// Why a session cannot be begun or taken up.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The disk.
    #[error("the session's folder")]
    Journal(#[from] JournalError),
    /// No such id here.
    #[error("there is no session `{0}` for this folder")]
    Unknown(String),
    /// A later build began it.
    #[error("the session `{0}` was written by a newer codebutler; use the newer one")]
    Newer(String),
    /// Nothing to take up.
    #[error("no unfinished session of this folder to resume")]
    NothingOpen,
}

impl Sessions {
    /// The sessions of `folder` under `state`. Nothing is made yet.
    #[must_use]
    pub fn of(state: &Path, folder: &Path, clock: Clock) -> Self {
        let key = Sha256Hex::of(folder.as_os_str().as_encoded_bytes());
        let key: String = key.as_str().chars().take(16).collect();
        Self {
            root: state.join(key),
            folder: folder.to_owned(),
            clock,
        }
    }

    /// Begins a session.
    ///
    /// # Errors
    /// When the disk says no: without a log nothing is done.
    pub fn begin(&self, role: Role, task: &str) -> Result<Session, SessionError> {
        let now = Duration::from_micros(self.clock.now_micros());
        let ts = MessageTs::from_parts(now.as_secs(), now.subsec_micros());
        let thread = ThreadId::new(ChannelId::new(CHANNEL), ts);
        let about = About {
            version: first_version(),
            folder: self.folder.clone(),
            role,
            task: task.to_owned(),
        };
        let bytes = serde_json::to_vec_pretty(&about).unwrap_or_default();
        fault("agent.before-session");
        write_whole(&ThreadDir::new(&self.root, &thread).facts(), &bytes)?;
        fault("agent.after-session");
        Ok(self.session(thread, role))
    }

    /// A session by its id.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, id: &str) -> Result<Session, SessionError> {
        let unknown = || SessionError::Unknown(id.to_owned());
        let thread = ThreadId::from_dir_name(id).map_err(|_| unknown())?;
        if self.is_newer(&thread) {
            return Err(SessionError::Newer(id.to_owned()));
        }
        let role = self.role_of(&thread).ok_or_else(unknown)?;
        Ok(self.session(thread, role))
    }

    /// The newest session whose task is not done.
    ///
    /// # Errors
    /// When all are, or a log cannot be read.
    pub fn newest_open(&self) -> Result<Session, SessionError> {
        for thread in ThreadDir::list(&self.root)?.into_iter().rev() {
            let Some(role) = self.role_of(&thread) else {
                continue;
            };
            let session = self.session(thread, role);
            if session.stand()? != Stand::Ended(Ending::Done) {
                return Ok(session);
            }
        }
        Err(SessionError::NothingOpen)
    }

    fn role_of(&self, thread: &ThreadId) -> Option<Role> {
        self.about(thread).map(|about| about.role)
    }

    fn session(&self, thread: ThreadId, role: Role) -> Session {
        Session {
            conversation: ThreadDir::new(&self.root, &thread).conversation(role),
            thread,
            role,
        }
    }

    /// What to say to a session that is taken up without a new word: nothing
    /// when it stands in the middle, its task when the log does not hold that
    /// yet, and a nudge when it ended before it was done.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn missing_word(&self, session: &Session) -> Result<Option<String>, SessionError> {
        Ok(match session.stand()? {
            Stand::Empty => self.about(&session.thread).map(|about| about.task),
            Stand::Open | Stand::Ended(Ending::Done) => None,
            Stand::Ended(_) => Some(GO_ON.to_owned()),
        })
    }

    fn about(&self, thread: &ThreadId) -> Option<About> {
        let bytes = fs::read(ThreadDir::new(&self.root, thread).facts()).ok()?;
        let about: About = serde_json::from_slice(&bytes).ok()?;
        (about.version == first_version()).then_some(about)
    }

    fn is_newer(&self, thread: &ThreadId) -> bool {
        let bytes = fs::read(ThreadDir::new(&self.root, thread).facts()).unwrap_or_default();
        let about: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        about["version"].as_u64() > Some(u64::from(first_version()))
    }
}

impl Session {
    /// As people write it.
    #[must_use]
    pub fn id(&self) -> String {
        self.thread.dir_name()
    }

    /// Where its log is.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.conversation
    }

    fn stand(&self) -> Result<Stand, JournalError> {
        let log = read(&self.conversation)?;
        if log.entries.is_empty() {
            return Ok(Stand::Empty);
        }
        let last = log.entries.into_iter().rev();
        let stand = last
            .map(|entry| entry.record)
            .find_map(|record| match record {
                Record::ActivationEnded { ending, .. } => Some(Stand::Ended(ending)),
                Record::ActivationStarted { .. } | Record::User { .. } => Some(Stand::Open),
                _ => None,
            });
        Ok(stand.unwrap_or(Stand::Open))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use butler_journal::Journal;
    use butler_protocol::Epoch;

    use super::*;

    #[test]
    fn the_newest_unfinished_session_of_a_folder_is_taken_up_and_no_other_folders() {
        let state = tempfile::tempdir().unwrap();
        let ticks = AtomicU64::new(1_000_000);
        let clock = Clock::new(move || Duration::from_micros(ticks.fetch_add(1, Relaxed)));
        let here = Sessions::of(state.path(), Path::new("/a"), clock.clone());
        assert!(matches!(here.newest_open(), Err(SessionError::NothingOpen)));
        let old = here.begin(Role::Coder, "first").unwrap();
        let new = here.begin(Role::Pm, "second").unwrap();
        assert_eq!(here.newest_open().unwrap().id(), new.id());
        let (mut journal, _) = Journal::open(new.log(), Epoch(1)).unwrap();
        let over = Record::ActivationEnded {
            activation: 1,
            ending: Ending::Done,
        };
        journal.append(over, 1).unwrap();
        let open = here.newest_open().unwrap();
        assert_eq!((open.id(), open.role), (old.id(), Role::Coder));
        assert_eq!(here.missing_word(&open).unwrap().as_deref(), Some("first"));
        assert_eq!(here.missing_word(&new).unwrap(), None);
        assert_eq!(here.find(&new.id()).unwrap().role, Role::Pm);
        let facts = ThreadDir::new(&here.root, &new.thread).facts();
        let later = fs::read_to_string(&facts)
            .unwrap()
            .replace("\"version\": 1", "\"version\": 2");
        fs::write(&facts, later).unwrap();
        let refused = here.find(&new.id()).unwrap_err();
        assert!(
            refused.to_string().contains("newer codebutler"),
            "{refused}"
        );
        let elsewhere = Sessions::of(state.path(), Path::new("/b"), clock);
        assert!(matches!(
            elsewhere.newest_open(),
            Err(SessionError::NothingOpen)
        ));
        assert!(matches!(
            elsewhere.find(&new.id()),
            Err(SessionError::Unknown(_))
        ));
    }
}
