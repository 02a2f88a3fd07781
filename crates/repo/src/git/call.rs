//! One git command, as a value that is filled in and then run.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{
    Git, Places,
    call_folder::{self, CallFolder},
    inside::{self, Inside},
    outside::{is_outside, is_remote},
    process::{Ask, Input, run},
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
    on_paper: bool,
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
            on_paper: false,
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
    /// Fails when git cannot be started, is stopped, takes too long, or ends with a code that was
    /// not accepted.
    pub async fn run(self, cancel: &CancellationToken) -> Result<Output> {
        self.go(Some(cancel)).await
    }

    /// Runs it where no one can press stop; dropping the future ends it.
    pub async fn finish(self) -> Result<Output> {
        self.go(None).await
    }

    /// Keeps no object that the command writes: it was only asked what would be.
    pub(crate) fn on_paper(mut self) -> Self {
        self.on_paper = true;
        self
    }

    /// Compiled once here, and not again wherever git is asked something.
    fn go(mut self, cancel: Option<&'a CancellationToken>) -> BoxFuture<'a, Result<Output>> {
        Box::pin(async move {
            let places = self.git.places()?;
            let accepted = self.accepted;
            let overrides = self.git.guard.overrides(&self.git.settings).await?;
            let command = self.args.first().and_then(|first| first.to_str());
            if let Some(said) = command.and_then(always_said) {
                self.args.insert(1, said.into());
            }
            if is_outside(&self.args) {
                let mut variables = self.git.settings.environment(&overrides).await?;
                // A new repository is made where its last word says, and not here.
                if self.args.first().is_none_or(|first| first != "init") {
                    variables.push(("GIT_DIR".into(), places.own.clone().into()));
                    variables.push(("GIT_IMPLICIT_WORK_TREE".into(), "0".into()));
                }
                // An address may be written as seen from the clone's top.
                let place = match is_remote(&self.args) {
                    true => &self.git.dir,
                    false => &places.own,
                };
                let ended = self.start(place, variables, cancel).await?;
                return ended.check(accepted);
            }
            let variables = self.git.settings.inside(&overrides);
            let note = match self.input {
                Input::Lock(_) => Some(Note::write(&places.own)?),
                _ => None,
            };
            let ended = self.inside(&places, variables, cancel).await;
            if let Some(note) = note {
                note.remove(&ended);
            }
            ended?.check(accepted)
        })
    }

    /// Runs it in the sandbox; where there is none, with the same environment.
    async fn inside(
        mut self,
        places: &Places,
        mut variables: Vec<(OsString, OsString)>,
        cancel: Option<&CancellationToken>,
    ) -> Result<Output> {
        let git = self.git;
        let folder = CallFolder::new(places, &git.dir)?;
        let tree = git.files.then_some(git.dir.as_path());
        variables.push(("GIT_DIR".into(), places.own.clone().into()));
        let files = tree.unwrap_or(&folder.path);
        variables.push(("GIT_WORK_TREE".into(), files.into()));
        let ended = match inside::sandbox() {
            Some(sandbox) => {
                variables.extend(call_folder::object_places(&folder));
                variables.append(&mut self.variables);
                let call = Inside {
                    sandbox,
                    places,
                    tree,
                    folder: &folder,
                    shown: Ask::new("git", &self.args, &[], Duration::ZERO).shown(),
                    args: &self.args,
                    variables,
                    input: match self.input {
                        Input::Bytes(bytes) => Some(bytes),
                        _ => None,
                    },
                    deadline: self.deadline,
                };
                call.run(cancel).await
            }
            None => self.start(files, variables, cancel).await,
        };
        folder.close(!self.on_paper).await?;
        ended
    }

    async fn start(
        &mut self,
        dir: &Path,
        mut variables: Vec<(OsString, OsString)>,
        cancel: Option<&CancellationToken>,
    ) -> Result<Output> {
        variables.append(&mut self.variables);
        run(Ask {
            dir: Some(dir),
            input: std::mem::take(&mut self.input),
            cancel,
            ..Ask::new("git", &self.args, &variables, self.deadline)
        })
        .await
    }
}

/// What a command is told besides, because config that says otherwise would win.
fn always_said(command: &str) -> Option<&'static str> {
    match command {
        // `.gitmodules` may ask to look into nested repositories.
        "status" | "diff" => Some("--ignore-submodules=dirty"),
        // The far end's program: of two values in the config git takes the first,
        // so a later one of ours would not win over the repository's.
        "fetch" | "ls-remote" => Some("--upload-pack=git-upload-pack"),
        "push" => Some("--receive-pack=git-receive-pack"),
        _ => None,
    }
}

/// Says that a command is changing a worktree's git state. If it is found later, the
/// command was killed with us, and its lock files are nobody's.
struct Note(PathBuf);

impl Note {
    fn write(git_dir: &Path) -> Result<Self> {
        let note = Self(git_dir.join("codebutler-writing"));
        if note.0.exists() {
            clear_locks(git_dir);
        }
        fs::write(&note.0, "").map_err(Error::file(&note.0))?;
        Ok(note)
    }

    fn remove(self, ended: &Result<Output>) {
        if let (Err(_), Some(git_dir)) = (ended, self.0.parent()) {
            clear_locks(git_dir);
        }
        let _ = fs::remove_file(self.0);
    }
}

/// Whoever made them is dead: we hold the lock that its maker held.
fn clear_locks(git_dir: &Path) {
    for name in ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"] {
        if fs::remove_file(git_dir.join(name)).is_ok() {
            tracing::warn!(name, git_dir = %git_dir.display(), "took away the lock of a git that was killed");
        }
    }
}

/// What git answered.
#[derive(Debug, Clone)]
pub struct Output {
    pub(crate) command: String,
    /// The exit code, one of those accepted.
    pub code: i32,
    /// Standard output as it came.
    pub stdout: Vec<u8>,
    /// Standard error as text.
    pub stderr: String,
}

impl Output {
    pub(crate) fn check(mut self, accepted: &[i32]) -> Result<Self> {
        if accepted.contains(&self.code) {
            return Ok(self);
        }
        // Some commands (push --porcelain, merge) explain themselves on stdout.
        if self.stderr.is_empty() {
            self.stderr = self.text();
        }
        let Self {
            command,
            code,
            stderr,
            ..
        } = self;
        Err(Error::Failed {
            command,
            code,
            stderr,
        })
    }

    /// Standard output as trimmed text.
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
