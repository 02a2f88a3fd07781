//! Merging by real git: a squash commit, pushed together with the pull request's
//! new state and the deletion of its branch, all or none.

use butler_protocol::{CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        Edit, Merge, PullRequest, PullState,
        store::{self, Kept},
    },
    ATTEMPTS, LocalForge,
};
use crate::{
    Error, Result,
    commits::squash::Squash,
    refs::push::{Pushed, RefChange, jitter},
};

impl LocalForge {
    pub(crate) async fn merge(
        &self,
        wanted: &Merge,
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let (number, head) = (wanted.number, &wanted.head);
        let mut delete = true;
        for attempt in 0..ATTEMPTS {
            store::refresh(&self.repo, cancel).await?;
            let kept = store::one(&self.repo, number, cancel).await?;
            let pull = self.live(kept.stored.clone()).await?.pull;
            match &pull.state {
                PullState::Merged { commit } => {
                    self.retarget(&pull, cancel).await?;
                    return Ok(commit.clone());
                }
                PullState::Closed => {
                    return Err(Error::NotOpen {
                        number,
                        state: "closed",
                    });
                }
                PullState::Open if pull.head != *head => {
                    return Err(Error::HeadMoved {
                        number,
                        expected: head.clone(),
                        actual: pull.head,
                    });
                }
                PullState::Open if self.repo.remote_tip(&pull.branch).await?.is_none() => {
                    return Err(Error::BranchGone {
                        branch: pull.branch,
                    });
                }
                PullState::Open => {}
            }
            match self
                .squash_once(&kept, (&pull, wanted), delete, cancel)
                .await
            {
                Ok((commit, Pushed::Done)) => {
                    self.retarget(&pull, cancel).await?;
                    return Ok(commit);
                }
                Ok((_, Pushed::Behind)) => jitter(attempt, cancel).await?,
                // A remote that forbids deletions can still be merged into.
                Err(Error::Refused { .. }) if delete => delete = false,
                Err(error) => return Err(error),
            }
        }
        Err(Error::Outpaced {
            name: self.repo.default_branch().to_string(),
            attempts: ATTEMPTS,
        })
    }

    async fn squash_once(
        &self,
        kept: &Kept,
        (pull, wanted): (&PullRequest, &Merge),
        delete: bool,
        cancel: &CancellationToken,
    ) -> Result<(CommitSha, Pushed)> {
        let onto = self.repo.tracking_ref(&pull.base);
        let base = self.repo.resolve(&onto).await?;
        let base = base.ok_or_else(|| Error::Empty {
            branch: pull.base.clone(),
        })?;
        let squash = Squash {
            repo: &self.repo,
            base: &base,
            pull,
            message: wanted.message(Some(pull)),
            role: Role::Lead,
        };
        let commit = squash.write(cancel).await?;
        let mut after = kept.stored.clone();
        after.pull.head = pull.head.clone();
        after.pull.state = PullState::Merged {
            commit: commit.clone(),
        };
        let state = store::write(&self.repo, &after, Some(&kept.at), "merged", cancel).await?;
        let names = (
            format!("refs/heads/{}", pull.base),
            store::ref_of(pull.number),
            format!("refs/heads/{}", pull.branch),
        );
        let mut changes = vec![
            RefChange {
                name: &names.0,
                to: Some(commit.as_str()),
                lease: Some(base.as_str()),
            },
            RefChange {
                name: &names.1,
                to: Some(state.as_str()),
                lease: Some(kept.at.as_str()),
            },
        ];
        let tip = self.repo.tracking_ref(&pull.branch);
        if delete && self.repo.resolve(&tip).await?.is_some() {
            changes.push(RefChange {
                name: &names.2,
                to: None,
                lease: Some(pull.head.as_str()),
            });
        }
        fault("forge.before-merge");
        let pushed = self.repo.push_refs(&changes, cancel).await?;
        fault("forge.after-merge");
        Ok((commit, pushed))
    }

    /// What stood on a merged branch stands on what that was merged into.
    async fn retarget(&self, merged: &PullRequest, cancel: &CancellationToken) -> Result<()> {
        let edit = Edit {
            base: Some(merged.base.clone()),
            ..Edit::default()
        };
        let open = self.list(true, cancel).await?;
        for pull in open.iter().filter(|pull| pull.base == merged.branch) {
            self.edit(pull.number, &edit, cancel).await?;
        }
        Ok(())
    }
}
