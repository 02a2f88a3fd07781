//! The local forge: pull requests for any git remote, kept on that remote
//! itself, so that every clone sees them and no service is needed. Merging is
//! real git: a squash commit, pushed together with the pull request's new state
//! and the deletion of its branch, all or none.

mod merge;

use butler_protocol::{BranchName, CommitSha, PrNumber, Receipt};
use futures_util::{FutureExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use super::{
    Check, CheckState, Comment, Edit, Forge, MergeAgain, NewComment, NewPull, PullRequest,
    PullState,
    store::{self, Kept, Stored},
};
use crate::{
    Error, Repo, Result,
    commits::diff,
    refs::push::{Pushed, jitter},
    worktree::name,
};

const ATTEMPTS: u32 = 8;

/// Pull requests as refs on the remote of a clone.
#[derive(Debug, Clone)]
pub struct LocalForge {
    repo: Repo,
}

impl LocalForge {
    /// The forge of a clone's remote.
    ///
    /// # Errors
    /// When the clone has no remote.
    pub fn new(repo: &Repo) -> Result<Self> {
        repo.need_remote()?;
        Ok(Self { repo: repo.clone() })
    }

    pub(crate) fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Puts the checks of a receipt beside the pull request, for the head they
    /// ran on.
    ///
    /// # Errors
    /// When there is no such pull request or the remote cannot be reached.
    pub async fn report(
        &self,
        number: PrNumber,
        head: &CommitSha,
        receipt: &Receipt,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let fresh: Vec<Check> = receipt
            .checks
            .iter()
            .map(|run| Check {
                name: run.name.clone(),
                state: match run.exit_code {
                    Some(0) => CheckState::Passed,
                    _ => CheckState::Failed,
                },
                head: head.clone(),
                url: None,
            })
            .collect();
        let what = "checks";
        self.update(number, what, cancel, |stored| {
            stored
                .checks
                .retain(|old| old.head != *head || fresh.iter().all(|new| new.name != old.name));
            stored.checks.extend(fresh.iter().cloned());
            Ok(())
        })
        .await
        .map(drop)
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

    async fn open(&self, new: &NewPull, cancel: &CancellationToken) -> Result<PullRequest> {
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
                base: self.repo.default_branch().clone(),
                state: PullState::Open,
                url: None,
                comments: Vec::new(),
            },
            checks: Vec::new(),
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

impl Forge for LocalForge {
    fn create<'a>(
        &'a self,
        new: &'a NewPull,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>> {
        self.open(new, cancel).boxed()
    }

    fn find<'a>(
        &'a self,
        branch: &'a BranchName,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<PullRequest>>> {
        async move {
            store::refresh(&self.repo, cancel).await?;
            let all = store::all::<Stored>(&self.repo, cancel).await?;
            match existing(&all, branch, None) {
                Some(kept) => Ok(Some(self.live(kept.stored.clone()).await?.pull)),
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn view<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>> {
        async move {
            store::refresh(&self.repo, cancel).await?;
            let kept = store::one(&self.repo, number, cancel).await?;
            Ok(self.live(kept.stored).await?.pull)
        }
        .boxed()
    }

    fn diff<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<String>> {
        async move {
            let pull = self.view(number, cancel).await?;
            let (from, to) = match &pull.state {
                PullState::Merged { commit } => (format!("{commit}^"), commit.to_string()),
                _ => {
                    let base = self
                        .repo
                        .git()
                        .call(["merge-base", &self.repo.default_ref(), pull.head.as_str()])
                        .run(cancel)
                        .await?;
                    (base.text(), pull.head.to_string())
                }
            };
            diff::between(self.repo.git(), &from, &to, cancel).await
        }
        .boxed()
    }

    fn edit<'a>(
        &'a self,
        number: PrNumber,
        edit: &'a Edit,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>> {
        self.update(number, "edited", cancel, |stored| {
            let pull = &mut stored.pull;
            pull.title = edit.title.clone().unwrap_or_else(|| pull.title.clone());
            pull.body = edit.body.clone().unwrap_or_else(|| pull.body.clone());
            Ok(())
        })
        .boxed()
    }

    fn comment<'a>(
        &'a self,
        number: PrNumber,
        comment: &'a NewComment,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Comment>> {
        async move {
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
        .boxed()
    }

    fn checks<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<Check>>> {
        async move {
            store::refresh(&self.repo, cancel).await?;
            let kept = store::one(&self.repo, number, cancel).await?;
            let stored = self.live(kept.stored).await?;
            let head = stored.pull.head;
            Ok(stored
                .checks
                .into_iter()
                .filter(|c| c.head == head)
                .collect())
        }
        .boxed()
    }

    fn merge<'a>(
        &'a self,
        number: PrNumber,
        head: &'a CommitSha,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CommitSha>> {
        self.squash(number, head, cancel).boxed()
    }

    fn merge_again<'a>(
        &'a self,
        again: &'a MergeAgain,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let merged = self.squash(again.number, &again.head, cancel).await;
            merged.map(drop)
        }
        .boxed()
    }

    fn close<'a>(
        &'a self,
        number: PrNumber,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<PullRequest>> {
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
        .boxed()
    }

    fn list<'a>(
        &'a self,
        open_only: bool,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<PullRequest>>> {
        async move {
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
        .boxed()
    }
}
