//! Where the local forge keeps a pull request: `pr.json` in a commit under
//! `refs/codebutler/pr/<n>` on the remote. Each change is a further commit,
//! pushed only over the one it was made from, so two writers cannot overwrite
//! each other and the whole story can be read back with `git log`.

use butler_vocab::{CommitSha, PrNumber, Role, fault};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Check, PullRequest};
use crate::{
    Error, Repo, Result,
    commit::Commit,
    push::{Pushed, RefChange},
};

const PULLS: &str = "refs/codebutler/pr";

/// A pull request as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The shape of this file, for later builds.
    #[serde(default)]
    pub version: u32,
    #[serde(flatten)]
    pub pull: PullRequest,
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// A kept pull request and the commit that holds it.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub stored: Stored,
    pub at: CommitSha,
}

/// The ref of a pull request.
pub(super) fn ref_of(number: PrNumber) -> String {
    format!("{PULLS}/{}", number.0)
}

/// Fetches the pull requests and the branches they are about.
pub(super) async fn refresh(repo: &Repo, cancel: &CancellationToken) -> Result<()> {
    let remote = repo.need_remote()?;
    let default = repo.default_branch();
    let specs = [
        format!("+{PULLS}/*:{PULLS}/*"),
        format!("+refs/heads/{default}:{}", repo.default_ref()),
        format!(
            "+refs/heads/codebutler/*:refs/remotes/{}/codebutler/*",
            remote.name
        ),
    ];
    repo.fetch_refs(&specs, cancel).await
}

/// Every pull request as last fetched, by number. One that cannot be read is
/// skipped with a word in the log: it must not take the others down.
pub(super) async fn all(repo: &Repo, cancel: &CancellationToken) -> Result<Vec<Kept>> {
    let refs = repo
        .git()
        .call(["for-each-ref", "--format=%(objectname) %(refname)"])
        .arg(format!("{PULLS}/"))
        .run(cancel)
        .await?;
    let mut kept = Vec::new();
    for line in refs.lines() {
        let Some((commit, name)) = line.split_once(' ') else {
            continue;
        };
        match read(repo, commit, cancel).await {
            Ok(stored) if ref_of(stored.pull.number) == name => kept.push(Kept {
                stored,
                at: CommitSha::new(commit),
            }),
            Ok(_) => tracing::warn!(name, "a pull request under another one's number is ignored"),
            Err(error @ Error::Unreadable { .. }) => {
                tracing::warn!(name, %error, "a pull request cannot be read");
            }
            Err(error) => return Err(error),
        }
    }
    kept.sort_by_key(|k| k.stored.pull.number);
    Ok(kept)
}

/// One pull request as last fetched.
pub(super) async fn one(repo: &Repo, number: PrNumber, cancel: &CancellationToken) -> Result<Kept> {
    let at = repo.resolve(&ref_of(number)).await?;
    let at = at.ok_or(Error::NoPull { number })?;
    let stored = read(repo, at.as_str(), cancel).await?;
    Ok(Kept { stored, at })
}

async fn read(repo: &Repo, commit: &str, cancel: &CancellationToken) -> Result<Stored> {
    let blob = repo
        .git()
        .call(["cat-file", "blob", &format!("{commit}:pr.json")])
        .accept(&[0, 128])
        .run(cancel)
        .await?;
    serde_json::from_slice(&blob.stdout).map_err(|_| blob.unreadable())
}

/// Writes a new state as a commit on top of the old one; no ref moves.
pub(super) async fn write(
    repo: &Repo,
    stored: &Stored,
    before: Option<&CommitSha>,
    what: &str,
    cancel: &CancellationToken,
) -> Result<CommitSha> {
    let git = repo.git();
    let json = serde_json::to_vec_pretty(stored).map_err(|error| Error::Unreadable {
        command: ref_of(stored.pull.number),
        answer: error.to_string(),
    })?;
    let blob = git
        .call(["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"])
        .input(json)
        .run(cancel)
        .await?;
    let entry = format!("100644 blob {}\tpr.json\0", blob.text());
    let tree = git.call(["mktree", "-z"]).input(entry).run(cancel).await?;
    let parents: Vec<&str> = before.into_iter().map(CommitSha::as_str).collect();
    let commit = Commit {
        tree: &tree.text(),
        parents: &parents,
        message: &format!("pull request {}: {what}\n", stored.pull.number),
        role: Role::Lead,
    };
    commit.write(git, cancel).await
}

/// Moves the ref of a pull request, provided that it still stands at `before`.
pub(super) async fn swap(
    repo: &Repo,
    number: PrNumber,
    before: Option<&CommitSha>,
    after: &CommitSha,
    cancel: &CancellationToken,
) -> Result<Pushed> {
    let name = ref_of(number);
    fault("forge.before-swap");
    let pushed = repo
        .push_refs(
            &[RefChange {
                name: &name,
                to: Some(after.as_str()),
                lease: Some(before.map_or("", CommitSha::as_str)),
            }],
            cancel,
        )
        .await?;
    fault("forge.after-swap");
    Ok(pushed)
}
