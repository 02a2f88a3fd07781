//! Saved refs: before anything forceful, whatever is only here is kept as one
//! commit under `refs/codebutler/saved/<name>/<n>`.
//!
//! The commit's tree is the working files; its parents are everything that could
//! otherwise become unreachable: the checked-out commit, the staged files, and
//! where an interrupted rebase began.

use std::{fs, path::Path};

use butler_protocol::{CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use crate::{Git, Repo, Result, commits::tree, repo::resolve, worktree::status};

pub(crate) const SAVED: &str = "refs/codebutler/saved";

/// One saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// `refs/codebutler/saved/<name>/<n>`.
    pub name: String,
    pub commit: CommitSha,
}

impl Repo {
    /// What was saved under a name (a thread's short id, `_base`), oldest first.
    pub async fn saved(&self, name: &str, cancel: &CancellationToken) -> Result<Vec<Saved>> {
        let refs = self
            .git()
            .refs(&[format!("{SAVED}/{name}/")], cancel)
            .await?;
        let saved = refs
            .into_iter()
            .map(|(commit, name)| Saved { name, commit });
        let mut saved: Vec<Saved> = saved.collect();
        saved.sort_by_key(|s| number(&s.name));
        Ok(saved)
    }

    /// Saves the state of a worktree if any of it is only there.
    pub(crate) async fn save_state(
        &self,
        git: &Git,
        name: &str,
        why: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Saved>> {
        let git_dir = git.git_dir()?;
        let changed = !status::changes(git, cancel).await?.is_empty();
        let begun = rebase_start(&git_dir);
        let head = resolve(git, "HEAD").await?;
        let mut parents: Vec<CommitSha> = head.into_iter().chain(begun).collect();
        let mut alone = Vec::new();
        for parent in &parents {
            if !self.is_kept(parent, cancel).await? {
                alone.push(parent.clone());
            }
        }
        if !changed && alone.is_empty() {
            return Ok(None);
        }
        if let Some(staged) = staged(git, parents.first(), cancel).await? {
            parents.push(staged);
        }
        parents.dedup();
        let tree = tree::working_tree(git, cancel).await?;
        self.keep(name, why, &tree, &parents, cancel)
            .await
            .map(Some)
    }

    /// Saves a commit under a name if no branch or remote has it.
    pub(crate) async fn save_commit(
        &self,
        commit: &CommitSha,
        name: &str,
        why: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Saved>> {
        let tree = self.git().tree_of(commit.as_str(), cancel).await?;
        let parents = [commit.clone()];
        self.keep(name, why, &tree, &parents, cancel)
            .await
            .map(Some)
    }

    /// Writes the saved commit under the next free number, unless the newest
    /// one already holds the same.
    async fn keep(
        &self,
        name: &str,
        why: &str,
        tree: &str,
        parents: &[CommitSha],
        cancel: &CancellationToken,
    ) -> Result<Saved> {
        let shas: Vec<&str> = parents.iter().map(CommitSha::as_str).collect();
        let before = self.saved(name, cancel).await?;
        if let Some(newest) = before.last() {
            let held = self
                .git()
                .call([
                    "show",
                    "--no-patch",
                    "--format=%T %P",
                    newest.commit.as_str(),
                ])
                .run(cancel)
                .await?;
            if held.text() == format!("{tree} {}", shas.join(" ")).trim_end() {
                return Ok(newest.clone());
            }
        }
        let message = format!("saved: {why}\n");
        let commit = self.git().commit(tree, &shas, &message, Role::Pm, cancel);
        let commit = commit.await?;
        let next = before.last().map_or(0, |saved| number(&saved.name)) + 1;
        let name = format!("{SAVED}/{name}/{next}");
        fault("repo.before-save");
        self.git()
            .call(["update-ref", "--create-reflog", "-m", why, &name])
            .args([commit.as_str(), ""])
            .run(cancel)
            .await?;
        fault("repo.after-save");
        tracing::info!(saved = %name, why, "kept work that was only here");
        Ok(Saved { name, commit })
    }

    /// Whether a commit is on the remote as last fetched, or already saved.
    pub(crate) async fn is_kept(
        &self,
        commit: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<bool> {
        let refs = match self.remote() {
            Some(remote) => format!("refs/remotes/{}/", remote.name),
            None => self.default_ref(),
        };
        let holders = self
            .git()
            .call(["for-each-ref", "--count=1", "--format=%(refname)"])
            .args(["--contains", commit.as_str(), &refs, SAVED])
            .run(cancel)
            .await?;
        Ok(!holders.text().is_empty())
    }
}

pub(crate) fn number(name: &str) -> u64 {
    name.rsplit('/')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// Where an interrupted rebase began.
pub(crate) fn rebase_start(git_dir: &Path) -> Option<CommitSha> {
    ["rebase-merge/orig-head", "rebase-apply/orig-head"]
        .iter()
        .find_map(|file| fs::read_to_string(git_dir.join(file)).ok())
        .map(|text| CommitSha::new(text.trim()))
}

/// The staged files as a commit, when they differ from the checked-out ones.
async fn staged(
    git: &Git,
    head: Option<&CommitSha>,
    cancel: &CancellationToken,
) -> Result<Option<CommitSha>> {
    // An index in the middle of a conflict has no tree; its files are saved.
    let tree = git
        .call(["write-tree"])
        .accept(&[0, 128])
        .run(cancel)
        .await?;
    if tree.code != 0 {
        return Ok(None);
    }
    let parents: Vec<&str> = head.into_iter().map(CommitSha::as_str).collect();
    if let Some(head) = head
        && git.tree_of(head.as_str(), cancel).await? == tree.text()
    {
        return Ok(None);
    }
    let (tree, message) = (tree.text(), "saved: staged files\n");
    let commit = git.commit(&tree, &parents, message, Role::Pm, cancel);
    commit.await.map(Some)
}

/// The number of the newest one under a name; 0 when there is none.
pub(crate) async fn newest(git: &Git, name: &str, cancel: &CancellationToken) -> Result<u64> {
    let refs = git.refs(&[format!("{SAVED}/{name}/")], cancel).await?;
    let numbers = refs.iter().map(|(_, name)| number(name));
    Ok(numbers.max().unwrap_or(0))
}
