//! What caller and helper say to each other. The helper's standard input is a
//! socket; each message brings a file in memory with the requests as JSON lines
//! (never arguments, which others on the machine can read), and what they speak of:
//!
//! - a cell: the socket over which its first process takes its one command;
//! - a command: the end of a pipe for its output, one for reports, which are JSON
//!   lines too, and what it reads, if it reads anything.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};

use crate::{Ended, Limits, Network, helper::attack::Targets, view::Step};

/// Raised whenever [`Spec`] changes, so that a helper that was replaced on disk
/// under a running caller says so instead of guessing.
pub(crate) const VERSION: u32 = 9;

/// The word behind `__sandbox` that makes a helper wait for messages.
pub(crate) const HELPER_POOL: &str = "helper-pool";

/// The word that makes it play a kernel that has less.
pub(crate) const WEAKER: &str = "weaker";

/// What the helper is to do: one JSON line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Leave the host and build what does not depend on the command. A `Cell`
    /// follows at once, and others may with later messages.
    BaseRoot(Box<BaseRoot>),
    /// Build a cell on that base root, which waits for its command.
    Cell(Box<Cell>),
    /// Run a command: in the cell that it is sent to, or without namespaces.
    Run(Box<Spec>),
    /// Already inside: try to get out.
    Attack(Box<Targets>),
}

/// The same as the caller writes it, who keeps what it asks for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asking<'a> {
    BaseRoot(&'a BaseRoot),
    Cell(&'a Cell),
    Run(&'a Spec),
}

/// The part of the sandbox that is the same for command after command. Two that
/// are equal are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BaseRoot {
    pub version: u32,
    /// The caller's process id: when it is not our parent, the caller is gone.
    pub caller: i32,
    pub network: Network,
    pub steps: Vec<Step>,
    /// Empty mount points for what commands add, because the base root is sealed.
    pub ways: Vec<Way>,
}

/// Where something will be mounted: on a folder or on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub path: Os,
    pub folder: bool,
}

/// What is built for one command and for nobody after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// On top of the base root's.
    pub steps: Vec<Step>,
    pub limits: Limits,
    /// Whether a network, queues and terminals are made for it ahead. They are made for a
    /// command that needs them in any case.
    pub sockets: bool,
}

/// Everything the helper needs to know to run a command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub version: u32,
    /// As in [`BaseRoot`].
    pub caller: i32,
    /// Empty: only build the sandbox and report.
    pub argv: Vec<Os>,
    /// Tried before it: the same without a shell.
    pub direct: Vec<Os>,
    pub env: Vec<(Os, Os)>,
    pub cwd: Os,
    /// Whether a descriptor was sent for the command to read.
    pub stdin: bool,
    /// Whether the command may make sockets.
    pub sockets: bool,
    /// Whether that is a socket and takes the standard output too; what goes to the
    /// standard error is the output then.
    pub answers: bool,
    /// Without namespaces the sandbox is built for the command itself.
    pub landlock: Option<Landlock>,
    /// Without anything: unconfined, by a person's word.
    pub unconfined: bool,
    pub limits: Limits,
}

/// The host's file system, seen through Landlock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Landlock {
    pub read: Vec<Os>,
    pub write: Vec<Os>,
}

/// How it went, one JSON line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The sandbox could not be built.
    SetUp { step: String, detail: String },
    /// The program could not be started.
    Program { detail: String },
    /// The command ended with this code.
    Exited(i32),
    /// A signal ended the command.
    Signalled(i32),
    /// A limit was passed and everything was killed.
    Stopped(Ended),
    /// After one of the above: the last process of the command is dead. Who does
    /// not come to say it may have died before that.
    Over,
}

/// Bytes from the operating system: text in JSON when they are text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Os(pub OsString);

impl Os {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl From<&Path> for Os {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().to_owned())
    }
}

impl From<PathBuf> for Os {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<&OsStr> for Os {
    fn from(text: &OsStr) -> Self {
        Self(text.to_owned())
    }
}

impl Serialize for Os {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => self.0.as_bytes().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Os {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Os;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of bytes")
            }

            fn visit_str<E>(self, text: &str) -> Result<Os, E> {
                Ok(Os(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Os, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Os(OsString::from_vec(bytes)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_text_survive_the_way_to_the_helper() {
        for bytes in [
            &b"/plain"[..],
            b"",
            b"caf\xc3\xa9",
            b"bad\xff\xfe",
            b"a\nb\"c",
        ] {
            let before = Os(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&before).unwrap();
            assert_eq!(serde_json::from_str::<Os>(&json).unwrap(), before, "{json}");
        }
    }
}
