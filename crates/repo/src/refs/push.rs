//! Sync with the remote: push, and when somebody was faster, fetch, rebase and
//! push again. History stays linear and nothing is overwritten: a push is only
//! ever a fast-forward of what we have seen.

use std::{path::PathBuf, time::Duration};

use butler_protocol::{BranchName, CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Result, Worktree,
    commits::commit::by,
    git::path_of,
    lock::FileLock,
    worktree::{name, status},
};

const ATTEMPTS: u32 = 5;

/// How a push of one ref ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is there now (or was already).
    Done,
    /// Somebody was faster.
    Behind,
}

impl Worktree {
    /// Pushes the branch; rebases on what others pushed meanwhile. Gives the
    /// commit that is now on the remote. Without a remote, that is just the head.
    /// Fails with [`Error::Conflict`] when the rebase does not go through (nothing is changed
    /// then), [`Error::Dirty`] when a rebase is needed and files are uncommitted,
    /// [`Error::Outpaced`] when others kept being faster.
    pub async fn push(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        let writer = self.writer(cancel).await?;
        if self.repo().remote().is_none() {
            return self.head().await;
        }
        self.not_deleted(cancel).await?;
        for attempt in 0..ATTEMPTS {
            let head = self.head().await?;
            if self.push_once(&head, None, cancel).await? == Pushed::Done {
                return Ok(head);
            }
            jitter(attempt, cancel).await?;
            self.fetch_own(cancel).await?;
            let theirs = self.repo().tracking_ref(&self.branch);
            let Some(tip) = self.repo().resolve(&theirs).await? else {
                continue;
            };
            if self.was_rebased_from(&tip, cancel).await? {
                // A rebase on the default branch was killed before its push.
                let why = "before a rebase";
                self.repo()
                    .save_commit(&tip, self.short(), why, cancel)
                    .await?;
                let head = self.head().await?;
                let lease = Some(tip.as_str());
                if self.push_once(&head, lease, cancel).await? == Pushed::Done {
                    return Ok(head);
                }
                continue;
            }
            self.rebase_on(&theirs, &writer, cancel).await?;
        }
        Err(Error::outpaced(&self.branch, ATTEMPTS))
    }

    /// Puts our work on top of what others pushed to this branch, as last fetched.
    /// Whether there was anything.
    /// Fails as for [`Worktree::push`]; nothing is changed then.
    pub async fn take_over(&self, cancel: &CancellationToken) -> Result<bool> {
        let theirs = self.repo().tracking_ref(&self.branch);
        let Some(tip) = self.repo().resolve(&theirs).await? else {
            return Ok(false);
        };
        let known = self.git().is_ancestor(tip.as_str(), "HEAD", cancel).await?;
        if known || self.was_rebased_from(&tip, cancel).await? {
            return Ok(false);
        }
        let writer = self.writer(cancel).await?;
        self.rebase_on(&theirs, &writer, cancel).await?;
        Ok(true)
    }

    /// A branch that was on the remote and is gone was deleted by somebody, who
    /// meant it: it is not put there again.
    async fn not_deleted(&self, cancel: &CancellationToken) -> Result<()> {
        if !self.pushed_mark()?.exists() {
            return Ok(());
        }
        let remote = self.repo().need_remote()?;
        let target = format!("refs/heads/{}", self.branch);
        let there = self
            .repo()
            .git()
            .call(["ls-remote", "--exit-code", "--end-of-options"])
            .args([&remote.name, &target])
            .remote()
            .accept(&[0, 2])
            .run(cancel)
            .await?;
        if there.code == 2 {
            return Err(Error::BranchGone {
                branch: self.branch.clone(),
            });
        }
        Ok(())
    }

    /// Says that this worktree's branch has been on the remote. It goes with the
    /// worktree.
    fn pushed_mark(&self) -> Result<PathBuf> {
        Ok(self.git().git_dir()?.join("codebutler-pushed"))
    }

    /// Puts a new branch on the remote. If another machine was faster, and we
    /// have done nothing yet, its branch is taken over.
    pub(crate) async fn publish(
        &self,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        if self.repo().remote().is_none() {
            return Ok(());
        }
        let theirs = self.repo().tracking_ref(&self.branch);
        if self.repo().resolve(&theirs).await?.is_some() {
            return Ok(());
        }
        let head = self.head().await?;
        if self.push_once(&head, Some(""), cancel).await? == Pushed::Done {
            return Ok(());
        }
        self.fetch_own(cancel).await?;
        let own = self
            .git()
            .call(["rev-list", "--count", "HEAD", "--not"])
            .args([&self.repo().default_ref(), &theirs])
            .run(cancel)
            .await?;
        if own.text() == "0" {
            self.stand_aside(cancel).await?;
            self.git()
                .call(["read-tree", "-m", "-u", "HEAD", &theirs])
                .holding(writer)
                .run(cancel)
                .await?;
            self.git()
                .call([
                    "update-ref",
                    "-m",
                    "codebutler: taken over",
                    "HEAD",
                    &theirs,
                ])
                .holding(writer)
                .run(cancel)
                .await?;
        }
        Ok(())
    }

    /// Rebases this branch on the fetched default branch and pushes the result,
    /// by force but only over what we have seen. The old tip is saved first.
    pub async fn rebase_on_default(&self, cancel: &CancellationToken) -> Result<CommitSha> {
        if !name::is_ours(&self.branch) {
            return Err(Error::NotOurs {
                branch: self.branch.clone(),
            });
        }
        self.push(cancel).await?;
        let repo = self.repo();
        repo.fetch(cancel).await?;
        let writer = self.writer(cancel).await?;
        let before = self.head().await?;
        let below = self.stacked(cancel).await?;
        let onto = repo.default_ref();
        let from = below.as_ref().map(|below| below.at.as_str());
        self.rebase_from(from, &onto, &writer, cancel).await?;
        let head = self.head().await?;
        if head == before || repo.remote().is_none() {
            return Ok(head);
        }
        repo.save_commit(&before, self.short(), "before a rebase", cancel)
            .await?;
        match self.push_once(&head, Some(before.as_str()), cancel).await? {
            Pushed::Done => Ok(head),
            Pushed::Behind => Err(Error::outpaced(&self.branch, 1)),
        }
    }

    /// Whether our head is the remote tip's work on a newer default branch:
    /// every patch that is there is also here. Only then may it be replaced.
    async fn was_rebased_from(&self, tip: &CommitSha, cancel: &CancellationToken) -> Result<bool> {
        let git = self.git();
        let default = self.repo().default_ref();
        let ours = git.merge_base(&default, "HEAD", cancel).await?;
        let left = self.repo().left(git, self.short(), tip.as_str(), cancel);
        let theirs = left.await?.unwrap_or_default();
        if ours.is_empty() || theirs.is_empty() || ours == theirs || !name::is_ours(&self.branch) {
            return Ok(false);
        }
        // It stood on another branch that was squashed, or on an older default branch.
        let stack = self.repo().stack_of(self.short()).await?;
        let newer = stack.is_some_and(|stack| stack.at.as_str() == theirs)
            || git.is_ancestor(&theirs, &ours, cancel).await?;
        // One commit per line; `+` marks a patch that we do not have.
        let patches = git
            .call(["cherry", "HEAD", tip.as_str(), &theirs])
            .run(cancel)
            .await?;
        Ok(newer && patches.lines().all(|line| line.starts_with('-')))
    }

    /// Fetches this branch alone.
    async fn fetch_own(&self, cancel: &CancellationToken) -> Result<()> {
        let theirs = self.repo().tracking_ref(&self.branch);
        let spec = format!("+refs/heads/{}:{theirs}", self.branch);
        self.repo().fetch_refs(&[spec], cancel).await
    }

    /// One push. With a lease the remote branch must stand exactly there
    /// (empty: must not exist).
    async fn push_once(
        &self,
        head: &CommitSha,
        lease: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Pushed> {
        let target = format!("refs/heads/{}", self.branch);
        let change = RefChange::new(&target, head.as_str(), lease);
        fault("repo.before-push");
        let pushed = self.repo().push_refs(&[change], cancel).await?;
        fault("repo.after-push");
        if pushed == Pushed::Done {
            let mark = self.pushed_mark()?;
            std::fs::write(&mark, head.as_str()).map_err(Error::file(&mark))?;
            let theirs = self.repo().tracking_ref(&self.branch);
            self.git()
                .call(["update-ref", &theirs, head.as_str()])
                .run(cancel)
                .await?;
        }
        Ok(pushed)
    }

    /// Rebases on another line of work, or leaves everything as it was.
    pub(crate) async fn rebase_on(
        &self,
        onto: &str,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        self.rebase_from(None, onto, writer, cancel).await
    }

    /// The same with only the commits after `from`.
    async fn rebase_from(
        &self,
        from: Option<&str>,
        onto: &str,
        writer: &FileLock,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let git_dir = self.git().git_dir()?;
        self.stand_aside(cancel).await?;
        if let Some(operation) = status::unfinished(&git_dir) {
            return Err(Error::Unfinished {
                operation,
                path: self.path.clone(),
            });
        }
        let tracked = |change: &status::Change| change.code != "??";
        if status::changes(self.git(), cancel)
            .await?
            .iter()
            .any(tracked)
        {
            return Err(Error::Dirty {
                path: self.path.clone(),
            });
        }
        self.repo().bring(self.git(), &[onto], cancel).await?;
        let before = self.head().await?;
        let left = self.leave_branch(cancel).await?;
        let call = self
            .git()
            .call(["rebase", "--quiet", "--no-verify", "--no-autostash"])
            .args(["--no-gpg-sign", "--no-update-refs", "--empty=drop"])
            .args(from.map(|_| format!("--onto={onto}")))
            .args(["--end-of-options", from.unwrap_or(onto)])
            .holding(writer);
        fault("repo.before-rebase");
        let outcome = by(call, Role::Coder).run(cancel).await;
        fault("repo.after-rebase");
        let Err(error) = outcome else {
            return self.come_back(left, &before).await;
        };
        if status::unfinished(&git_dir).is_none() {
            self.come_back(left, &before).await?;
            return Err(error);
        }
        // Also when we were stopped in the middle: nobody may find it half done.
        let files = self.in_conflict().await?;
        self.git()
            .call(["rebase", "--abort"])
            .holding(writer)
            .finish()
            .await?;
        self.come_back(left, &before).await?;
        match error {
            Error::Failed { .. } => Err(Error::Conflict {
                ours: self.branch.to_string(),
                theirs: onto.to_owned(),
                files,
            }),
            other => Err(other),
        }
    }

    async fn in_conflict(&self) -> Result<Vec<PathBuf>> {
        let output = self
            .git()
            .call(["diff", "--name-only", "-z", "--diff-filter=U"])
            .args(["--no-ext-diff", "--no-textconv"])
            .finish()
            .await?;
        Ok(output.fields().map(path_of).collect())
    }
}

/// One ref to be moved on the remote.
#[derive(Debug)]
pub(crate) struct RefChange<'a> {
    pub name: &'a str,
    /// Where to; nothing deletes it.
    pub to: Option<&'a str>,
    /// Where it must stand now; empty: it must not exist.
    pub lease: Option<&'a str>,
}

impl<'a> RefChange<'a> {
    pub(crate) fn new(name: &'a str, to: &'a str, lease: Option<&'a str>) -> Self {
        let to = Some(to);
        Self { name, to, lease }
    }

    /// Deletes it from where it stands.
    pub(crate) fn gone(name: &'a str, at: &'a str) -> Self {
        let (to, lease) = (None, Some(at));
        Self { name, to, lease }
    }
}

impl crate::Repo {
    /// Moves refs on the remote, all or none. Each change is a fast-forward or
    /// carries the value it replaces.
    pub(crate) async fn push_refs(
        &self,
        changes: &[RefChange<'_>],
        cancel: &CancellationToken,
    ) -> Result<Pushed> {
        let remote = self.need_remote()?;
        let mut call = self
            .git()
            .call(["push", "--quiet", "--porcelain", "--no-verify"])
            .args(["--no-follow-tags", "--no-signed"]);
        if changes.len() > 1 {
            call = call.arg("--atomic");
        }
        for change in changes {
            if let Some(lease) = change.lease {
                call = call.arg(format!("--force-with-lease={}:{lease}", change.name));
            }
        }
        let specs = changes
            .iter()
            .map(|change| format!("{}:{}", change.to.unwrap_or_default(), change.name));
        let output = call
            .args(["--end-of-options", &remote.name])
            .args(specs)
            .remote()
            .accept(&[0, 1])
            .run(cancel)
            .await?;
        verdict(&output)
    }
}

/// Git's words for "not from where you thought it stood".
const OUTRUN: &[&str] = &[
    "(fetch first)",
    "(non-fast-forward)",
    "(stale info)",
    "atomic",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value",
    "reference already exists",
];

/// What a remote says that has a branch where we need a folder of branches.
const IN_THE_WAY: &str = "'refs/heads/codebutler' exists";

/// Reads `push --porcelain`: one line per ref, flag, refs, summary and reason.
fn verdict(output: &crate::Output) -> Result<Pushed> {
    let text = output.text();
    let rejected: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.strip_prefix('!')?.trim_start().split('\t');
            Some((fields.next()?, fields.next().unwrap_or_default()))
        })
        .collect();
    if let Some((refs, _)) = rejected.first()
        && (output.stderr.contains(IN_THE_WAY) || text.contains(IN_THE_WAY))
    {
        let branch = BranchName::new(refs.rsplit("refs/heads/").next().unwrap_or(refs));
        return Err(Error::InTheWay { branch });
    }
    // "atomic": fell only because another ref of the same push did.
    let outrun = |why: &str| OUTRUN.iter().any(|sign| why.contains(sign));
    match rejected.iter().find(|(_, why)| !outrun(why)) {
        Some((refs, why)) => {
            let why = format!("{why} {}", output.stderr);
            Err(Error::refused(*refs, why.trim()))
        }
        None if !rejected.is_empty() => Ok(Pushed::Behind),
        None if output.code == 0 => Ok(Pushed::Done),
        None => Err(output.unreadable()),
    }
}

/// Full jitter that grows with the attempts, from the clock's finest digits:
/// it only has to differ between processes.
pub(crate) async fn jitter(attempt: u32, cancel: &CancellationToken) -> Result<()> {
    let ceiling = 20u64 << attempt.min(6);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| u64::from(d.subsec_nanos()));
    let mixed = (now ^ u64::from(std::process::id())).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(mixed % ceiling)) => Ok(()),
        () = cancel.cancelled() => Err(Error::Cancelled { what: "a retry".into() }),
    }
}
