//! Issues and releases on any git remote: an issue is `issue.json` under
//! `refs/codebutler/issue/<n>` (see `ledger`), a release an annotated tag.

use butler_protocol::{CommitSha, Role, fault};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Issue, IssueNumber, NewIssue, NewRelease, Release, sorted};
use crate::{
    Comment, Error, NewComment, Repo, Result,
    commits::commit::identity,
    forge::LocalForge,
    refs::{
        ledger::{self, Entry},
        push::{Pushed, RefChange, jitter},
    },
};

const ATTEMPTS: u32 = 8;
/// Where the remote's tags are looked at, apart from the person's own.
const TAGS: &str = "refs/codebutler/tags";

/// An issue as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stored {
    #[serde(default)]
    version: u32,
    #[serde(flatten)]
    issue: Issue,
}

impl Entry for Stored {
    const REFS: &'static str = "refs/codebutler/issue";
    const FILE: &'static str = "issue.json";
    const NOUN: &'static str = "issue";

    fn number(&self) -> u64 {
        self.issue.number.0
    }
}

async fn refresh(repo: &Repo, cancel: &CancellationToken) -> Result<()> {
    let spec = format!("+{0}/*:{0}/*", Stored::REFS);
    repo.fetch_refs(&[spec], cancel).await
}

fn outpaced(name: String) -> Error {
    Error::Outpaced {
        name,
        attempts: ATTEMPTS,
    }
}

impl LocalForge {
    pub(crate) async fn open_issue(
        &self,
        new: &NewIssue,
        cancel: &CancellationToken,
    ) -> Result<Issue> {
        let repo = self.repo();
        for attempt in 0..ATTEMPTS {
            refresh(repo, cancel).await?;
            let all = ledger::all::<Stored>(repo, cancel).await?;
            let mine = |issue: &Issue| issue.key.as_deref() == Some(new.key.as_str());
            if let Some(there) = all.iter().find(|kept| mine(&kept.stored.issue)) {
                return Ok(there.stored.issue.clone());
            }
            let number = all.last().map_or(1, |kept| kept.stored.number() + 1);
            let stored = Stored {
                version: 1,
                issue: Issue {
                    number: IssueNumber(number),
                    author: new.author.clone(),
                    title: new.title.clone(),
                    body: new.body.clone(),
                    labels: sorted(new.labels.iter().cloned()),
                    open: true,
                    url: None,
                    comments: Vec::new(),
                    key: Some(new.key.clone()),
                    changed: 0,
                },
            };
            let commit = ledger::write(repo, &stored, None, "opened", cancel).await?;
            match ledger::swap::<Stored>(repo, number, None, &commit, cancel).await? {
                Pushed::Done => return Ok(stored.issue),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(outpaced(new.title.clone()))
    }

    /// Changes an issue: read, change, swap; again if somebody else was faster.
    /// No change, no commit.
    async fn change_issue(
        &self,
        number: IssueNumber,
        what: &str,
        cancel: &CancellationToken,
        change: impl Fn(&mut Issue),
    ) -> Result<Issue> {
        let repo = self.repo();
        for attempt in 0..ATTEMPTS {
            refresh(repo, cancel).await?;
            let kept = ledger::one::<Stored>(repo, number.0, cancel).await?;
            let kept = kept.ok_or(Error::NoIssue { number })?;
            let mut after = kept.stored.clone();
            change(&mut after.issue);
            if after == kept.stored {
                return Ok(after.issue);
            }
            let commit = ledger::write(repo, &after, Some(&kept.at), what, cancel).await?;
            let swapped = ledger::swap::<Stored>(repo, number.0, Some(&kept.at), &commit, cancel);
            match swapped.await? {
                Pushed::Done => return Ok(after.issue),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(outpaced(ledger::ref_of::<Stored>(number.0)))
    }

    /// The annotated tags of the remote.
    pub(crate) async fn releases(&self, cancel: &CancellationToken) -> Result<Vec<Release>> {
        let repo = self.repo();
        let spec = format!("+refs/tags/*:{TAGS}/*");
        repo.fetch_refs(&[spec], cancel).await?;
        let format =
            "%(refname:lstrip=3)%00%(*objectname)%00%(contents:subject)%00%(contents:body)%01";
        let tags = repo
            .git()
            .call(["for-each-ref", "--sort=-creatordate"])
            .arg(format!("--format={format}"))
            .arg(format!("{TAGS}/"))
            .run(cancel)
            .await?;
        let text = String::from_utf8_lossy(&tags.stdout).into_owned();
        let releases = text.split('\u{1}').filter_map(|entry| {
            let mut parts = entry.trim_start_matches('\n').splitn(4, '\0');
            let (tag, commit) = (parts.next()?, parts.next()?);
            let (title, notes) = (parts.next()?, parts.next()?);
            // A light tag points at no tag object: it is a mark, not a release.
            (!commit.is_empty()).then(|| Release {
                tag: tag.to_owned(),
                title: title.to_owned(),
                notes: notes.trim().to_owned(),
                commit: CommitSha::new(commit),
                url: None,
            })
        });
        Ok(releases.collect())
    }

    pub(crate) async fn publish(
        &self,
        new: &NewRelease,
        cancel: &CancellationToken,
    ) -> Result<Release> {
        let repo = self.repo();
        let name = format!("refs/tags/{}", new.tag);
        let git = repo.git();
        let well_formed = git
            .call(["check-ref-format", &name])
            .accept(&[0, 1])
            .run(cancel)
            .await?;
        if well_formed.code != 0 || new.tag.starts_with('-') {
            return Err(refused(&new.tag, "git does not allow this name for a tag"));
        }
        for attempt in 0..ATTEMPTS {
            let there = self.releases(cancel).await?;
            if let Some(release) = there.into_iter().find(|release| release.tag == new.tag) {
                return settle(release, new);
            }
            let (who, mail) = identity(Role::Lead);
            let at = jiff::Timestamp::now().as_second();
            let text = format!(
                "object {}\ntype commit\ntag {}\ntagger {who} <{mail}> {at} +0000\n\n{}\n\n{}\n",
                new.commit,
                new.tag,
                new.title.trim(),
                new.notes.trim()
            );
            let made = git.call(["mktag"]).input(text).run(cancel).await?;
            fault("forge.before-tag");
            let change = RefChange {
                name: &name,
                to: Some(&made.text()),
                lease: Some(""),
            };
            let pushed = repo.push_refs(&[change], cancel).await?;
            fault("forge.after-tag");
            if pushed == Pushed::Behind {
                jitter(attempt, cancel).await?;
            }
        }
        Err(refused(
            &new.tag,
            "a tag of this name is there that is no release",
        ))
    }
}

fn refused(tag: &str, reason: &str) -> Error {
    Error::Refused {
        name: tag.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The release that is there, if it is the one that was meant.
pub(super) fn settle(there: Release, meant: &NewRelease) -> Result<Release> {
    if there.commit == meant.commit {
        return Ok(there);
    }
    let reason = format!(
        "this release is of {}, and tags are not moved",
        there.commit
    );
    Err(refused(&meant.tag, &reason))
}

impl LocalForge {
    pub(crate) async fn issues(
        &self,
        open_only: bool,
        cancel: &CancellationToken,
    ) -> Result<Vec<Issue>> {
        refresh(self.repo(), cancel).await?;
        let all = ledger::all::<Stored>(self.repo(), cancel).await?;
        let issues = all.into_iter().rev().map(|kept| kept.stored.issue);
        Ok(issues.filter(|issue| issue.open || !open_only).collect())
    }

    pub(crate) async fn issue(
        &self,
        number: IssueNumber,
        cancel: &CancellationToken,
    ) -> Result<Issue> {
        self.change_issue(number, "looked at", cancel, |_| {}).await
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn issues_since(&self, _: i64, _: &CancellationToken) -> Result<Vec<Issue>> {
        Ok(Vec::new())
    }

    #[expect(clippy::unused_async, reason = "the other kind asks")]
    pub(crate) async fn labelled(
        &self,
        _: IssueNumber,
        _: &str,
        _: &CancellationToken,
    ) -> Result<Option<(String, u64)>> {
        Ok(None)
    }

    pub(crate) async fn label_issue(
        &self,
        number: IssueNumber,
        labels: &[String],
        cancel: &CancellationToken,
    ) -> Result<Issue> {
        self.change_issue(number, "labelled", cancel, |issue| {
            let old = std::mem::take(&mut issue.labels);
            issue.labels = sorted(old.into_iter().chain(labels.iter().cloned()));
        })
        .await
    }

    pub(crate) async fn comment_issue(
        &self,
        number: IssueNumber,
        comment: &NewComment,
        cancel: &CancellationToken,
    ) -> Result<Comment> {
        let at = jiff::Timestamp::now().as_second();
        let mine = |c: &Comment| c.key.as_deref() == Some(comment.key.as_str());
        let change = |issue: &mut Issue| comment.add_to(&mut issue.comments, at);
        let issue = self
            .change_issue(number, "commented", cancel, change)
            .await?;
        let said = issue.comments.into_iter().find(mine);
        said.ok_or(Error::NoIssue { number })
    }

    pub(crate) async fn close_issue(
        &self,
        number: IssueNumber,
        cancel: &CancellationToken,
    ) -> Result<Issue> {
        self.change_issue(number, "closed", cancel, |issue| issue.open = false)
            .await
    }
}
