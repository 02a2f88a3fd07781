//! The work of a thread that no commit holds yet, kept beside its branch: one commit under
//! `refs/codebutler/work/<id>`, made whenever the work rests. If the folder is gone by the
//! next time, deleted by hand or by a crash, the worktree that is made then has these files.
//! Nothing of it is on the branch, so that files of a moment never get into the change;
//! ignored files are not kept.

use butler_protocol::{BranchName, CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Git, Repo, Result, Worktree,
    commits::{commit::Commit, tree},
    lock::FileLock,
    repo::resolve,
    worktree::name,
};

const WORK: &str = "refs/codebutler/work";

impl Worktree {
    /// Keeps the working files as they are now. Where the commit holds all of them,
    /// nothing needs to be kept any more.
    ///
    /// # Errors
    /// When git fails.
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
        let commit = Commit {
            tree: &tree,
            parents: &[head.as_str()],
            message: "work so far\n",
            role,
        };
        let commit = commit.write(git, cancel).await?;
        fault("repo.before-keep");
        git.call(["update-ref", "-m", "codebutler: work so far", &name])
            .arg(commit.as_str())
            .run(cancel)
            .await?;
        fault("repo.after-keep");
        Ok(())
    }
}

impl Repo {
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
