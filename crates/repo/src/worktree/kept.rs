//! The work of a thread that no commit holds yet, kept beside its branch: one commit under
//! `refs/codebutler/work/<id>`, made whenever the work rests. If the folder is gone by the
//! next time, deleted by hand or by a crash, the worktree that is made then has these files.
//! Nothing of it is on the branch, so that files of a moment never get into the change;
//! ignored files are not kept.

use butler_protocol::{BranchName, CommitSha, Role, ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Git, Repo, Result, Worktree,
    commits::tree,
    lock::FileLock,
    refs::push::{Pushed, RefChange},
    repo::resolve,
    worktree::name,
};

const WORK: &str = "refs/codebutler/work";
/// What the remote has of it, as far as this clone knows.
const SHARED: &str = "refs/codebutler/shared-work";

impl Worktree {
    /// Keeps the working files as they are now. Where the commit holds all of them,
    /// nothing needs to be kept any more.
    pub async fn keep_work(&self, role: Role, cancel: &CancellationToken) -> Result<()> {
        let git = self.git();
        let (head, tree) = (self.head().await?, tree::working_tree(git, cancel).await?);
        let committed = git.call(["rev-parse", &format!("{head}^{{tree}}")]);
        if committed.run(cancel).await?.text() == tree {
            return self.repo().forget_work(self.short(), cancel).await;
        }
        let name = format!("{WORK}/{}", self.short());
        if held(git, &name, cancel).await? == Some((tree.clone(), head.clone())) {
            return Ok(());
        }
        let parents = [head.as_str()];
        let commit = git.commit(&tree, &parents, "work so far\n", role, cancel);
        let commit = commit.await?;
        fault("repo.before-keep");
        git.call(["update-ref", "-m", "codebutler: work so far", &name])
            .arg(commit.as_str())
            .run(cancel)
            .await?;
        fault("repo.after-keep");
        Ok(())
    }
}

impl Worktree {
    /// Brings what is kept to the remote, for a clone elsewhere that goes on with it. One
    /// that has gone on already is not overwritten.
    pub async fn share_work(&self, cancel: &CancellationToken) -> Result<()> {
        let repo = self.repo();
        if repo.remote().is_none() {
            return Ok(());
        }
        let (name, known) = (
            format!("{WORK}/{}", self.short()),
            format!("{SHARED}/{}", self.short()),
        );
        let (kept, shared) = (repo.resolve(&name).await?, repo.resolve(&known).await?);
        if kept == shared {
            return Ok(());
        }
        let change = RefChange {
            name: &name,
            to: kept.as_ref().map(CommitSha::as_str),
            lease: Some(shared.as_ref().map_or("", CommitSha::as_str)),
        };
        fault("repo.before-share");
        let pushed = repo.push_refs(&[change], cancel).await?;
        fault("repo.after-share");
        if pushed == Pushed::Behind {
            tracing::warn!(work = %name, "another clone went on with it; what is here stays here");
            return Ok(());
        }
        let note = match &kept {
            Some(kept) => repo.git().call(["update-ref", &known, kept.as_str()]),
            None => repo.git().call(["update-ref", "-d", &known]),
        };
        note.run(cancel).await?;
        Ok(())
    }
}

impl Repo {
    /// Makes room for a thread that another clone has worked on: its branch and what was
    /// kept beside it are those of the remote. What is only here is saved.
    /// Fails when somebody works in it here, or the remote cannot be reached.
    pub async fn bring_work(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<()> {
        self.remove(thread, cancel).await?;
        if self.remote().is_none() {
            return Ok(());
        }
        let short = thread.short();
        // As a pattern, because there may be none.
        let spec = format!("+{WORK}/{short}*:{SHARED}/{short}*");
        self.fetch_refs(&[spec], cancel).await?;
        if let Some(theirs) = self.resolve(&format!("{SHARED}/{short}")).await? {
            let name = format!("{WORK}/{short}");
            let take = self.git().call(["update-ref", &name, theirs.as_str()]);
            take.run(cancel).await?;
        }
        Ok(())
    }

    /// Nothing is kept of a thread any more.
    pub(crate) async fn forget_work(&self, short: &str, cancel: &CancellationToken) -> Result<()> {
        let name = format!("{WORK}/{short}");
        if self.resolve(&name).await?.is_some() {
            let delete = self.git().call(["update-ref", "-d", &name]);
            delete.run(cancel).await?;
        }
        Ok(())
    }

    /// What is kept of a thread becomes a saved state, which nothing writes over.
    pub(crate) async fn save_work(
        &self,
        short: &str,
        why: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        if let Some(kept) = self.resolve(&format!("{WORK}/{short}")).await? {
            self.save_commit(&kept, short, why, cancel).await?;
        }
        Ok(())
    }

    /// Lays what was kept over the files of a worktree that was just made, provided that
    /// its branch is where it was.
    pub(crate) async fn put_back_work(
        &self,
        branch: &BranchName,
        git: &Git,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let short = name::lock_name(branch);
        let name = format!("{WORK}/{short}");
        let Some((tree, parent)) = held(self.git(), &name, cancel).await? else {
            return Ok(());
        };
        if resolve(git, "HEAD").await? != Some(parent) {
            tracing::warn!(%branch, "the branch has moved since its work was kept; it is saved, and not laid over the branch");
            // The next rest keeps other files under that name.
            return self.save_work(&short, "the branch had moved", cancel).await;
        }
        // The files first, then the index: they are changes that nobody has committed.
        for args in [&["--reset", "-u", &tree][..], &["--reset", "HEAD"]] {
            git.call(["read-tree"])
                .args(args)
                .holding(writer)
                .run(cancel)
                .await?;
        }
        tracing::info!(%branch, "the work that was kept is back");
        Ok(())
    }
}

/// The tree that a ref keeps, and the commit that it was made on.
async fn held(
    git: &Git,
    name: &str,
    cancel: &CancellationToken,
) -> Result<Option<(String, CommitSha)>> {
    let shown = git
        .call(["for-each-ref", "--format=%(tree) %(parent)", name])
        .run(cancel)
        .await?;
    let shown = shown.text();
    let parts = shown.split_once(' ');
    Ok(parts.map(|(tree, parent)| (tree.to_owned(), CommitSha::new(parent.trim()))))
}
