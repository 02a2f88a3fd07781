//! Things kept on the remote itself: a JSON file in a commit under a ref with a
//! number. Each change is a further commit, pushed only over the one it was made
//! from, so two writers cannot overwrite each other and the whole story can be
//! read back with `git log`.

use butler_protocol::{CommitSha, Role, fault};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Repo, Result,
    commits::{commit::Commit, tree},
    refs::push::{Pushed, RefChange},
};

/// The newest shape that this build reads; a later one would lose what is new in it.
const VERSION: u64 = 1;

/// What can be kept.
pub(crate) trait Entry: Serialize + DeserializeOwned {
    /// The refs are below this.
    const REFS: &'static str;
    /// The file in the commit.
    const FILE: &'static str;
    /// What people call it.
    const NOUN: &'static str;

    /// Its number, which is its ref's too.
    fn number(&self) -> u64;
}

/// A kept thing and the commit that holds it.
#[derive(Debug, Clone)]
pub(crate) struct Kept<E> {
    pub stored: E,
    pub at: CommitSha,
}

/// The ref of the thing with this number.
pub(crate) fn ref_of<E: Entry>(number: u64) -> String {
    format!("{}/{number}", E::REFS)
}

/// Every thing as last fetched, by number. One that cannot be read is skipped
/// with a word in the log: it must not take the others down.
pub(crate) async fn all<E: Entry>(repo: &Repo, cancel: &CancellationToken) -> Result<Vec<Kept<E>>> {
    let refs = repo
        .git()
        .call(["for-each-ref", "--format=%(objectname) %(refname)"])
        .arg(format!("{}/", E::REFS))
        .run(cancel)
        .await?;
    let mut kept: Vec<Kept<E>> = Vec::new();
    for line in refs.lines() {
        let Some((commit, name)) = line.split_once(' ') else {
            continue;
        };
        match read::<E>(repo, commit, cancel).await {
            Ok(stored) if ref_of::<E>(stored.number()) == name => kept.push(Kept {
                stored,
                at: CommitSha::new(commit),
            }),
            Ok(_) => tracing::warn!(name, "a {} under another one's number is ignored", E::NOUN),
            Err(error @ Error::Unreadable { .. }) => {
                tracing::warn!(name, %error, "a {} cannot be read", E::NOUN);
            }
            Err(error) => return Err(error),
        }
    }
    kept.sort_by_key(|kept| kept.stored.number());
    Ok(kept)
}

/// One thing as last fetched, if it is there.
pub(crate) async fn one<E: Entry>(
    repo: &Repo,
    number: u64,
    cancel: &CancellationToken,
) -> Result<Option<Kept<E>>> {
    let Some(at) = repo.resolve(&ref_of::<E>(number)).await? else {
        return Ok(None);
    };
    let stored = read(repo, at.as_str(), cancel).await?;
    Ok(Some(Kept { stored, at }))
}

async fn read<E: Entry>(repo: &Repo, commit: &str, cancel: &CancellationToken) -> Result<E> {
    let blob = repo
        .git()
        .call(["cat-file", "blob", &format!("{commit}:{}", E::FILE)])
        .accept(&[0, 128])
        .run(cancel)
        .await?;
    let kept: Value = serde_json::from_slice(&blob.stdout).map_err(|_| blob.unreadable())?;
    if kept["version"].as_u64() > Some(VERSION) {
        return Err(Error::Unreadable {
            command: E::FILE.to_owned(),
            answer: "it was written by a newer codebutler; use the newer one".to_owned(),
        });
    }
    serde_json::from_value(kept).map_err(|_| blob.unreadable())
}

/// Writes a new state as a commit on top of the old one; no ref moves.
pub(crate) async fn write<E: Entry>(
    repo: &Repo,
    stored: &E,
    before: Option<&CommitSha>,
    what: &str,
    cancel: &CancellationToken,
) -> Result<CommitSha> {
    let git = repo.git();
    let json = serde_json::to_vec_pretty(stored).map_err(|error| Error::Unreadable {
        command: ref_of::<E>(stored.number()),
        answer: error.to_string(),
    })?;
    let tree = tree::of_one_file(git, E::FILE, json, cancel).await?;
    let parents: Vec<&str> = before.into_iter().map(CommitSha::as_str).collect();
    let commit = Commit {
        tree: &tree,
        parents: &parents,
        message: &format!("{} #{}: {what}\n", E::NOUN, stored.number()),
        role: Role::Lead,
    };
    commit.write(git, cancel).await
}

/// Moves a ref, provided that it still stands at `before`.
pub(crate) async fn swap<E: Entry>(
    repo: &Repo,
    number: u64,
    before: Option<&CommitSha>,
    after: &CommitSha,
    cancel: &CancellationToken,
) -> Result<Pushed> {
    let name = ref_of::<E>(number);
    fault("forge.before-swap");
    let change = RefChange {
        name: &name,
        to: Some(after.as_str()),
        lease: Some(before.map_or("", CommitSha::as_str)),
    };
    let pushed = repo.push_refs(&[change], cancel).await?;
    fault("forge.after-swap");
    Ok(pushed)
}
