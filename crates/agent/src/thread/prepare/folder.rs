//! Making one folder ready, whoever asks for it: a thread's worktree, a review,
//! the base, or `init` on behalf of a person.
//!
//! Submodules first, then what an earlier preparation made for the same needs,
//! else the repo's commands. What they install is left out of every change before
//! they run, so that a failed one leaves nothing to commit either.

use std::path::Path;

use butler_protocol::{CommitSha, Sha256Hex, ThreadId};
use butler_repo::{Git, Repo, Submodule};
use butler_sandbox::{Network, Sandbox};
use butler_tools::{Cache, Preparing, RuntimeCommand, Surroundings, Workplace, prepare};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    made::{INSTALLED, Made, PreparedCache, escaped, is_installed, quoted},
    needs::{Needs, needs},
};
use crate::{Agent, AgentError, OrWarn, thread::tool_session};

/// A folder and everything that making it ready takes.
pub(crate) struct Folder<'a> {
    repo: &'a Repo,
    sandbox: &'a Sandbox,
    place: Workplace,
    cache: Option<Cache>,
    git: Git,
    commands: &'a [String],
    cancel: &'a CancellationToken,
    head: CommitSha,
    submodules: Vec<Submodule>,
    needs: Needs,
    /// Whether it holds nothing that the default branch does not.
    as_default: bool,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There it is.
    Ready,
    /// A command failed.
    Failed {
        /// Which.
        command: String,
        /// How.
        end: Preparing,
    },
    /// Somebody pressed stop.
    Stopped,
}

impl<'a> Folder<'a> {
    /// Looks at a folder of ours; nothing where it needs nothing.
    pub(crate) async fn of(
        agent: &'a Agent,
        path: &Path,
        commands: &'a [String],
        cancel: &'a CancellationToken,
    ) -> Result<Option<Self>, AgentError> {
        if commands.is_empty() && !path.join(".gitmodules").exists() {
            return Ok(None);
        }
        let (repo, sandbox) = (&agent.repo, &agent.sandbox);
        let around = tool_session::surroundings(agent);
        let folder = Self::open(repo, sandbox, around, path, commands, cancel).await?;
        Ok(Some(folder))
    }

    /// Looks at a folder, a worktree of `repo`; fetches its submodules.
    pub(crate) async fn open(
        repo: &'a Repo,
        sandbox: &'a Sandbox,
        around: Surroundings,
        path: &Path,
        commands: &'a [String],
        cancel: &'a CancellationToken,
    ) -> Result<Self, AgentError> {
        let git = repo.git().elsewhere(path);
        let head = git
            .call(["rev-parse", "--verify", "HEAD"])
            .run(cancel)
            .await?;
        let head = CommitSha::new(head.text());
        let submodules = match path.join(".gitmodules").exists() {
            true => repo.submodules(&head, cancel).await?,
            false => Vec::new(),
        };
        let cache = around.cache.clone();
        let place = Workplace::open(path, Vec::new(), around)?;
        let needs = needs(commands, &place, &git, &submodules, cancel).await?;
        let as_default = as_on_default(repo, &git, cancel).await.unwrap_or(false);
        Ok(Self {
            repo,
            sandbox,
            place,
            cache,
            git,
            commands,
            cancel,
            head,
            submodules,
            needs,
            as_default,
        })
    }

    /// What it needs: the same for folders that need the same.
    pub(crate) fn needs(&self) -> &Sha256Hex {
        &self.needs.hash
    }

    /// Whether it holds nothing that the default branch does not.
    pub(crate) fn as_default(&self) -> bool {
        self.as_default
    }

    /// Brings the submodules, and leaves out of every change what is about to be made.
    pub(crate) async fn begin(&self) -> Result<Outcome, AgentError> {
        if let Some(cache) = &self.cache {
            cache.open().map_err(|error| {
                AgentError::Missing(format!("the cache of package managers: {error}"))
            })?;
        }
        self.leave_out(
            INSTALLED
                .iter()
                .map(|name| format!("{name}{}", slash(name))),
        )
        .await;
        for one in &self.submodules {
            let command = lay_out(one);
            match prepare(&self.place, self.sandbox, &command, self.cancel).await {
                Some(end) if end.ok => {}
                Some(end) => {
                    let command = format!("git checkout of the submodule {}", one.path);
                    return Ok(Outcome::Failed { command, end });
                }
                None => return Ok(Outcome::Stopped),
            }
        }
        Ok(Outcome::Ready)
    }

    /// Takes over what an earlier preparation made. `thread` also finds what that
    /// thread made of its own changes.
    pub(crate) async fn reuse(&self, thread: Option<&ThreadId>) -> Result<bool, AgentError> {
        let Some(prepared) = self.cache.as_ref().map(PreparedCache::of) else {
            return Ok(false);
        };
        let _turn = self.repo.turn("prepared", self.cancel).await?;
        for key in [
            Some(self.key(None)),
            thread.map(|thread| self.key(Some(thread))),
        ] {
            let Some(key) = key.filter(|_| !self.needs.code || self.as_default) else {
                continue;
            };
            let Some(made) = prepared.find(&key) else {
                continue;
            };
            let command = prepared.restoring(&key, &made, self.place.root());
            match prepare(&self.place, self.sandbox, &command, self.cancel).await {
                Some(end) if end.ok => {
                    info!(folder = %self.place.root().display(), "took over what was prepared before");
                    return Ok(true);
                }
                Some(end) => warn!(
                    why = end.last_line(),
                    "what was prepared before is of no use"
                ),
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Runs one command of the list.
    pub(crate) async fn run(&self, command: &str, network: Network) -> Option<Preparing> {
        let command = RuntimeCommand::new(command, network);
        prepare(&self.place, self.sandbox, &command, self.cancel).await
    }

    /// What is in the folder and not in git, ignored or not.
    pub(crate) async fn untracked(&self) -> Result<Vec<String>, AgentError> {
        let call = self.git.call(["ls-files", "-z", "--others", "--directory"]);
        let listed = call.run(self.cancel).await?;
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        Ok(listed.fields().map(text).collect())
    }

    /// After the commands, also when one failed: folders that they made are no
    /// part of a change, and installed packages serve the next folder.
    pub(crate) async fn end(
        &self,
        before: &[String],
        thread: Option<&ThreadId>,
        whole: bool,
    ) -> Result<(), AgentError> {
        let after = self.untracked().await?;
        let new = after.iter().filter(|entry| !before.contains(entry));
        // A single file may be meant, as a lock file is; the person has the last word.
        let folders = new.filter(|entry| entry.ends_with('/') && !is_installed(entry));
        self.leave_out(folders.map(|entry| format!("/{}", pattern(entry))))
            .await;
        let Some(made) = Made::of(self.place.root(), before, &after).filter(|_| whole) else {
            return Ok(());
        };
        if !self.as_default && self.needs.code {
            return Ok(());
        }
        let key = match (self.as_default, thread) {
            (true, _) => self.key(None),
            (false, Some(thread)) => self.key(Some(thread)),
            (false, None) => return Ok(()),
        };
        self.keep(&key, &made).await
    }

    async fn keep(&self, key: &Sha256Hex, made: &Made) -> Result<(), AgentError> {
        let Some(prepared) = self.cache.as_ref().map(PreparedCache::of) else {
            return Ok(());
        };
        let _turn = self.repo.turn("prepared", self.cancel).await?;
        let not_kept =
            |why: String| warn!(why, "what was prepared is not kept for the next folder");
        let (command, beside) = match prepared.keeping(made) {
            Ok(begun) => begun,
            Err(error) => {
                not_kept(error.to_string());
                return Ok(());
            }
        };
        let copied = prepare(&self.place, self.sandbox, &command, self.cancel).await;
        if let Some(end) = copied.filter(|end| !end.ok) {
            not_kept(format!("{}: {}", end.verdict, end.last_line()));
            let _ = std::fs::remove_dir_all(beside);
        } else if let Err(error) = prepared.keep(key, made, &beside) {
            not_kept(error.to_string());
        }
        Ok(())
    }

    /// Everything at once, for who has nobody to tell.
    pub(crate) async fn make(&self, network: Network) -> Result<Outcome, AgentError> {
        let begun = self.begin().await?;
        if begun != Outcome::Ready || self.commands.is_empty() || self.reuse(None).await? {
            return Ok(begun);
        }
        let before = self.untracked().await?;
        for command in self.commands {
            match self.run(command, network).await {
                Some(end) if end.ok => {}
                Some(end) => {
                    self.end(&before, None, false).await?;
                    let command = command.clone();
                    return Ok(Outcome::Failed { command, end });
                }
                None => return Ok(Outcome::Stopped),
            }
        }
        self.end(&before, None, true).await?;
        Ok(Outcome::Ready)
    }

    /// What kept packages are found by. Those of a thread's own changes are its own:
    /// what its scripts did must not reach another thread.
    fn key(&self, thread: Option<&ThreadId>) -> Sha256Hex {
        let mut text = self.needs.hash.to_string();
        if self.needs.code {
            text.push_str(&format!(" {}", self.head));
        }
        if let Some(thread) = thread {
            text.push_str(&format!(" {thread}"));
        }
        Sha256Hex::of(text)
    }

    async fn leave_out(&self, patterns: impl Iterator<Item = String>) {
        let mut new = Vec::new();
        for pattern in patterns {
            if !self.is_tracked(&pattern).await {
                new.push(pattern);
            }
        }
        if new.is_empty() {
            return;
        }
        self.repo
            .leave_out(&new, self.cancel)
            .await
            .or_warn("what was installed may show up as changes");
    }

    /// Some repos commit their packages; what is new in them is part of a change.
    async fn is_tracked(&self, pattern: &str) -> bool {
        let name = pattern.trim_matches('/');
        let call = self.git.call(["ls-files", "-z", "--"]);
        let call = match pattern.starts_with('/') {
            true => call.arg(format!(":(literal){name}")),
            false => call.arg(format!(":(glob)**/{name}/**")),
        };
        call.run(self.cancel)
            .await
            .is_ok_and(|listed| listed.fields().next().is_some())
    }
}

/// A folder's pattern ends with a slash; some installers make single files.
fn slash(name: &str) -> &'static str {
    if name.starts_with(".pnp") { "" } else { "/" }
}

/// A path as a pattern that means it and nothing else.
fn pattern(path: &str) -> String {
    escaped(path, "\\*?[]!# ")
}

/// The files of a submodule, without a repository of their own.
fn lay_out(one: &Submodule) -> RuntimeCommand {
    let path = quoted(Path::new(&one.path));
    let script = format!(
        "set -e
rm -rf ./{path}
mkdir -p ./{path}
cd ./{path}
export GIT_DIR={} GIT_WORK_TREE=. GIT_INDEX_FILE=\"$TMPDIR/submodule-index\"
rm -f \"$GIT_INDEX_FILE\"
git read-tree {}
git checkout-index --all --force --quiet",
        quoted(&one.store),
        one.commit
    );
    RuntimeCommand {
        readable: vec![one.store.clone()],
        ..RuntimeCommand::new(script, Network::Loopback)
    }
}

/// Whether a folder holds nothing that the default branch does not.
async fn as_on_default(
    repo: &Repo,
    git: &Git,
    cancel: &CancellationToken,
) -> Result<bool, AgentError> {
    let inside = git
        .call(["merge-base", "--is-ancestor", "HEAD", &repo.default_ref()])
        .accept(&[0, 1])
        .run(cancel)
        .await?;
    let changes = git.call(["status", "--porcelain"]).run(cancel).await?;
    Ok(inside.code == 0 && changes.text().is_empty())
}
