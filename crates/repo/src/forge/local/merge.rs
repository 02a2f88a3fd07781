//! Merging by real git: a squash commit, pushed together with the pull request's
//! new state and the deletion of its branch, all or none.

use butler_protocol::{CommitSha, Role, fault};

use super::{
    super::{Edit, Merge, PullRequest, PullState},
    ATTEMPTS, LocalForge,
    ledger::ref_of,
};
use crate::{
    Error, Result,
    commits::squash::Squash,
    refs::push::{Pushed, RefChange, jitter},
};

impl LocalForge {
    pub(crate) async fn merge(&self, wanted: &Merge) -> Result<CommitSha> {
        let (number, head) = (wanted.number, &wanted.head);
        let mut delete = true;
        for attempt in 0..ATTEMPTS {
            let kept = self.one::<PullRequest>(number.0).await?;
            let pull = kept.entry;
            match &pull.state {
                PullState::Merged { commit } => {
                    self.retarget(&pull).await?;
                    return Ok(commit.clone());
                }
                _ => pull.stands_at(head)?,
            }
            if self.repo.remote_tip(&pull.branch).await?.is_none() {
                let branch = pull.branch;
                return Err(Error::BranchGone { branch });
            }
            match self.squash_once(&kept.at, &pull, wanted, delete).await {
                Ok((commit, Pushed::Done)) => {
                    self.retarget(&pull).await?;
                    return Ok(commit);
                }
                Ok((_, Pushed::Behind)) => jitter(attempt, &self.cancel).await?,
                // A remote that forbids deletions can still be merged into.
                Err(Error::Refused { .. }) if delete => delete = false,
                Err(error) => return Err(error),
            }
        }
        Err(Error::outpaced(self.repo.default_branch(), ATTEMPTS))
    }

    async fn squash_once(
        &self,
        at: &CommitSha,
        pull: &PullRequest,
        wanted: &Merge,
        delete: bool,
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
        let commit = squash.write(&self.cancel).await?;
        let mut after = pull.clone();
        after.state = PullState::Merged {
            commit: commit.clone(),
        };
        let state = self.write(&after, Some(at), "merged").await?;
        let names = (
            format!("refs/heads/{}", pull.base),
            ref_of::<PullRequest>(pull.number.0),
            format!("refs/heads/{}", pull.branch),
        );
        let mut changes = vec![
            RefChange::new(&names.0, commit.as_str(), Some(base.as_str())),
            RefChange::new(&names.1, state.as_str(), Some(at.as_str())),
        ];
        let tip = self.repo.tracking_ref(&pull.branch);
        if delete && self.repo.resolve(&tip).await?.is_some() {
            changes.push(RefChange::gone(&names.2, pull.head.as_str()));
        }
        fault("forge.before-merge");
        let pushed = self.repo.push_refs(&changes, &self.cancel).await?;
        fault("forge.after-merge");
        Ok((commit, pushed))
    }

    /// What stood on a merged branch stands on what that was merged into.
    async fn retarget(&self, merged: &PullRequest) -> Result<()> {
        let edit = Edit {
            base: Some(merged.base.clone()),
            ..Edit::default()
        };
        let open = self.list(true).await?;
        for pull in open.iter().filter(|pull| pull.base == merged.branch) {
            self.edit(pull.number, &edit).await?;
        }
        Ok(())
    }
}
