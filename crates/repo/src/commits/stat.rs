//! What a commit changes against the default branch, counted: for whoever decides
//! whether it is merged. Looks at commits only, never at a working tree.

use butler_protocol::{CommitSha, ThreadId};
use tokio_util::sync::CancellationToken;

use crate::{Repo, Result, commits::diff};

/// Everything between the default branch and a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, in git's order; a moved file under its new name.
    pub files: Vec<ChangedFile>,
    pub diff: String,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the repository.
    pub path: String,
    /// Lines added and removed; nothing when it is not text.
    pub lines: Option<(u64, u64)>,
}

impl Repo {
    /// What `head` of a thread changes since it left what it stands on: the default
    /// branch as it is on the remote now, or the branch below it.
    /// Fails when the commit cannot be had.
    pub async fn changes_of(
        &self,
        thread: &ThreadId,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Changes> {
        self.fetch(cancel).await?;
        let short = thread.short();
        let left = self.left(self.git(), &short, head.as_str(), cancel).await?;
        // Unrelated histories: all of it is new.
        let from = left.unwrap_or_else(|| self.default_ref());
        let counted = self
            .git()
            .call(["diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv"])
            .args(["--no-renames", "--end-of-options"])
            .args([&from, head.as_str(), "--"])
            .run(cancel)
            .await?;
        let files = counted.fields().filter_map(|field| {
            let text = String::from_utf8_lossy(field).into_owned();
            let mut parts = text.splitn(3, '\t');
            let (added, removed) = (parts.next()?.parse(), parts.next()?.parse());
            Some(ChangedFile {
                path: parts.next()?.to_owned(),
                lines: added.ok().zip(removed.ok()),
            })
        });
        Ok(Changes {
            files: files.collect(),
            diff: diff::between(self.git(), &from, head.as_str(), cancel).await?,
        })
    }

    /// The files in which two commits differ.
    /// Fails when a commit is not here.
    pub async fn differing(
        &self,
        one: &CommitSha,
        other: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>> {
        let named = self
            .git()
            .call(["diff-tree", "-r", "-z", "--name-only", "--no-renames"])
            .args(["--end-of-options", one.as_str(), other.as_str()])
            .run(cancel)
            .await?;
        let names = named.fields().map(String::from_utf8_lossy);
        Ok(names.map(|name| name.into_owned()).collect())
    }
}
