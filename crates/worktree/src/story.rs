//! The story of a thread kept beside the branches: one file in a commit under
//! `refs/codebutler/journals/<thread>`, here and on the remote.

use butler_vocab::{CommitSha, Role, ThreadId};
use tokio_util::sync::CancellationToken;

use crate::{
    Repo, Result,
    commit::Commit,
    push::{Pushed, RefChange},
    tree,
};

const JOURNALS: &str = "refs/codebutler/journals";
const FILE: &str = "journal.md";

impl Repo {
    /// Keeps the story of a thread. One that is kept already stays as it is.
    ///
    /// # Errors
    /// When git cannot write it, or the remote cannot be reached.
    pub async fn keep_journal(
        &self,
        thread: &ThreadId,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let name = format!("{JOURNALS}/{}", thread.short());
        let commit = match self.resolve(&name).await? {
            Some(commit) => commit,
            None => self.write_journal(&name, thread, text, cancel).await?,
        };
        if self.remote().is_none() {
            return Ok(());
        }
        let change = RefChange {
            name: &name,
            to: Some(commit.as_str()),
            lease: Some(""),
        };
        match self.push_refs(&[change], cancel).await? {
            // From another machine: the first one stays.
            Pushed::Done | Pushed::Behind => Ok(()),
        }
    }

    async fn write_journal(
        &self,
        name: &str,
        thread: &ThreadId,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let git = self.git();
        let commit = Commit {
            tree: &tree::of_one_file(git, FILE, text, cancel).await?,
            parents: &[],
            message: &format!("journal of thread {thread}\n"),
            role: Role::Lead,
        };
        let commit = commit.write(git, cancel).await?;
        // Only if nobody was faster: an empty old value.
        git.call(["update-ref", "--no-deref", name, commit.as_str(), ""])
            .run(cancel)
            .await?;
        Ok(commit)
    }
}
