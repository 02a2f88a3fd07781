//! The commands of a repo, tried once on behalf of a person: `init` tries its
//! guesses before it writes them. In a checkout of
//! ours, in the sandbox, prepared as a worktree would be.

use std::path::PathBuf;

use butler_protocol::CommitSha;
use butler_repo::Repo;
use butler_sandbox::{Network, Sandbox};
use butler_tools::{Cache, Check, Preparing, RuntimeCommand, Surroundings, Workplace, prepare};
use tokio_util::sync::CancellationToken;

use super::folder::{Folder, Outcome};
use crate::AgentError;

/// What to try, and where.
pub struct TryOut<'a> {
    /// The person's clone.
    pub repo: &'a Repo,
    /// Where commands run.
    pub sandbox: &'a Sandbox,
    /// The person's home.
    pub person_home: PathBuf,
    /// The machine's folder: hidden from every command.
    pub home: PathBuf,
    /// Further certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// Commands that make a fresh worktree ready.
    pub prepare: &'a [String],
    /// The checks.
    pub checks: &'a [Check],
}

/// What came of it.
#[derive(Debug)]
pub struct Tried {
    /// The command of the preparation that failed, and how.
    pub unprepared: Option<(String, Preparing)>,
    /// Each check that ran, in order; none when the preparation failed.
    pub checks: Vec<(Check, Preparing)>,
}

impl TryOut<'_> {
    /// Tries all of it on the commit that the person has checked out. `telling` is
    /// called with each command before it runs. Nothing when it was stopped, or
    /// when there is no commit yet.
    ///
    /// # Errors
    /// When git or the sandbox cannot be used.
    pub async fn run(
        &self,
        mut telling: impl FnMut(&str),
        cancel: &CancellationToken,
    ) -> Result<Option<Tried>, AgentError> {
        let head = self
            .repo
            .git()
            .call(["rev-parse", "--verify", "--quiet", "HEAD"]);
        let head = head.accept(&[0, 1]).run(cancel).await?;
        if head.code != 0 {
            return Ok(None);
        }
        let head = CommitSha::new(head.text());
        let trial = self.repo.lay_out(&head, cancel).await?;
        let around = self.surroundings();
        let folder = Folder::open(
            self.repo,
            self.sandbox,
            around.clone(),
            &trial.path,
            self.prepare,
            cancel,
        )
        .await?;
        for command in self.prepare {
            telling(command);
        }
        match folder.make(Network::Host).await? {
            Outcome::Ready => {}
            Outcome::Failed { command, end } => {
                return Ok(Some(Tried {
                    unprepared: Some((command, end)),
                    checks: Vec::new(),
                }));
            }
            Outcome::Stopped => return Ok(None),
        }
        let place = Workplace::open(&trial.path, Vec::new(), around)?;
        let mut checks = Vec::new();
        for check in self.checks {
            telling(&check.command);
            let command = RuntimeCommand::new(&check.command, Network::Loopback);
            match prepare(&place, self.sandbox, &command, cancel).await {
                Some(end) => checks.push((check.clone(), end)),
                None => return Ok(None),
            }
        }
        Ok(Some(Tried {
            unprepared: None,
            checks,
        }))
    }

    fn surroundings(&self) -> Surroundings {
        let root = self.repo.root();
        Surroundings {
            home: self.person_home.clone(),
            hidden: vec![self.home.clone(), root.join(".codebutler/threads")],
            readable: self.repo.git().common_dir().into_iter().collect(),
            cache: Some(Cache::at(
                root.join(".codebutler/cache"),
                self.ca_file.clone(),
            )),
            ..Surroundings::default()
        }
    }
}
