//! One child process: started in a group of its own, its output read to a cap,
//! ended as a group at the deadline or when somebody presses stop.
//!
//! The end comes as SIGTERM first: git takes its lock files away on it, which
//! it cannot do on SIGKILL.

use std::{ffi::OsString, fs::File, path::Path, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};
use tokio_util::sync::CancellationToken;

use crate::{Error, Output, Result};

/// More than any diff that a person or model will read.
pub(super) const OUTPUT_LIMIT: usize = 64 * 1024 * 1024;
const GRACE: Duration = Duration::from_secs(5);

/// What a child gets on standard input.
#[derive(Debug, Default)]
pub(crate) enum Input {
    /// `/dev/null`.
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    /// A lock file. The child shares the lock with us: if we are killed it stays
    /// locked until the child is done too.
    Lock(File),
}

/// A command to run.
pub(crate) struct Ask<'a> {
    pub program: &'a str,
    pub dir: Option<&'a Path>,
    pub args: &'a [OsString],
    pub variables: &'a [(OsString, OsString)],
    pub input: Input,
    pub deadline: Duration,
    pub cancel: Option<&'a CancellationToken>,
}

impl<'a> Ask<'a> {
    /// What neither says nor leaves anything. Neither the root folder nor one above it is a
    /// repository that anybody here can write.
    pub(crate) fn new(
        program: &'a str,
        args: &'a [OsString],
        variables: &'a [(OsString, OsString)],
        deadline: Duration,
    ) -> Self {
        let (dir, input, cancel) = (Some(Path::new("/")), Input::Nothing, None);
        Self {
            program,
            dir,
            args,
            variables,
            input,
            deadline,
            cancel,
        }
    }
    /// The command as people read it.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.program.to_owned();
        for arg in self.args {
            text.push(' ');
            text.extend(arg.to_string_lossy().chars().take(200));
        }
        text
    }
}

/// Runs a command to its end. Any exit code is an answer, not an error.
pub(crate) async fn run(ask: Ask<'_>) -> Result<Output> {
    let command = ask.shown();
    if ask.cancel.is_some_and(CancellationToken::is_cancelled) {
        return Err(Error::Cancelled { what: command });
    }
    let mut child = start(&ask, &command)?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let bytes = match ask.input {
        Input::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    let stopped = async {
        match ask.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        ended = talk(&mut child, bytes, &command) => ended,
        () = stopped => {
            end(&mut child, group).await;
            Err(Error::Cancelled { what: command })
        }
        () = tokio::time::sleep(ask.deadline) => {
            end(&mut child, group).await;
            Err(Error::Deadline { command, seconds: ask.deadline.as_secs() })
        }
    }
}

fn start(ask: &Ask<'_>, command: &str) -> Result<Child> {
    let source = |source| Error::Start {
        command: command.to_owned(),
        source,
    };
    let stdin = match &ask.input {
        Input::Nothing => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
        Input::Lock(file) => Stdio::from(file.try_clone().map_err(source)?),
    };
    let mut builder = Command::new(ask.program);
    builder
        .args(ask.args)
        .env_clear()
        .envs(ask.variables.iter().map(|(k, v)| (k, v)))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(dir) = ask.dir {
        builder.current_dir(dir);
    }
    builder.spawn().map_err(source)
}

async fn talk(child: &mut Child, bytes: Vec<u8>, command: &str) -> Result<Output> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut pipe) = stdin {
            // A child that stops reading says why by its exit code.
            let _ = pipe.write_all(&bytes).await;
        }
    };
    let ((), out, err) = tokio::join!(write, read(stdout, command), read(stderr, command));
    let (stdout, stderr) = (out?, err?);
    let status = child.wait().await.map_err(|source| Error::Start {
        command: command.to_owned(),
        source,
    })?;
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| -signal));
    Ok(Output {
        command: command.to_owned(),
        code: code.unwrap_or(-1),
        stdout,
        stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
    })
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, command: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(OUTPUT_LIMIT as u64 + 1)
            .read_to_end(&mut bytes)
            .await
            .map_err(|source| Error::Start {
                command: command.to_owned(),
                source,
            })?;
    }
    if bytes.len() > OUTPUT_LIMIT {
        return Err(Error::TooMuch {
            command: command.to_owned(),
            limit: OUTPUT_LIMIT,
        });
    }
    Ok(bytes)
}

async fn end(child: &mut Child, group: Option<Pid>) {
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::TERM);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        // Whoever is still there, git itself or what it had started.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill().await;
}
