//! What is to be run, and how it ended.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use crate::plain;

/// A program with everything it is given. Nothing is inherited from the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A name without a slash is looked up in
    /// the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The same without a shell, tried first; empty when a shell has to read it. Where there is
    /// no such program, the shell says so in its own words.
    pub direct: Vec<OsString>,
    /// Where it starts; must be visible inside.
    pub cwd: PathBuf,
    /// Its whole environment, see [`crate::scrubbed_env`].
    pub env: BTreeMap<OsString, OsString>,
    /// What it reads.
    pub stdin: Stdin,
    /// Whether it may make sockets. One that has no use for them is cheaper: no
    /// network is made for it, not even a loopback, no queues and no terminals, and
    /// every socket and queue is refused.
    pub sockets: bool,
}

/// What a command reads from its standard input. There is never a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

/// A shell command line as the Bash tool runs it: no profile, no rc file, an
/// environment built from nothing.
#[must_use]
pub fn shell(command: &str, cwd: impl Into<PathBuf>) -> Command {
    shell_with(command, cwd, crate::scrubbed_env(&crate::env::home(), []))
}

/// The same with an environment that was built already.
#[must_use]
pub fn shell_with(
    command: &str,
    cwd: impl Into<PathBuf>,
    mut env: BTreeMap<OsString, OsString>,
) -> Command {
    let cwd = cwd.into();
    // As a shell would tell the programs that it starts.
    env.insert("PWD".into(), cwd.clone().into());
    let program = shell_program();
    let mut argv: Vec<OsString> = vec![program.into()];
    if program != PLAIN {
        argv.extend(["--noprofile".into(), "--norc".into()]);
    }
    argv.extend(["-c".into(), command.into()]);
    let direct = plain::words(command).unwrap_or_default();
    Command {
        argv,
        direct: direct.into_iter().map(OsString::from).collect(),
        cwd,
        env,
        stdin: Stdin::Null,
        sockets: true,
    }
}

const PLAIN: &str = "/bin/sh";

/// bash, or the plain shell where there is none.
pub(crate) fn shell_program() -> &'static str {
    static FOUND: LazyLock<&str> = LazyLock::new(|| {
        ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
            .into_iter()
            .find(|bash| Path::new(bash).exists())
            .unwrap_or(PLAIN)
    });
    *FOUND
}

/// How a command ended and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output and error as they came, mixed; when there was more than
    /// [`crate::Limits::output_bytes`], its head and its tail.
    pub output: Vec<u8>,
    /// How many bytes are left out between head and tail.
    pub cut: u64,
    /// Where in `output` they are left out; the length when nothing is.
    pub cut_at: usize,
    /// Why it ended.
    pub ended: Ended,
    /// From the call to the end of its last process.
    pub duration: Duration,
}

impl Exit {
    /// Whether the command ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.ended == Ended::Itself && self.code == Some(0)
    }
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, or by a signal from inside.
    Itself,
    /// [`crate::Limits::wall`] was over.
    TimedOut,
    /// The caller's token was cancelled.
    Cancelled,
    /// Its processes together held more than [`crate::Limits::memory_bytes`].
    OutOfMemory,
    /// It had more than [`crate::Limits::processes`].
    TooManyProcesses,
    /// It wrote more than [`crate::Limits::disk_bytes`], or the disk ran full.
    DiskFull,
    /// It wrote many times more output than anybody keeps.
    OutputFlood,
}
