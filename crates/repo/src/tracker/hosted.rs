//! Issues and releases on a hosted forge, in the words of GitHub, which counts issues and
//! pull requests together and lists both as issues; pull requests are left out here.

use butler_protocol::CommitSha;
use serde_json::{Value, json};

use super::{Issue, IssueNumber, NewIssue, NewRelease, Release, local::settle, sorted};
use crate::{
    Comment, Error, NewComment, Result,
    forge::{ATTEMPTS, HostedForge, wire},
    refs::push::jitter,
};

/// An issue without its comments; nothing when it is a pull request.
fn read(json: &Value) -> Option<Issue> {
    if !json["pull_request"].is_null() {
        return None;
    }
    let (body, author, key) = wire::written(json, json["body"].as_str().unwrap_or_default());
    let labels = json["labels"].as_array().into_iter().flatten();
    let labels = labels.filter_map(|label| label["name"].as_str().or(label.as_str()));
    Some(Issue {
        number: IssueNumber(json["number"].as_u64()?),
        author,
        title: json["title"].as_str()?.to_owned(),
        body,
        labels: sorted(labels.map(str::to_owned)),
        open: json["state"].as_str()? == "open",
        url: json["html_url"].as_str().map(str::to_owned),
        comments: Vec::new(),
        key,
        changed: wire::seconds(&json["updated_at"]).unwrap_or_default(),
    })
}

impl HostedForge {
    async fn all_issues(&self, state: &str) -> Result<Vec<Issue>> {
        let items = self.all(&format!("issues?state={state}")).await?;
        let mut issues: Vec<Issue> = items.iter().filter_map(read).collect();
        issues.sort_by_key(|issue| std::cmp::Reverse(issue.number));
        Ok(issues)
    }

    async fn one_issue(&self, number: IssueNumber) -> Result<Issue> {
        let answer = self.get(&format!("issues/{}", number.0)).await?;
        let answer = answer.or_missing(Error::NoIssue { number })?;
        read(&answer.json()?).ok_or(Error::NoIssue { number })
    }

    pub(crate) async fn open_issue(&self, new: &NewIssue) -> Result<Issue> {
        for attempt in 0..ATTEMPTS {
            let there = self.all_issues("all").await?;
            let mine = |issue: &Issue| issue.key.as_deref() == Some(new.key.as_str());
            if let Some(issue) = there.into_iter().find(mine) {
                return Ok(issue);
            }
            let body = json!({
                "title": new.title,
                "body": wire::marked(&new.author, &new.body, &new.key),
                "labels": new.labels,
            });
            let answer = self.send("POST", "issues".into(), body).await?;
            if !answer.is_unclear() {
                return answer.read(read);
            }
            jitter(attempt, &self.cancel).await?;
        }
        Err(Error::outpaced(&new.title, ATTEMPTS))
    }

    /// A change that is the same when it is made twice.
    async fn change_issue(
        &self,
        number: IssueNumber,
        (method, below): (&str, &str),
        body: Value,
    ) -> Result<Issue> {
        self.one_issue(number).await?;
        let path = format!("issues/{}{below}", number.0);
        let answer = self.insist(method, &path, &body, &number).await?;
        answer.or_missing(Error::NoIssue { number })?.json()?;
        self.one_issue(number).await
    }

    async fn issue_notes(&self, number: IssueNumber) -> Result<Vec<Comment>> {
        let path = format!("issues/{}/comments", number.0);
        let items = self.all(&path).await?;
        Ok(items.iter().filter_map(wire::comment).collect())
    }

    pub(crate) async fn comment_issue(
        &self,
        number: IssueNumber,
        comment: &NewComment,
    ) -> Result<Comment> {
        self.one_issue(number).await?;
        for attempt in 0..ATTEMPTS {
            if let Some(said) = comment.in_list(self.issue_notes(number).await?) {
                return Ok(said);
            }
            let body = wire::marked(&comment.author, &comment.body, &comment.key);
            let path = format!("issues/{}/comments", number.0);
            let answer = self.send("POST", path, json!({ "body": body })).await?;
            if !answer.is_unclear() {
                return answer.read(wire::comment);
            }
            jitter(attempt, &self.cancel).await?;
        }
        Err(Error::outpaced(&number, ATTEMPTS))
    }

    /// The commit of a tag; light or annotated.
    async fn tagged(&self, tag: &str) -> Result<Option<CommitSha>> {
        let answer = self.get(&format!("git/ref/tags/{tag}")).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        let mut object = answer.json()?["object"].clone();
        if object["type"] == "tag" {
            let path = format!("git/tags/{}", object["sha"].as_str().unwrap_or_default());
            object = self.get(&path).await?.json()?["object"].clone();
        }
        Ok(object["sha"].as_str().map(CommitSha::new))
    }

    async fn release(&self, json: &Value) -> Result<Option<Release>> {
        let Some(tag) = json["tag_name"].as_str() else {
            return Ok(None);
        };
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let commit = self.tagged(tag).await?;
        Ok(commit.map(|commit| Release {
            tag: tag.to_owned(),
            title: text("name"),
            notes: text("body"),
            commit,
            url: json["html_url"].as_str().map(str::to_owned),
        }))
    }

    pub(crate) async fn publish(&self, new: &NewRelease) -> Result<Release> {
        for attempt in 0..ATTEMPTS {
            let path = format!("releases/tags/{}", new.tag);
            let there = self.get(&path).await?;
            if there.status != 404
                && let Some(release) = self.release(&there.json()?).await?
            {
                return settle(release, new);
            }
            // A tag without a release keeps its commit; GitHub would not say so.
            if let Some(commit) = self.tagged(&new.tag).await?
                && commit != new.commit
            {
                let why = format!("this tag is at {commit}, and tags are not moved");
                return Err(Error::refused(new.tag.as_str(), why));
            }
            let body = json!({
                "tag_name": new.tag,
                "target_commitish": new.commit,
                "name": new.title.trim(),
                "body": new.notes.trim(),
            });
            let answer = self.send("POST", "releases".into(), body).await?;
            if answer.is_unclear() || answer.status == 422 && attempt == 0 {
                jitter(attempt, &self.cancel).await?;
            } else {
                answer.json()?;
            }
        }
        Err(Error::outpaced(&new.tag, ATTEMPTS))
    }
}

impl HostedForge {
    pub(crate) async fn issues(&self, open_only: bool) -> Result<Vec<Issue>> {
        let state = if open_only { "open" } else { "all" };
        self.all_issues(state).await
    }

    pub(crate) async fn issue(&self, number: IssueNumber) -> Result<Issue> {
        let mut issue = self.one_issue(number).await?;
        issue.comments = self.issue_notes(number).await?;
        Ok(issue)
    }

    pub(crate) async fn issues_since(&self, changed: i64) -> Result<Vec<Issue>> {
        let since = jiff::Timestamp::from_second(changed).unwrap_or_default();
        self.all_issues(&format!("open&since={since}")).await
    }

    pub(crate) async fn labelled(
        &self,
        number: IssueNumber,
        label: &str,
    ) -> Result<Option<(String, u64)>> {
        let path = format!("issues/{}/events", number.0);
        let events = self.all(&path).await?;
        let last = events.iter().rfind(|event| {
            let about = event["label"]["name"].as_str() == Some(label);
            about && matches!(event["event"].as_str(), Some("labeled" | "unlabeled"))
        });
        Ok(last
            .filter(|event| event["event"] == "labeled")
            .and_then(|event| {
                Some((
                    event["actor"]["login"].as_str()?.to_owned(),
                    event["id"].as_u64()?,
                ))
            }))
    }

    pub(crate) async fn label_issue(
        &self,
        number: IssueNumber,
        labels: &[String],
    ) -> Result<Issue> {
        let body = json!({ "labels": labels });
        self.change_issue(number, ("POST", "/labels"), body).await
    }

    pub(crate) async fn close_issue(&self, number: IssueNumber) -> Result<Issue> {
        let body = json!({ "state": "closed" });
        self.change_issue(number, ("PATCH", ""), body).await
    }

    pub(crate) async fn releases(&self) -> Result<Vec<Release>> {
        let mut releases = Vec::new();
        for json in self.all("releases").await? {
            releases.extend(self.release(&json).await?);
        }
        Ok(releases)
    }
}
