//! The local forge: pull requests for any git remote, kept on that remote
//! itself, so that every clone sees them and no service is needed. Merging is
//! real git: a squash commit, pushed together with the pull request's new state
//! and the deletion of its branch, all or none.

mod merge;

use std::{collections::BTreeMap, path::PathBuf};

use butler_protocol::{BranchName, CommitSha, PrNumber};
use tokio_util::sync::CancellationToken;

use super::{
    Check, Comment, Edit, Merge, NewComment, NewPull, PullNow, PullRequest, PullState, Reviewers,
    store::{self, Kept, Stored},
};
use crate::{
    Error, Repo, Result,
    commits::{diff, squash},
    refs::push::{Pushed, jitter},
    worktree::name,
};

const ATTEMPTS: u32 = 8;

/// Pull requests as refs on the remote of a clone.
#[derive(Debug, Clone)]
pub(crate) struct LocalForge {
    repo: Repo,
}

impl LocalForge {
    /// The forge of a clone's remote.
    ///
    /// # Errors
    /// When the clone has no remote.
    pub(crate) fn new(repo: &Repo) -> Result<Self> {
        repo.need_remote()?;
        Ok(Self { repo: repo.clone() })
    }

    pub(crate) fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Changes a pull request: read, change, swap; again if somebody else was
    /// faster. No change, no commit.
    async fn update(
        &self,
        number: PrNumber,
        what: &str,
        cancel: &CancellationToken,
        change: impl Fn(&mut Stored) -> Result<()>,
    ) -> Result<PullRequest> {
        for attempt in 0..ATTEMPTS {
            store::refresh(&self.repo, cancel).await?;
            let kept = store::one(&self.repo, number, cancel).await?;
            let before = self.live(kept.stored.clone()).await?;
            let mut after = before.clone();
            change(&mut after)?;
            if after == before {
                return Ok(after.pull);
            }
            let commit = store::write(&self.repo, &after, Some(&kept.at), what, cancel).await?;
            match store::swap(&self.repo, number, Some(&kept.at), &commit, cancel).await? {
                Pushed::Done => return Ok(after.pull),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(Error::Outpaced {
            name: store::ref_of(number),
            attempts: ATTEMPTS,
        })
    }

    /// An open pull request shows the tip of its branch as last fetched.
    async fn live(&self, mut stored: Stored) -> Result<Stored> {
        if stored.pull.state == PullState::Open {
            let tip = self.repo.tracking_ref(&stored.pull.branch);
            if let Some(head) = self.repo.resolve(&tip).await? {
                stored.pull.head = head;
            }
        }
        Ok(stored)
    }

    pub(crate) async fn create(
        &self,
        new: &NewPull,
        cancel: &CancellationToken,
    ) -> Result<PullRequest> {
        if !name::is_ours(&new.branch) {
            return Err(Error::NotOurs {
                branch: new.branch.clone(),
            });
        }
        for attempt in 0..ATTEMPTS {
            store::refresh(&self.repo, cancel).await?;
            let all = store::all::<Stored>(&self.repo, cancel).await?;
            let head = self
                .repo
                .resolve(&self.repo.tracking_ref(&new.branch))
                .await?;
            if let Some(there) = existing(&all, &new.branch, head.as_ref()) {
                return Ok(self.live(there.stored.clone()).await?.pull);
            }
            let head = head.ok_or_else(|| Error::NotPushed {
                branch: new.branch.clone(),
            })?;
            let number = all.last().map_or(1, |kept| kept.stored.pull.number.0 + 1);
            let stored = self.fresh(PrNumber(number), new, head);
            let commit = store::write(&self.repo, &stored, None, "opened", cancel).await?;
            match store::swap(&self.repo, PrNumber(number), None, &commit, cancel).await? {
                Pushed::Done => return Ok(stored.pull),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(Error::Outpaced {
            name: new.branch.to_string(),
            attempts: ATTEMPTS,
        })
    }

    fn fresh(&self, number: PrNumber, new: &NewPull, head: CommitSha) -> Stored {
        Stored {
            version: 1,
            pull: PullRequest {
                number,
                title: new.title.clone(),
                body: new.body.clone(),
                branch: new.branch.clone(),
                head,
                base: new
                    .base
                    .clone()
                    .unwrap_or_else(|| self.repo.default_branch().clone()),
                state: PullState::Open,
                url: None,
                // A bare remote shows nobody a draft.
                draft: false,
                comments: Vec::new(),
            },
        }
    }
}

/// The pull request that a repeated create means: the open one of the branch,
/// or one that was merged or closed at this very head (or whose branch is gone).
fn existing<'a>(
    all: &'a [Kept],
    branch: &BranchName,
    head: Option<&CommitSha>,
) -> Option<&'a Kept> {
    let mine = || all.iter().rev().filter(|k| k.stored.pull.branch == *branch);
    mine()
        .find(|kept| kept.stored.pull.state == PullState::Open)
        .or_else(|| {
            mine()
                .next()
                .filter(|k| head.is_none_or(|h| k.stored.pull.head == *h))
        })
}

impl LocalForge {
    pub(crate) async fn find(
        &self,
        branch: &BranchName,
        cancel: &CancellationToken,
    ) -> Result<Option<PullRequest>> {
        store::refresh(&self.repo, cancel).await?;
        let all = store::all::<Stored>(&self.repo, cancel).await?;
        match existing(&all, branch, None) {
            Some(kept) => Ok(Some(self.live(kept.stored.clone()).await?.pull)),
            None => Ok(None),
        }
    }

    pub(crate) async fn view(
        &self,
        number: PrNumber,
        cancel: &CancellationToken,
    ) -> Result<PullRequest> {
        store::refresh(&self.repo, cancel).await?;
        let kept = store::one(&self.repo, number, cancel).await?;
        Ok(self.live(kept.stored).await?.pull)
    }

    pub(crate) async fn diff(
        &self,
        number: PrNumber,
        cancel: &CancellationToken,
    ) -> Result<String> {
        let pull = self.view(number, cancel).await?;
        let (from, to) = match &pull.state {
            PullState::Merged { commit } => (format!("{commit}^"), commit.to_string()),
            _ => {
                let base = self.repo.left_at(&pull.branch, &pull.head, cancel).await?;
                let base = base.unwrap_or_else(|| self.repo.default_ref());
                (base, pull.head.to_string())
            }
        };
        diff::between(self.repo.git(), &from, &to, cancel).await
    }

    pub(crate) async fn edit(
        &self,
        number: PrNumber,
        edit: &Edit,
        cancel: &CancellationToken,
    ) -> Result<PullRequest> {
        self.update(number, "edited", cancel, |stored| {
            let pull = &mut stored.pull;
            pull.title = edit.title.clone().unwrap_or_else(|| pull.title.clone());
            pull.body = edit.body.clone().unwrap_or_else(|| pull.body.clone());
            pull.base = edit.base.clone().unwrap_or_else(|| pull.base.clone());
            Ok(())
        })
        .await
    }

    pub(crate) async fn comment(
        &self,
        number: PrNumber,
        comment: &NewComment,
        cancel: &CancellationToken,
    ) -> Result<Comment> {
        let at = jiff::Timestamp::now().as_second();
        let mine = |c: &Comment| c.key.as_deref() == Some(comment.key.as_str());
        let pull = self
            .update(number, "commented", cancel, |stored| {
                comment.add_to(&mut stored.pull.comments, at);
                Ok(())
            })
            .await?;
        pull.comments
            .into_iter()
            .find(mine)
            .ok_or(Error::NoPull { number })
    }

    /// Nothing runs checks on a bare remote; what ours said is in the receipt.
    pub(crate) async fn checks(
        &self,
        number: PrNumber,
        cancel: &CancellationToken,
    ) -> Result<Vec<Check>> {
        self.view(number, cancel).await?;
        Ok(Vec::new())
    }

    /// Whoever reaches a bare remote pushes to it; nobody speaks there but us.
    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn glance(
        &self,
        _watched: &[PrNumber],
        _cancel: &CancellationToken,
    ) -> Result<Option<BTreeMap<PrNumber, String>>> {
        Ok(None)
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn look(
        &self,
        _numbers: &[PrNumber],
        _cancel: &CancellationToken,
    ) -> Result<Vec<PullNow>> {
        Ok(Vec::new())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn set_status(
        &self,
        _head: &CommitSha,
        _green: bool,
        _said: &str,
        _cancel: &CancellationToken,
    ) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn may_write(
        &self,
        _login: &str,
        _cancel: &CancellationToken,
    ) -> Result<bool> {
        Ok(false)
    }

    pub(crate) async fn conflict_files(
        &self,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Vec<PathBuf>> {
        let base = self.repo.default_ref();
        squash::conflicts(&self.repo, &base, head.as_str(), cancel).await
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn check_log(&self, _job: u64, _cancel: &CancellationToken) -> Result<String> {
        Ok(String::new())
    }

    /// There is one list of comments.
    pub(crate) async fn reply(
        &self,
        number: PrNumber,
        _to: &str,
        comment: &NewComment,
        cancel: &CancellationToken,
    ) -> Result<Comment> {
        self.comment(number, comment, cancel).await
    }

    pub(crate) async fn merge_again(
        &self,
        wanted: &Merge,
        cancel: &CancellationToken,
    ) -> Result<()> {
        self.merge(wanted, cancel).await.map(drop)
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn ready(&self, _number: PrNumber, _cancel: &CancellationToken) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn label(
        &self,
        _number: PrNumber,
        _labels: &[String],
        _cancel: &CancellationToken,
    ) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn owners(
        &self,
        _files: &[String],
        _cancel: &CancellationToken,
    ) -> Result<Reviewers> {
        Ok(Reviewers::default())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn ask_reviews(
        &self,
        _number: PrNumber,
        _reviewers: &Reviewers,
        _cancel: &CancellationToken,
    ) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn close(
        &self,
        number: PrNumber,
        cancel: &CancellationToken,
    ) -> Result<PullRequest> {
        self.update(number, "closed", cancel, move |stored| {
            match stored.pull.state {
                PullState::Merged { .. } => Err(Error::NotOpen {
                    number,
                    state: "merged",
                }),
                _ => {
                    stored.pull.state = PullState::Closed;
                    Ok(())
                }
            }
        })
        .await
    }

    pub(crate) async fn list(
        &self,
        open_only: bool,
        cancel: &CancellationToken,
    ) -> Result<Vec<PullRequest>> {
        store::refresh(&self.repo, cancel).await?;
        let mut pulls = Vec::new();
        for kept in store::all::<Stored>(&self.repo, cancel)
            .await?
            .into_iter()
            .rev()
        {
            if !open_only || kept.stored.pull.state == PullState::Open {
                pulls.push(self.live(kept.stored).await?.pull);
            }
        }
        Ok(pulls)
    }
}
