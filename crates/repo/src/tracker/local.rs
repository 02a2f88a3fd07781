//! Issues and releases on any git remote: an issue is `issue.json` under
//! `refs/codebutler/issue/<n>` (see `ledger`), a release an annotated tag.

use butler_protocol::{CommitSha, Role, fault};

use super::{Issue, IssueNumber, NewIssue, NewRelease, Release, sorted};
use crate::{
    Comment, Error, NewComment, Result,
    commits::commit::identity,
    forge::local::{
        ATTEMPTS, LocalForge,
        ledger::{self, Entry},
    },
    refs::push::{Pushed, RefChange, jitter},
};

/// Where the remote's tags are looked at, apart from the person's own.
const TAGS: &str = "refs/codebutler/tags";

impl Entry for Issue {
    const REFS: &'static str = "refs/codebutler/issue";
    const FILE: &'static str = "issue.json";
    const NOUN: &'static str = "issue";

    fn number(&self) -> u64 {
        self.number.0
    }

    fn missing(number: u64) -> Error {
        let number = IssueNumber(number);
        Error::NoIssue { number }
    }
}

impl LocalForge {
    pub(crate) async fn open_issue(&self, new: &NewIssue) -> Result<Issue> {
        for attempt in 0..ATTEMPTS {
            let all = self.all::<Issue>().await?;
            let number = IssueNumber(ledger::next(&all));
            let mut there = all.into_iter().map(|kept| kept.entry);
            if let Some(there) = there.find(|issue| issue.key.as_ref() == Some(&new.key)) {
                return Ok(there);
            }
            let issue = Issue {
                number,
                author: new.author.clone(),
                title: new.title.clone(),
                body: new.body.clone(),
                labels: sorted(new.labels.iter().cloned()),
                open: true,
                url: None,
                comments: Vec::new(),
                key: Some(new.key.clone()),
                changed: 0,
            };
            if self.put(&issue, None, "opened", attempt).await? {
                return Ok(issue);
            }
        }
        Err(Error::outpaced(&new.title, ATTEMPTS))
    }

    /// The annotated tags of the remote.
    pub(crate) async fn releases(&self) -> Result<Vec<Release>> {
        let repo = &self.repo;
        let spec = format!("+refs/tags/*:{TAGS}/*");
        repo.fetch_refs(&[spec], &self.cancel).await?;
        let format =
            "%(refname:lstrip=3)%00%(*objectname)%00%(contents:subject)%00%(contents:body)%01";
        let tags = repo
            .git()
            .call(["for-each-ref", "--sort=-creatordate"])
            .arg(format!("--format={format}"))
            .arg(format!("{TAGS}/"))
            .run(&self.cancel)
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

    pub(crate) async fn publish(&self, new: &NewRelease) -> Result<Release> {
        let repo = &self.repo;
        let name = format!("refs/tags/{}", new.tag);
        let git = repo.git();
        let well_formed = git
            .call(["check-ref-format", &name])
            .accept(&[0, 1])
            .run(&self.cancel)
            .await?;
        if well_formed.code != 0 || new.tag.starts_with('-') {
            let why = "git does not allow this name for a tag";
            return Err(Error::refused(&*new.tag, why));
        }
        for attempt in 0..ATTEMPTS {
            let there = self.releases().await?;
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
            let made = git.call(["mktag"]).input(text).run(&self.cancel).await?;
            fault("forge.before-tag");
            let made = made.text();
            let change = RefChange::new(&name, &made, Some(""));
            let pushed = repo.push_refs(&[change], &self.cancel).await?;
            fault("forge.after-tag");
            if pushed == Pushed::Behind {
                jitter(attempt, &self.cancel).await?;
            }
        }
        Err(Error::refused(
            &*new.tag,
            "a tag of this name is there that is no release",
        ))
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
    Err(Error::refused(&*meant.tag, reason))
}

impl LocalForge {
    pub(crate) async fn issues(&self, open_only: bool) -> Result<Vec<Issue>> {
        let all = self.all::<Issue>().await?;
        let issues = all.into_iter().rev().map(|kept| kept.entry);
        Ok(issues.filter(|issue| issue.open || !open_only).collect())
    }

    pub(crate) async fn issue(&self, number: IssueNumber) -> Result<Issue> {
        self.one(number.0).await.map(|kept| kept.entry)
    }

    pub(crate) async fn label_issue(
        &self,
        number: IssueNumber,
        labels: &[String],
    ) -> Result<Issue> {
        let add = |issue: &mut Issue| {
            let old = std::mem::take(&mut issue.labels);
            issue.labels = sorted(old.into_iter().chain(labels.iter().cloned()));
            Ok(())
        };
        self.change(number.0, "labelled", add).await
    }

    pub(crate) async fn comment_issue(
        &self,
        number: IssueNumber,
        comment: &NewComment,
    ) -> Result<Comment> {
        let add = |issue: &mut Issue| comment.add_to(&mut issue.comments);
        let issue = self.change(number.0, "commented", add).await?;
        comment
            .in_list(issue.comments)
            .ok_or(Error::NoIssue { number })
    }

    pub(crate) async fn close_issue(&self, number: IssueNumber) -> Result<Issue> {
        let close = |issue: &mut Issue| {
            issue.open = false;
            Ok(())
        };
        self.change(number.0, "closed", close).await
    }
}
