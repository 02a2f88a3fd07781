//! The local forge: pull requests for any git remote, kept on that remote
//! itself, so that every clone sees them and no service is needed. Merging is
//! real git: a squash commit, pushed together with the pull request's new state
//! and the deletion of its branch, all or none.

use butler_vocab::{BranchName, CommitSha, PrNumber, Receipt, Role, fault};
use futures_util::{FutureExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use super::{
    Check, CheckState, Comment, Edit, Forge, NewComment, NewPull, PullRequest, PullState,
    store::{self, Kept, Stored},
};
use crate::{
    Error, Repo, Result, diff, name,
    push::{Pushed, RefChange, jitter},
    squash::Squash,
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
            let all = store::all(&self.repo, cancel).await?;
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

    async fn squash(
        &self,
        number: PrNumber,
        head: &CommitSha,
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let mut delete = true;
        for attempt in 0..ATTEMPTS {
            store::refresh(&self.repo, cancel).await?;
            let kept = store::one(&self.repo, number, cancel).await?;
            let pull = self.live(kept.stored.clone()).await?.pull;
            match &pull.state {
                PullState::Merged { commit } => return Ok(commit.clone()),
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
                PullState::Open => {}
            }
            match self.squash_once(&kept, pull, delete, cancel).await {
                Ok((commit, Pushed::Done)) => return Ok(commit),
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
        pull: PullRequest,
        delete: bool,
        cancel: &CancellationToken,
    ) -> Result<(CommitSha, Pushed)> {
        let base = self.repo.resolve(&self.repo.default_ref()).await?;
        let base = base.ok_or_else(|| Error::Empty {
            branch: pull.base.clone(),
        })?;
        let squash = Squash {
            repo: &self.repo,
            base: &base,
            pull: &pull,
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
            let all = store::all(&self.repo, cancel).await?;
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
                    let comments = &mut stored.pull.comments;
                    if !comments.iter().any(mine) {
                        comments.push(Comment {
                            id: format!("{}", comments.len() + 1),
                            author: comment.author.clone(),
                            body: comment.body.clone(),
                            place: comment.place.clone(),
                            at,
                            key: Some(comment.key.clone()),
                        });
                    }
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
            for kept in store::all(&self.repo, cancel).await?.into_iter().rev() {
                if !open_only || kept.stored.pull.state == PullState::Open {
                    pulls.push(self.live(kept.stored).await?.pull);
                }
            }
            Ok(pulls)
        }
        .boxed()
    }
}
