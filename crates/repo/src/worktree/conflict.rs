//! A conflict with the default branch, laid out so that somebody without git can
//! settle it: the default branch is merged into the working files, marks and all,
//! and the next commit has both as parents. Git's own merge state is not used: in
//! it a crash, a stop and a rebase would each need their own way out.

use std::{fs, path::PathBuf};

use butler_protocol::{CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Result, Worktree,
    commits::{commit::by, tree},
};

/// Its file in the worktree's own git folder; it goes with the worktree.
const MARK: &str = "codebutler-merging";

impl Worktree {
    /// Merges the default branch of the remote into the working files. Gives the
    /// files with conflict marks; none when the two go together by themselves, and
    /// then nothing was changed. Work that was not committed yet is committed
    /// first. A repeat gives the same files and changes nothing.
    /// Fails when the remote cannot be reached or git fails.
    pub async fn merge_default(&self, cancel: &CancellationToken) -> Result<Vec<PathBuf>> {
        let repo = self.repo();
        repo.fetch(cancel).await?;
        if let Some(theirs) = self.merging().await? {
            return Ok(self.lay(&theirs, cancel).await?.1);
        }
        let Some(theirs) = repo.resolve(&repo.default_ref()).await? else {
            return Ok(Vec::new());
        };
        let (laid, files) = self.lay(&theirs, cancel).await?;
        if files.is_empty() {
            return Ok(files);
        }
        let working = tree::working_tree(self.git(), cancel).await?;
        // Equal when a run before this one died before it could write the mark.
        if working != laid {
            let message = "work before the default branch is merged in";
            self.commit_all(Role::Coder, message, &[], cancel).await?;
            let (laid, files) = self.lay(&theirs, cancel).await?;
            let writer = self.writer(cancel).await?;
            // Commits leave the index without the times of the files.
            self.git()
                .call(["update-index", "-q", "--refresh"])
                .accept(&[0, 1])
                .holding(&writer)
                .run(cancel)
                .await?;
            fault("repo.before-settle");
            self.git()
                .call(["read-tree", "-m", "-u", "HEAD", &laid])
                .holding(&writer)
                .run(cancel)
                .await?;
            fault("repo.after-settle");
            self.mark(&theirs)?;
            return Ok(files);
        }
        self.mark(&theirs)?;
        Ok(files)
    }

    /// The commit that is being merged in, until a commit of this branch has it.
    pub(crate) async fn merging(&self) -> Result<Option<CommitSha>> {
        let Ok(text) = fs::read_to_string(self.git().git_dir()?.join(MARK)) else {
            return Ok(None);
        };
        let theirs = CommitSha::new(text.trim());
        let cancel = CancellationToken::new();
        let inside = self.git().is_ancestor(theirs.as_str(), "HEAD", &cancel);
        if inside.await? {
            // The commit was made, and its maker died before it could say so.
            self.settled()?;
            return Ok(None);
        }
        Ok(Some(theirs))
    }

    /// The merge is committed, or there is none.
    pub(crate) fn settled(&self) -> Result<()> {
        let mark = self.git().git_dir()?.join(MARK);
        match fs::remove_file(&mark) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file(&mark)(error))
            }
            _ => Ok(()),
        }
    }

    /// Files of the merge that still have conflict marks.
    pub async fn unsettled(&self, cancel: &CancellationToken) -> Result<Vec<PathBuf>> {
        let Some(theirs) = self.merging().await? else {
            return Ok(Vec::new());
        };
        let mut files = self.lay(&theirs, cancel).await?.1;
        files.retain(|file| {
            let path = self.path.join(file);
            let plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            plain && fs::read(&path).is_ok_and(|bytes| has_marks(&bytes))
        });
        Ok(files)
    }

    fn mark(&self, theirs: &CommitSha) -> Result<()> {
        let mark = self.git().git_dir()?.join(MARK);
        fs::write(&mark, theirs.as_str()).map_err(Error::file(&mark))
    }

    /// Both sides as one tree, and the files that have marks in it.
    async fn lay(
        &self,
        theirs: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<(String, Vec<PathBuf>)> {
        let theirs = self.as_seen_from_here(theirs, cancel).await?;
        let (_, tree, mut files) = self.git().merge_tree("HEAD", &theirs, cancel).await?;
        files.sort();
        files.dedup();
        Ok((tree, files))
    }

    /// The same files as a commit on what this branch stood on: what is merged of that
    /// is then in nobody's way. Without such a branch it is `theirs`.
    async fn as_seen_from_here(
        &self,
        theirs: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<String> {
        let Some(below) = self.stacked(cancel).await? else {
            return Ok(theirs.to_string());
        };
        let tree = format!("{theirs}^{{tree}}");
        let call = self
            .git()
            .call(["commit-tree", "--no-gpg-sign", &tree])
            .args(["-p", below.at.as_str(), "-m", "the default branch"])
            // The same name at every look: it stands in the marks.
            .variable("GIT_AUTHOR_DATE", "@0 +0000")
            .variable("GIT_COMMITTER_DATE", "@0 +0000");
        Ok(by(call, Role::Coder).run(cancel).await?.text())
    }
}

/// Whether a line begins or ends a conflict.
fn has_marks(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}
