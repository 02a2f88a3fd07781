//! A squash commit, made without any worktree: the merge is computed by
//! `git merge-tree`, and the commit names everybody who worked on it.

use std::path::PathBuf;

use butler_protocol::{CommitSha, Role};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, PullRequest, Repo, Result,
    commits::commit::{identity, with_trailers},
};

/// A pull request about to be squashed onto a commit.
pub(crate) struct Squash<'a> {
    pub repo: &'a Repo,
    pub base: &'a CommitSha,
    pub pull: &'a PullRequest,
    /// Subject and text of the commit.
    pub message: (String, String),
    pub role: Role,
}

impl Squash<'_> {
    /// Writes the commit; no ref moves.
    pub(crate) async fn write(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        let tree = self.tree(cancel).await?;
        let pull = self.pull;
        let mut trailers = vec![
            ("CodeButler-Pull".to_owned(), pull.number.0.to_string()),
            ("CodeButler-Head".to_owned(), pull.head.to_string()),
        ];
        let base = self.base.as_str();
        trailers.extend(trailers_of(self.repo, (base, &pull.head), self.role, cancel).await?);
        let (subject, text) = &self.message;
        let message = format!("{subject}\n\n{text}");
        let message = with_trailers(&message, &trailers);
        let git = self.repo.git();
        git.commit(&tree, &[base], &message, self.role, cancel)
            .await
    }

    async fn tree(&self, cancel: &CancellationToken) -> Result<String> {
        let (base, head) = (self.base.as_str(), self.pull.head.as_str());
        match self.repo.git().merge_tree(base, head, cancel).await? {
            (true, tree, _) => Ok(tree),
            (false, _, files) => Err(Error::Conflict {
                ours: self.pull.branch.to_string(),
                theirs: self.pull.base.to_string(),
                files,
            }),
        }
    }
}

/// What a squash has to keep of the commits that go into it: who asked for them, who
/// signed them off, and who worked on them besides `role`; each once.
pub(crate) async fn trailers_of(
    repo: &Repo,
    (base, head): (&str, &CommitSha),
    role: Role,
    cancel: &CancellationToken,
) -> Result<Vec<(String, String)>> {
    const KEPT: [&str; 3] = ["Requested-by", "Signed-off-by", "Co-authored-by"];
    let range = format!("{base}..{head}");
    let log = repo
        .git()
        .call(["log", "-z", "--reverse", "--format=%an <%ae>%n%B"])
        .args(["--end-of-options", &range, "--"])
        .run(cancel)
        .await?;
    let (name, mail) = identity(role);
    let own = format!("{name} <{mail}>");
    let mut kept: Vec<(String, String)> = Vec::new();
    for entry in log.fields() {
        let text = String::from_utf8_lossy(entry);
        let mut lines = text.lines();
        let author = lines.next().map(|who| ("Co-authored-by", who));
        let said = lines.filter_map(|line| line.split_once(": "));
        for (key, value) in author.into_iter().chain(said) {
            let one = (key.to_owned(), value.trim().to_owned());
            let own = key == "Co-authored-by" && one.1 == own;
            if KEPT.contains(&key) && !own && !kept.contains(&one) {
                kept.push(one);
            }
        }
    }
    // Together by kind, in the order of the kinds.
    kept.sort_by_key(|(key, _)| KEPT.iter().position(|kind| kind == key));
    Ok(kept)
}

/// The files in which two commits do not merge.
pub(crate) async fn conflicts(
    repo: &Repo,
    base: &str,
    head: &str,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>> {
    let (clean, _, files) = repo.git().merge_tree(base, head, cancel).await?;
    Ok(if clean { Vec::new() } else { files })
}
