//! One command from its start to the death of its last process: reads output
//! and report, keeps the deadline, obeys the token.

use std::{
    ffi::OsStr,
    io::{self, PipeReader},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use tokio::{io::AsyncReadExt, net::unix::pipe, sync::mpsc, time};
use tokio_util::sync::CancellationToken;

use crate::{
    Ended, Exit, Limits, SandboxError,
    process::{
        output::Output,
        spawn::{Leash, Started, Traces},
    },
    sandbox::lost,
    spec::Report,
};

/// How long the helper may take to end everything when asked, before it is killed.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the kernel may take to end everything after that.
const AT_MOST: Duration = Duration::from_secs(10);

/// Follows a started helper to its end.
pub(crate) async fn to_the_end(
    started: Started,
    program: &OsStr,
    limits: &Limits,
    cancel: &CancellationToken,
    stream: Option<mpsc::Sender<Vec<u8>>>,
    since: Instant,
) -> Result<Exit, SandboxError> {
    let Started {
        leash,
        output,
        report,
        seals,
    } = started;
    let mut session = Session {
        output: Some(reader(output)?),
        report: Some(reader(report)?),
        said: Vec::new(),
        kept: Output::new(limits.output_bytes),
        stream,
    };
    let deadline = time::sleep_until((since + limits.wall).into());
    let why = tokio::select! {
        result = session.drain() => result?,
        () = deadline => Some(Ended::TimedOut),
        () = cancel.cancelled() => Some(Ended::Cancelled),
    };
    // Held until the seals are checked: a placeholder is one of the protected places.
    let _traces = match why {
        None if is_over(&session.said) => leash.let_go(),
        None => wait(leash).await?,
        Some(_) => end(&mut session, leash).await?,
    };
    if let Some(path) = seals.broken() {
        seals.restore();
        return Err(SandboxError::Tampered {
            path: path.to_owned(),
        });
    }
    session.exit(program, why, since)
}

/// Ends everything and returns when it is over.
async fn end(session: &mut Session, leash: Leash) -> Result<Traces, SandboxError> {
    session.stream = None;
    leash.ask();
    if time::timeout(PATIENCE, session.drain_all()).await.is_err() {
        leash.kill();
        let gone = time::timeout(AT_MOST, session.drain_all()).await;
        gone.map_err(|_| lost("ending a command"))?;
    }
    wait(leash).await
}

/// Waits for the helper, which goes last.
async fn wait(leash: Leash) -> Result<Traces, SandboxError> {
    let waited = tokio::task::spawn_blocking(move || leash.wait());
    let waited = time::timeout(AT_MOST, waited).await;
    waited
        .map_err(|_| lost("ending a command"))?
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        .map_err(|source| SandboxError::Lost {
            step: "waiting for it",
            source,
        })
}

fn reader(pipe: PipeReader) -> Result<pipe::Receiver, SandboxError> {
    pipe::Receiver::from_owned_fd(OwnedFd::from(pipe)).map_err(|source| SandboxError::Lost {
        step: "listening to it",
        source,
    })
}

struct Session {
    /// Both are `None` once they ended, which is when the last holder is gone.
    output: Option<pipe::Receiver>,
    report: Option<pipe::Receiver>,
    said: Vec<u8>,
    kept: Output,
    stream: Option<mpsc::Sender<Vec<u8>>>,
}

impl Session {
    /// Reads until both pipes end or too much was written.
    async fn drain(&mut self) -> Result<Option<Ended>, SandboxError> {
        // Not written to before it is read into.
        let mut buffer = Vec::with_capacity(64 << 10);
        while self.output.is_some() || self.report.is_some() {
            tokio::select! {
                read = next(&mut self.output, &mut buffer) => match read {
                    Ok(0) | Err(_) => self.output = None,
                    Ok(_) => {
                        let within = self.kept.push(&buffer);
                        if self.kept.is_flood() {
                            return Ok(Some(Ended::OutputFlood));
                        }
                        self.pass_on(&buffer[..within]).await;
                        buffer.clear();
                    }
                },
                read = next(&mut self.report, &mut self.said) => match read {
                    Ok(0) | Err(_) => self.report = None,
                    // A helper says a line or two; more is not kept.
                    Ok(_) => self.said.truncate(64 << 10),
                },
            }
        }
        Ok(None)
    }

    /// Reads until both pipes end, whatever is written.
    async fn drain_all(&mut self) {
        while self.output.is_some() || self.report.is_some() {
            let _ = self.drain().await;
        }
    }

    async fn pass_on(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(stream) = &self.stream
            && stream.send(bytes.to_vec()).await.is_err()
        {
            self.stream = None;
        }
    }

    fn exit(
        self,
        program: &OsStr,
        why: Option<Ended>,
        since: Instant,
    ) -> Result<Exit, SandboxError> {
        let text = String::from_utf8_lossy(&self.said);
        let (code, signal, ended) = match (first_report(&text), why) {
            (_, Some(why)) => (None, Some(libc::SIGKILL), why),
            (Ok(Report::Exited(code)), None) => (Some(code), None, Ended::Itself),
            (Ok(Report::Signalled(signal)), None) => (None, Some(signal), Ended::Itself),
            (Ok(Report::Stopped(why)), None) => (None, Some(libc::SIGKILL), why),
            (Ok(Report::Over), None) => {
                return Err(SandboxError::SetUp {
                    step: "hear from the helper".to_owned(),
                    detail: text.into_owned(),
                });
            }
            (Ok(Report::SetUp { step, detail }), None) => {
                return Err(SandboxError::SetUp { step, detail });
            }
            (Ok(Report::Program { detail }), None) => {
                return Err(SandboxError::Program {
                    program: program.to_string_lossy().into_owned(),
                    detail,
                });
            }
            (Err(text), None) => {
                return Err(SandboxError::SetUp {
                    step: "hear from the helper".to_owned(),
                    detail: text,
                });
            }
        };
        let (output, cut_at, cut) = self.kept.finish();
        Ok(Exit {
            code,
            signal,
            output,
            cut,
            cut_at,
            ended,
            duration: since.elapsed(),
        })
    }
}

/// Reads what there is, behind what the buffer holds.
async fn next(pipe: &mut Option<pipe::Receiver>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read_buf(buffer).await,
        None => std::future::pending().await,
    }
}

/// Whether the command ran and its last process is dead: the second report says so.
fn is_over(said: &[u8]) -> bool {
    let text = String::from_utf8_lossy(said);
    let mut reports = text.lines().map(serde_json::from_str::<Report>);
    let reports = (reports.next(), reports.next(), reports.next());
    matches!(
        reports,
        (
            Some(Ok(Report::Exited(_)
                | Report::Signalled(_)
                | Report::Stopped(_))),
            Some(Ok(Report::Over)),
            None
        )
    )
}

/// The first thing the helper reported: what follows a failure is its echo.
/// Without one, whatever else it said.
pub(crate) fn first_report(text: &str) -> Result<Report, String> {
    let mut reports = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    reports.next().ok_or_else(|| match text.trim() {
        "" => "it ended without a word".to_owned(),
        text => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_over_only_when_its_first_process_says_so() {
        let over = |lines: &[&str]| is_over(lines.join("\n").as_bytes());
        let exited = "{\"exited\":0}";
        assert!(over(&[exited, "\"over\""]));
        // Killed before it was; an echo of a failure; somebody else's words.
        assert!(!over(&[exited]));
        assert!(!over(&["{\"program\":{\"detail\":\"x\"}}", exited]));
        assert!(!over(&[exited, "\"over\"", "\"over\""]));
        assert!(!over(&["\"over\""]));
        assert!(!over(&[]));
    }
}
