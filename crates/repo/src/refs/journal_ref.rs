//! The story of a thread kept beside the branches: one file in a commit under
//! `refs/codebutler/journals/<thread>`, here and on the remote.

use butler_protocol::{CommitSha, Role, ThreadId};
use tokio_util::sync::CancellationToken;

use crate::{
    Repo, Result,
    commits::tree,
    refs::push::{Pushed, RefChange},
};

const JOURNALS: &str = "refs/codebutler/journals";
const FILE: &str = "journal.md";

impl Repo {
    /// Keeps the story of a thread, as it is by now; earlier ones are its history.
    /// Fails when git cannot write it, or the remote cannot be reached.
    pub async fn keep_journal(
        &self,
        thread: &ThreadId,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let name = format!("{JOURNALS}/{}", thread.short());
        let before = self.resolve(&name).await?;
        let commit = self
            .write_journal(&name, before.as_ref(), thread, text, cancel)
            .await?;
        if self.remote().is_none() {
            return Ok(());
        }
        // What the remote has is what we had; or nothing yet, when it was away.
        let had = before.as_ref().map(CommitSha::as_str);
        for lease in had.into_iter().chain([""]) {
            let change = RefChange::new(&name, commit.as_str(), Some(lease));
            if matches!(self.push_refs(&[change], cancel).await?, Pushed::Done) {
                break;
            }
        }
        // Otherwise it is from another machine, and stays.
        Ok(())
    }

    async fn write_journal(
        &self,
        name: &str,
        before: Option<&CommitSha>,
        thread: &ThreadId,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let git = self.git();
        let tree = tree::of_one_file(git, FILE, text, cancel).await?;
        if let Some(before) = before
            && git.tree_of(before.as_str(), cancel).await? == tree
        {
            return Ok(before.clone());
        }
        let parents: Vec<&str> = before.iter().map(|before| before.as_str()).collect();
        let message = format!("journal of thread {thread}\n");
        let commit = git.commit(&tree, &parents, &message, Role::Lead, cancel);
        let commit = commit.await?;
        // Only if nobody was faster; an empty old value means that there was none.
        let old = before.map_or("", CommitSha::as_str);
        git.call(["update-ref", "--no-deref", name, commit.as_str(), old])
            .run(cancel)
            .await?;
        Ok(commit)
    }
}
