//! Where the local forge keeps a pull request: `pr.json` in a commit under
//! `refs/codebutler/pr/<n>` on the remote (see `ledger`).

use butler_protocol::{CommitSha, PrNumber};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::PullRequest;
use crate::{
    Error, Repo, Result,
    refs::{
        ledger::{self, Entry},
        push::Pushed,
    },
};

pub(super) use crate::refs::ledger::{all, write};

/// A pull request as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The shape of this file, for later builds.
    #[serde(default)]
    pub version: u32,
    #[serde(flatten)]
    pub pull: PullRequest,
}

impl Entry for Stored {
    const REFS: &'static str = "refs/codebutler/pr";
    const FILE: &'static str = "pr.json";
    const NOUN: &'static str = "pull request";

    fn number(&self) -> u64 {
        self.pull.number.0
    }
}

/// A kept pull request and the commit that holds it.
pub(super) type Kept = ledger::Kept<Stored>;

/// The ref of a pull request.
pub(super) fn ref_of(number: PrNumber) -> String {
    ledger::ref_of::<Stored>(number.0)
}

/// Fetches the pull requests and the branches they are about.
pub(super) async fn refresh(repo: &Repo, cancel: &CancellationToken) -> Result<()> {
    let remote = repo.need_remote()?;
    let default = repo.default_branch();
    let specs = [
        format!("+{0}/*:{0}/*", Stored::REFS),
        format!("+refs/heads/{default}:{}", repo.default_ref()),
        format!(
            "+refs/heads/codebutler/*:refs/remotes/{}/codebutler/*",
            remote.name
        ),
    ];
    repo.fetch_refs(&specs, cancel).await
}

/// One pull request as last fetched.
pub(super) async fn one(repo: &Repo, number: PrNumber, cancel: &CancellationToken) -> Result<Kept> {
    let kept = ledger::one(repo, number.0, cancel).await?;
    kept.ok_or(Error::NoPull { number })
}

/// Moves the ref of a pull request, provided that it still stands at `before`.
pub(super) async fn swap(
    repo: &Repo,
    number: PrNumber,
    before: Option<&CommitSha>,
    after: &CommitSha,
    cancel: &CancellationToken,
) -> Result<Pushed> {
    ledger::swap::<Stored>(repo, number.0, before, after, cancel).await
}
