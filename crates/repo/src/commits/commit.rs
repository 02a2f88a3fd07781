//! Commits by the team: every working file, the role as author, and a key by
//! which a repeat after a crash finds the commit it already made.
//!
//! Built from plumbing (`write-tree`, `commit-tree`, `update-ref`): no hook, no
//! editor, no signing program, and the person's own index and identity play no part.

use butler_protocol::{CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Git, Result, Worktree,
    commits::{lfs, tree},
    lock::FileLock,
    worktree::{name, reconcile::move_stale_lock, status::unfinished},
};

/// The trailer that makes a commit repeatable: give it the id of the step.
pub const KEY_TRAILER: &str = "CodeButler-Key";

impl Worktree {
    /// Commits every working file (tracked, and new but not ignored). Nothing
    /// to commit gives nothing. With a [`KEY_TRAILER`] among the trailers, a
    /// repeat gives the commit that already carries that key.
    /// Fails when a rebase or merge is unfinished here, a file belongs to Git LFS, or git fails.
    pub async fn commit_all(
        &self,
        role: Role,
        message: &str,
        trailers: &[(String, String)],
        cancel: &CancellationToken,
    ) -> Result<Option<CommitSha>> {
        let writer = self.writer(cancel).await?;
        move_stale_lock(&self.git().git_dir()?);
        self.stand_aside(cancel).await?;
        if let Some(operation) = unfinished(&self.git().git_dir()?) {
            return Err(Error::Unfinished {
                operation,
                path: self.path.clone(),
            });
        }
        if let Some((_, key)) = trailers.iter().find(|(name, _)| name == KEY_TRAILER)
            && let Some(mine) = self.with_key(key, cancel).await?
        {
            self.repair_index(&writer, cancel).await?;
            return Ok(Some(mine));
        }
        let head = self.head().await?;
        let tree = tree::working_tree(self.git(), cancel).await?;
        let head_tree = self.git().tree_of(head.as_str(), cancel).await?;
        let merging = self.merging().await?;
        if tree == head_tree && merging.is_none() {
            self.repair_index(&writer, cancel).await?;
            return Ok(None);
        }
        lfs::refuse_raw(self.git(), head.as_str(), &tree, cancel).await?;
        let mut trailers = trailers.to_vec();
        trailers.extend(self.repo().sign_off(role, cancel).await?);
        let text = with_trailers(message, &trailers);
        // A conflict that was settled: both sides are where it comes from.
        let mut parents = vec![head.as_str()];
        parents.extend(merging.as_ref().map(CommitSha::as_str));
        let made = self.git().commit(&tree, &parents, &text, role, cancel);
        let made = made.await?;
        fault("repo.before-commit");
        self.git()
            .call(["update-ref", "-m", "codebutler: commit", "HEAD"])
            .args([made.as_str(), head.as_str()])
            .holding(&writer)
            .run(cancel)
            .await?;
        fault("repo.after-commit");
        self.settled()?;
        self.repair_index(&writer, cancel).await?;
        Ok(Some(made))
    }

    /// Brings the index to the commit. A crash between the two leaves it at the
    /// commit before; anything else that is only staged is saved first.
    async fn repair_index(&self, writer: &FileLock, cancel: &CancellationToken) -> Result<()> {
        let git = self.git();
        let index = git
            .call(["write-tree"])
            .accept(&[0, 128])
            .run(cancel)
            .await?
            .text();
        let known = git
            .call([
                "log",
                "--format=%T",
                "--max-count=2",
                "--first-parent",
                "HEAD",
            ])
            .run(cancel)
            .await?;
        let known: Vec<String> = known.lines().collect();
        if known.first() == Some(&index) {
            return Ok(());
        }
        if !known.contains(&index) {
            let why = "staged files that differ from the working files";
            self.repo()
                .save_state(git, &name::lock_name(&self.branch), why, cancel)
                .await?;
        }
        git.call(["read-tree", "--reset", "HEAD"])
            .holding(writer)
            .run(cancel)
            .await
            .map(drop)
    }

    /// The commit of this branch that carries a key.
    async fn with_key(&self, key: &str, cancel: &CancellationToken) -> Result<Option<CommitSha>> {
        let log = self
            .git()
            .call(["log", "--format=%H%n%B", "-z", "--max-count=1000", "HEAD"])
            .args(["--not", &self.repo().default_ref(), "--"])
            .run(cancel)
            .await?;
        let wanted = format!("{KEY_TRAILER}: {}", one_line(key));
        Ok(log.fields().find_map(|entry| {
            let text = String::from_utf8_lossy(entry);
            let (sha, body) = text.split_once('\n')?;
            body.lines()
                .any(|line| line == wanted)
                .then(|| CommitSha::new(sha))
        }))
    }
}

impl Git {
    /// Writes a commit object; no ref moves.
    pub(crate) async fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        role: Role,
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let call = self.call(["commit-tree", "--no-gpg-sign", tree]);
        let call = call.args(parents).input(message);
        Ok(CommitSha::new(by(call, role).run(cancel).await?.text()))
    }
}

/// Sets author and committer to a role.
pub(crate) fn by(call: crate::Call<'_>, role: Role) -> crate::Call<'_> {
    let (name, mail) = identity(role);
    call.variable("GIT_AUTHOR_NAME", &name)
        .variable("GIT_AUTHOR_EMAIL", &mail)
        .variable("GIT_COMMITTER_NAME", &name)
        .variable("GIT_COMMITTER_EMAIL", &mail)
}

/// The name and address that a role commits under; the address leads nowhere.
pub(crate) fn identity(role: Role) -> (String, String) {
    (
        format!("CodeButler {role}"),
        format!("{role}@codebutler.invalid"),
    )
}

/// A message with its trailers as the last paragraph.
pub(crate) fn with_trailers(message: &str, trailers: &[(String, String)]) -> String {
    let mut text = message.trim().replace('\0', "");
    if text.is_empty() {
        text = "work in progress".to_owned();
    }
    text.push('\n');
    if !trailers.is_empty() {
        text.push('\n');
    }
    for (name, value) in trailers {
        text.push_str(&format!("{}: {}\n", one_line(name), one_line(value)));
    }
    text
}

/// A trailer is one line, whatever was put into it.
fn one_line(text: &str) -> String {
    text.replace('\0', "")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_one_line_each_in_a_last_paragraph() {
        let trailers = [
            ("A".to_owned(), "x\ny".to_owned()),
            ("B".into(), "z".into()),
        ];
        assert_eq!(
            with_trailers("title\n\nbody\n\n", &trailers),
            "title\n\nbody\n\nA: x y\nB: z\n"
        );
        assert_eq!(with_trailers("", &[]), "work in progress\n");
    }
}
