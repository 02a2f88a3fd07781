//! One git command, as a value that is filled in and then run.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{
    Git,
    process::{Ask, Ended, Input, run},
};
use crate::{Error, Result, lock::FileLock};

/// A git command about to run.
#[derive(Debug)]
#[must_use = "nothing happens before `run`"]
pub struct Call<'a> {
    git: &'a Git,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    input: Input,
    deadline: Duration,
    accepted: &'static [i32],
}

impl<'a> Call<'a> {
    pub(super) fn new<I, S>(git: &'a Git, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Self {
            git,
            args: args.into_iter().map(|a| a.as_ref().to_owned()).collect(),
            variables: Vec::new(),
            input: Input::Nothing,
            deadline: git.settings.local_deadline,
            accepted: &[0],
        }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments.
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// One more variable, which wins over every other.
    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Bytes for standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Shares a lock with the command, so that it holds even if we are killed.
    pub(crate) fn holding(mut self, lock: &FileLock) -> Self {
        if let (Input::Nothing, Some(file)) = (&self.input, lock.share()) {
            self.input = Input::Lock(file);
        }
        self
    }

    /// Leaves this machine: takes the deadline for that.
    pub fn remote(mut self) -> Self {
        self.deadline = self.git.settings.remote_deadline;
        self
    }

    /// Ends the command after this long.
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Exit codes that are answers; by default 0.
    pub fn accept(mut self, codes: &'static [i32]) -> Self {
        self.accepted = codes;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// When git cannot be started, is stopped, takes too long, or ends with a
    /// code that was not accepted.
    pub async fn run(self, cancel: &CancellationToken) -> Result<Output> {
        self.go(Some(cancel)).await
    }

    /// Runs it where no one can press stop; dropping the future ends it.
    ///
    /// # Errors
    /// As for [`Call::run`].
    pub async fn finish(self) -> Result<Output> {
        self.go(None).await
    }

    /// Compiled once here, and not again wherever git is asked something.
    fn go(self, cancel: Option<&'a CancellationToken>) -> BoxFuture<'a, Result<Output>> {
        Box::pin(async move {
            let Git {
                dir,
                settings,
                guard,
            } = self.git;
            let overrides = guard.overrides(settings).await?;
            let mut variables = settings.environment(&overrides).await?;
            // A folder that has lost its `.git` must not fall through to the
            // repository around it.
            if let Some(parent) = dir.parent() {
                variables.push(("GIT_CEILING_DIRECTORIES".into(), parent.into()));
            }
            variables.extend(self.variables);
            let ended = run(Ask {
                program: "git",
                dir: Some(dir),
                args: &self.args,
                variables: &variables,
                input: self.input,
                deadline: self.deadline,
                cancel,
            })
            .await?;
            Output::check(ended, self.accepted)
        })
    }
}

/// What git answered.
#[derive(Debug, Clone)]
pub struct Output {
    command: String,
    /// The exit code, one of those accepted.
    pub code: i32,
    /// Standard output as it came.
    pub stdout: Vec<u8>,
    /// Standard error as text.
    pub stderr: String,
}

impl Output {
    pub(crate) fn check(ended: Ended, accepted: &[i32]) -> Result<Self> {
        let Ended {
            command,
            code,
            stdout,
            stderr,
        } = ended;
        if accepted.contains(&code) {
            return Ok(Self {
                command,
                code,
                stdout,
                stderr,
            });
        }
        // Some commands (push --porcelain, merge) explain themselves on stdout.
        let stderr = match stderr.is_empty() {
            true => String::from_utf8_lossy(&stdout).trim().to_owned(),
            false => stderr,
        };
        Err(Error::Failed {
            command,
            code,
            stderr,
        })
    }

    /// Standard output as trimmed text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }

    /// The lines of standard output.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.text()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The NUL-separated fields of standard output.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|b| *b == 0).filter(|f| !f.is_empty())
    }

    /// An error that says that this answer makes no sense.
    #[must_use]
    pub fn unreadable(&self) -> Error {
        Error::Unreadable {
            command: self.command.clone(),
            answer: self.text().chars().take(500).collect(),
        }
    }
}

/// A path as git prints it with `-z`: any bytes but NUL.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
