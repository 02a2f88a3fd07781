//! Keeps child processes running: starts them, prefixes what they write, starts
//! them again with growing pauses when they die, and ends them all on cancel.
//!
//! A child holds the read end of a pipe from us as its standard input, is told
//! so by a variable, and stops when the pipe closes ([`until_parent_ends`]):
//! whatever ends this process, even `kill -9`, no child stays behind.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::process::stdin_lines;

/// What a child writes on its standard output once it can work.
pub(crate) const READY: &str = "ready";

/// Set for children of ours: their standard input is our life line.
const SUPERVISED: &str = "CODEBUTLER_SUPERVISED";

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A child that ran this long has recovered: the next pause is short again.
const HEALTHY: Duration = Duration::from_secs(60);
/// Tools get five seconds to end; this is beyond that.
const PATIENCE: Duration = Duration::from_secs(10);

/// One process to keep running.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// As in `coder`; the prefix of its lines.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables beside the inherited ones.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub folder: PathBuf,
}

/// Receives each line of each child: name, then text.
pub(crate) type LineSink = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// How a child is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// What it said behind `ready`; nothing while it is not.
    pub ready: Option<String>,
    /// How often in a row it ended without having been ready.
    pub deaths: u32,
}

/// Starts and restarts jobs until cancelled.
pub(crate) struct Supervisor {
    tasks: TaskTracker,
    cancel: CancellationToken,
    lines: LineSink,
}

impl Supervisor {
    /// Nothing runs yet.
    pub(crate) fn new(lines: LineSink, cancel: CancellationToken) -> Self {
        Self {
            tasks: TaskTracker::new(),
            cancel,
            lines,
        }
    }

    /// Keeps a job running, and says how it is.
    pub(crate) fn keep(&self, job: Job) -> watch::Receiver<Status> {
        let (status, receiver) = watch::channel(Status::default());
        let keeper = Keeper {
            job,
            status,
            lines: Arc::clone(&self.lines),
            cancel: self.cancel.clone(),
        };
        self.tasks.spawn(keeper.run());
        receiver
    }

    /// Waits until every child has ended; call after cancelling.
    pub(crate) async fn ended(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct Keeper {
    job: Job,
    status: watch::Sender<Status>,
    lines: LineSink,
    cancel: CancellationToken,
}

impl Keeper {
    async fn run(self) {
        let mut pause = FIRST_PAUSE;
        while !self.cancel.is_cancelled() {
            let started = Instant::now();
            match self.start() {
                Ok(mut child) => {
                    let status = self.watch(&mut child).await;
                    if self.cancel.is_cancelled() {
                        break;
                    }
                    self.say(&format!("ended ({}), starting again", describe(status)));
                }
                Err(error) => self.say(&format!("cannot start: {error}")),
            }
            // After its last words: whoever counts deaths reads them.
            self.status.send_modify(|status| {
                let was_ready = status.ready.take().is_some();
                status.deaths = if was_ready { 0 } else { status.deaths + 1 };
            });
            if started.elapsed() >= HEALTHY {
                pause = FIRST_PAUSE;
            }
            tokio::select! {
                () = self.cancel.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        Command::new(&self.job.program)
            .args(&self.job.args)
            .envs(self.job.env.iter().cloned())
            .env(SUPERVISED, "1")
            .current_dir(&self.job.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    /// Reads both outputs until the child ends; on cancel closes its input,
    /// waits, and kills it when it does not listen.
    async fn watch(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let input = child.stdin.take();
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let outputs = async {
            tokio::join!(self.relay(output), self.relay(errors));
        };
        tokio::pin!(outputs);
        tokio::select! {
            () = &mut outputs => {}
            () = self.cancel.cancelled() => {
                drop(input);
                if tokio::time::timeout(PATIENCE, &mut outputs).await.is_err() {
                    self.say("does not stop, killing it");
                    child.start_kill()?;
                }
                return child.wait().await;
            }
        }
        child.wait().await
    }

    async fn relay<R: AsyncRead + Unpin>(&self, output: Option<R>) {
        let Some(output) = output else { return };
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match line.strip_prefix(READY) {
                Some(rest) if rest.is_empty() || rest.starts_with(' ') => {
                    self.status.send_replace(Status {
                        ready: Some(rest.trim().to_owned()),
                        deaths: 0,
                    });
                }
                _ => self.say(&line),
            }
        }
    }

    fn say(&self, line: &str) {
        (self.lines)(&self.job.name, line);
    }
}

fn describe(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Whether a supervisor started this process.
pub(crate) fn is_supervised() -> bool {
    std::env::var_os(SUPERVISED).is_some()
}

/// Returns when the supervisor that started us has closed our standard input,
/// or is gone. Never returns in a process that no supervisor started.
pub(crate) async fn until_parent_ends() {
    if !is_supervised() {
        std::future::pending::<()>().await;
    }
    let mut said = stdin_lines();
    while let Some(Ok(_)) = said.recv().await {}
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn shell(name: &str, script: &str, folder: &std::path::Path) -> Job {
        Job {
            name: name.to_owned(),
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![],
            folder: folder.to_owned(),
        }
    }

    fn sink() -> (LineSink, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let sink: LineSink = Arc::new(move |name, line| {
            kept.lock().unwrap().push(format!("{name}: {line}"));
        });
        (sink, lines)
    }

    #[tokio::test]
    async fn a_child_that_dies_is_started_again_and_its_lines_carry_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (sink, lines) = sink();
        let cancel = CancellationToken::new();
        let supervisor = Supervisor::new(sink, cancel.clone());
        let script = "if [ -e seen ]; then echo ready http://there; cat >/dev/null; else touch seen; echo first; exit 3; fi";
        let mut ready = supervisor.keep(shell("job", script, folder.path()));
        ready.wait_for(|child| child.deaths == 1).await.unwrap();
        ready.wait_for(|child| child.ready.is_some()).await.unwrap();
        let there = Status {
            ready: Some("http://there".to_owned()),
            deaths: 0,
        };
        assert_eq!(*ready.borrow(), there);
        cancel.cancel();
        supervisor.ended().await;
        let lines = lines.lock().unwrap();
        assert_eq!(lines[0], "job: first");
        assert!(lines[1].contains("exit status: 3"), "{lines:?}");
    }

    #[tokio::test]
    async fn closing_its_input_is_how_a_child_is_told_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let (sink, lines) = sink();
        let cancel = CancellationToken::new();
        let supervisor = Supervisor::new(sink, cancel.clone());
        let script = "echo ready; cat >/dev/null; echo stopping politely";
        let mut ready = supervisor.keep(shell("job", script, folder.path()));
        ready.wait_for(|child| child.ready.is_some()).await.unwrap();
        cancel.cancel();
        supervisor.ended().await;
        assert_eq!(*lines.lock().unwrap(), ["job: stopping politely"]);
    }
}
