//! Knowledge without a code pull request: a hidden worktree on the branch
//! `codebutler/knowledge-<id>`, which becomes a small pull request of its own or
//! goes straight to the default branch where the policy says so.

use butler_protocol::{CommitSha, ThreadId};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result, Worktree,
    git::path_of,
    refs::push::{Pushed, RefChange, jitter},
    worktree::name,
};

const ATTEMPTS: u32 = 5;

impl Repo {
    /// The hidden worktree of a thread's knowledge, made if there is none.
    pub async fn knowledge(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
    ) -> Result<Worktree> {
        let branch = name::knowledge_branch(thread);
        let writer = self.writer(&name::lock_name(&branch), cancel).await?;
        self.fetch(cancel).await?;
        self.working(&branch, &writer, cancel).await
    }

    /// Removes the hidden worktree; what is only there is saved first.
    pub async fn remove_knowledge(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let branch = name::knowledge_branch(thread);
        let lock = name::lock_name(&branch);
        let _writer = self.writer(&lock, cancel).await?;
        for entry in self.entries().await? {
            if entry.may_go(|mark| mark == branch.as_str()) {
                self.take_away(&entry, &lock, cancel).await?;
            }
        }
        self.drop_branch(&branch, &lock, cancel).await
    }
}

impl Worktree {
    /// Puts committed knowledge straight onto the default branch, as a
    /// fast-forward. Refuses when anything outside `.codebutler/` was changed.
    /// Fails with [`Error::Refused`] for other files, [`Error::Outpaced`] when others kept being
    /// faster, [`Error::Conflict`] when the rebase does not go through.
    pub async fn land_knowledge(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        let repo = self.repo();
        let default = repo.default_ref();
        let target = format!("refs/heads/{}", repo.default_branch());
        for attempt in 0..ATTEMPTS {
            repo.fetch(cancel).await?;
            {
                let writer = self.writer(cancel).await?;
                self.rebase_on(&default, &writer, cancel).await?;
            }
            let head = self.head().await?;
            self.only_knowledge(&default, cancel).await?;
            let change = RefChange::new(&target, head.as_str(), None);
            match repo.push_refs(&[change], cancel).await? {
                Pushed::Done => return Ok(head),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(Error::outpaced(&target, ATTEMPTS))
    }

    async fn only_knowledge(&self, default: &str, cancel: &CancellationToken) -> Result<()> {
        let listing = self
            .git()
            .call(["diff", "--name-only", "-z", "--no-renames"])
            .args(["--no-ext-diff", "--no-textconv", default, "HEAD", "--"])
            .run(cancel)
            .await?;
        let foreign = listing
            .fields()
            .map(path_of)
            .find(|path| !path.starts_with(".codebutler"));
        match foreign {
            Some(path) => {
                let why = format!("`{}` is not knowledge", path.display());
                Err(Error::refused(self.branch.as_str(), why))
            }
            None => Ok(()),
        }
    }
}
