//! Pull requests on a hosted forge. Each call looks before it acts, and looks again
//! when an answer was lost, so that a repeat never does a thing twice. All of it is said
//! in the words of GitHub's REST interface; for the others see `dialect`.

mod around;
mod look;
mod merge;
mod queue;

use std::{fmt::Display, path::Path, sync::Arc};

use butler_protocol::{BranchName, PrNumber, fault};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    Check, CheckState, Comment, Edit, ForgeKind, NewComment, NewPull, PullRequest, PullState,
    answer::Answer,
    dialect::Asked,
    gh::{Request, send},
    gitea, gitlab,
    host::{Address, Found},
    http::Http,
    wire,
};
use crate::{Error, Repo, Result, refs::push::jitter, worktree::name};

pub(crate) const ATTEMPTS: u32 = 5;
const PAGE: usize = 100;
pub(super) const PAGES: usize = 20;

/// Pull requests on GitHub, GitLab, Gitea or Forgejo.
#[derive(Debug, Clone)]
pub(crate) struct HostedForge {
    repo: Repo,
    address: Address,
    way: Way,
    /// Until when it works.
    pub(crate) cancel: CancellationToken,
}

/// How the forge is asked.
#[derive(Debug, Clone)]
enum Way {
    /// By the person's own `gh`.
    Gh,
    GitLab(Arc<Http>),
    Gitea(Arc<Http>, Arc<Mutex<gitea::Watch>>),
}

impl HostedForge {
    /// The forge of a clone whose remote is there.
    /// Fails when the address or the certificates of this machine's config cannot be used.
    pub(super) fn new(repo: &Repo, found: Found, ca_file: Option<&Path>) -> Result<Self> {
        let http = |manner| Http::new(&found.host, &found.address, manner, ca_file).map(Arc::new);
        let way = match found.host.kind {
            ForgeKind::GitLab => Way::GitLab(http(gitlab::manner(&found.address))?),
            ForgeKind::Gitea => Way::Gitea(http(gitea::manner(&found.address))?, Arc::default()),
            ForgeKind::GitHub | ForgeKind::Plain => Way::Gh,
        };
        Ok(Self {
            repo: repo.clone(),
            address: found.address,
            way,
            cancel: CancellationToken::new(),
        })
    }

    /// The same until then.
    pub(super) fn until(&self, cancel: &CancellationToken) -> Self {
        let cancel = cancel.clone();
        Self {
            cancel,
            ..self.clone()
        }
    }

    async fn ask(&self, request: Request<'_>) -> Result<Answer> {
        let changing = request.method != "GET";
        if changing {
            fault("forge.before-request");
        }
        let answer = self.plain(request).await;
        if changing {
            fault("forge.after-request");
        }
        answer
    }

    async fn plain(&self, request: Request<'_>) -> Result<Answer> {
        let asked = Asked::of(&request);
        match &self.way {
            Way::GitLab(http) => gitlab::carry_out(http.until(&self.cancel), &asked).await,
            Way::Gitea(http, _) => {
                let base = self.repo.default_branch().as_str();
                gitea::carry_out(http.until(&self.cancel), base, &asked).await
            }
            Way::Gh => {
                let settings = self.repo.git().settings();
                send(settings, &self.address, request, &self.cancel).await
            }
        }
    }

    /// Asks for a change once.
    pub(crate) async fn send(&self, method: &str, path: String, body: Value) -> Result<Answer> {
        let request = Request {
            method,
            path,
            body: Some(body),
            accept: None,
        };
        self.ask(request).await
    }

    /// Asks for a change that is the same when it is made twice: a lost answer is simply
    /// asked for again.
    pub(crate) async fn insist(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        about: &(dyn Display + Sync),
    ) -> Result<Answer> {
        for attempt in 0..ATTEMPTS {
            let answer = self.send(method, path.to_owned(), body.clone()).await?;
            if !answer.is_unclear() {
                return Ok(answer);
            }
            jitter(attempt, &self.cancel).await?;
        }
        Err(Error::outpaced(about, ATTEMPTS))
    }

    /// Reads; a lost answer is asked for again.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        let request = || Request {
            method: "GET",
            path: path.to_owned(),
            ..Request::default()
        };
        for attempt in 1..ATTEMPTS {
            let answer = self.ask(request()).await?;
            if !answer.is_unclear() {
                return Ok(answer);
            }
            jitter(attempt, &self.cancel).await?;
        }
        self.ask(request()).await
    }

    /// Every page of a list.
    pub(crate) async fn all(&self, path: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        for page in 1..=PAGES {
            let sign = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{sign}per_page={PAGE}&page={page}");
            let answer = self.get(&path).await?;
            let Value::Array(more) = answer.json()? else {
                break;
            };
            let last = answer.more.map_or(more.len() < PAGE, |more| !more);
            items.extend(more);
            if last {
                break;
            }
        }
        Ok(items)
    }

    async fn one(&self, number: PrNumber) -> Result<(PullRequest, Value)> {
        let answer = self.get(&format!("pulls/{}", number.0)).await?;
        let answer = answer.or_missing(Error::NoPull { number })?;
        let json = answer.json()?;
        let pull = wire::pull(&json).ok_or_else(|| answer.refusal())?;
        Ok((pull, json))
    }

    async fn of_branch(&self, branch: &BranchName) -> Result<Vec<PullRequest>> {
        let path = format!("pulls?state=all&head={}:{branch}", self.address.owner);
        let items = self.all(&path).await?;
        let pulls = items.iter().filter_map(wire::pull);
        let mut pulls: Vec<PullRequest> = pulls.filter(|p| p.branch == *branch).collect();
        pulls.sort_by_key(|p| std::cmp::Reverse(p.number));
        Ok(pulls)
    }

    pub(crate) async fn create(&self, new: &NewPull) -> Result<PullRequest> {
        let branch = new.branch.clone();
        if !name::is_ours(&branch) {
            return Err(Error::NotOurs { branch });
        }
        for attempt in 0..ATTEMPTS {
            self.repo.fetch(&self.cancel).await?;
            let head = self.repo.remote_tip(&branch).await?;
            let there = self.of_branch(&branch).await?;
            let open = there.iter().find(|p| p.state == PullState::Open);
            let same = there
                .first()
                .filter(|p| head.as_ref().is_none_or(|h| p.head == *h));
            if let Some(pull) = open.or(same) {
                return Ok(pull.clone());
            }
            if head.is_none() {
                return Err(Error::NotPushed { branch });
            }
            let mut answer = self.post_pull(new, new.draft).await?;
            if answer.status == 422 && answer.says("raft") {
                // This repository has no drafts.
                answer = self.post_pull(new, false).await?;
            }
            // 422: somebody opened it between our look and our word.
            if answer.is_unclear() || (answer.status == 422 && attempt == 0) {
                jitter(attempt, &self.cancel).await?;
                continue;
            }
            return answer.read(wire::pull);
        }
        Err(Error::outpaced(&branch, ATTEMPTS))
    }

    async fn post_pull(&self, new: &NewPull, draft: bool) -> Result<Answer> {
        let body = json!({
            "draft": draft,
            "title": new.title,
            "body": new.body,
            "head": new.branch,
            "base": new.base.as_ref().unwrap_or(self.repo.default_branch()),
        });
        self.send("POST", "pulls".into(), body).await
    }

    /// Changes fields of a pull request.
    async fn patch(&self, number: PrNumber, fields: &Value) -> Result<PullRequest> {
        let path = format!("pulls/{}", number.0);
        let answer = self.insist("PATCH", &path, fields, &number).await?;
        let answer = answer.or_missing(Error::NoPull { number })?;
        answer.read(wire::pull)
    }

    /// Where what stands on no line is said. Only GitLab counts pull requests and issues
    /// separately, so that the number alone does not say which is meant.
    fn notes(&self, number: PrNumber) -> String {
        match self.way {
            Way::Gh => format!("issues/{}/comments", number.0),
            _ => format!("pulls/{}/notes", number.0),
        }
    }

    async fn comments(&self, number: PrNumber) -> Result<Vec<Comment>> {
        let general = self.notes(number);
        let lines = format!("pulls/{}/comments", number.0);
        let mut items = self.all(&general).await?;
        items.extend(self.all(&lines).await?);
        let mut comments: Vec<Comment> = items.iter().filter_map(wire::comment).collect();
        comments.sort_by_key(|c| c.at);
        Ok(comments)
    }

    pub(crate) async fn comment(&self, number: PrNumber, comment: &NewComment) -> Result<Comment> {
        self.say(number, None, comment).await
    }

    /// Answers where it stands; what stands on no line is answered below all of it.
    pub(crate) async fn reply(
        &self,
        number: PrNumber,
        to: &str,
        comment: &NewComment,
    ) -> Result<Comment> {
        let line = to.strip_prefix("line-").and_then(|to| to.parse().ok());
        self.say(number, line, comment).await
    }

    async fn say(
        &self,
        number: PrNumber,
        to: Option<u64>,
        comment: &NewComment,
    ) -> Result<Comment> {
        for attempt in 0..ATTEMPTS {
            if let Some(said) = comment.in_list(self.comments(number).await?) {
                return Ok(said);
            }
            let mut answer = self.say_once(number, to, comment).await?;
            // A line that the change does not show takes no comment of its own.
            if answer.status == 422
                && let Some(place) = &comment.place
            {
                let named = NewComment {
                    body: format!("`{}:{}`: {}", place.path, place.line, comment.body),
                    place: None,
                    ..comment.clone()
                };
                answer = self.say_once(number, None, &named).await?;
            }
            let answer = answer.or_missing(Error::NoPull { number })?;
            if !answer.is_unclear() {
                return answer.read(wire::comment);
            }
            jitter(attempt, &self.cancel).await?;
        }
        Err(Error::outpaced(&number, ATTEMPTS))
    }

    async fn say_once(
        &self,
        number: PrNumber,
        to: Option<u64>,
        comment: &NewComment,
    ) -> Result<Answer> {
        let body = wire::marked(&comment.author, &comment.body, &comment.key);
        let lines = format!("pulls/{}/comments", number.0);
        let (path, body) = match (&comment.place, to) {
            (None, None) => (self.notes(number), json!({ "body": body })),
            (_, Some(to)) => (lines, json!({ "body": body, "in_reply_to": to })),
            (Some(place), None) => {
                let head = self.one(number).await?.0.head;
                let body = json!({
                    "body": body,
                    "commit_id": head,
                    "path": place.path,
                    "line": place.line,
                    "side": "RIGHT",
                });
                (lines, body)
            }
        };
        self.send("POST", path, body).await
    }
}

impl HostedForge {
    pub(crate) async fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>> {
        let pulls = self.of_branch(branch).await?;
        let open = pulls.iter().find(|p| p.state == PullState::Open);
        Ok(open.or(pulls.first()).cloned())
    }

    pub(crate) async fn view(&self, number: PrNumber) -> Result<PullRequest> {
        let (mut pull, _) = self.one(number).await?;
        pull.comments = self.comments(number).await?;
        Ok(pull)
    }

    pub(crate) async fn diff(&self, number: PrNumber) -> Result<String> {
        let request = Request {
            method: "GET",
            path: format!("pulls/{}", number.0),
            body: None,
            accept: Some("application/vnd.github.diff"),
        };
        let answer = self
            .ask(request)
            .await?
            .or_missing(Error::NoPull { number })?;
        match answer.status {
            200 => Ok(String::from_utf8_lossy(&answer.body).into_owned()),
            _ => Err(answer.refusal()),
        }
    }

    pub(crate) async fn edit(&self, number: PrNumber, edit: &Edit) -> Result<PullRequest> {
        let fields = json!({ "title": edit.title, "body": edit.body, "base": edit.base });
        let fields = fields.as_object().into_iter().flatten();
        let given = fields.filter(|(_, value)| !value.is_null());
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        self.patch(number, &given.collect()).await
    }

    pub(crate) async fn checks(&self, number: PrNumber) -> Result<Vec<Check>> {
        let head = self.one(number).await?.0.head;
        let runs = format!("commits/{head}/check-runs?per_page={PAGE}");
        let runs = self.get(&runs).await?.json()?;
        let status = format!("commits/{head}/status?per_page={PAGE}");
        let status = self.get(&status).await?.json()?;
        let runs = runs["check_runs"].as_array().into_iter().flatten();
        let statuses = status["statuses"].as_array().into_iter().flatten();
        Ok(runs
            .filter_map(|run| wire::check_run(run, &head))
            .chain(statuses.filter_map(|status| wire::status(status, &head)))
            .collect())
    }

    pub(crate) async fn close(&self, number: PrNumber) -> Result<PullRequest> {
        let (pull, _) = self.one(number).await?;
        match pull.state {
            PullState::Closed => Ok(pull),
            PullState::Merged { .. } => {
                let state = "merged";
                Err(Error::NotOpen { number, state })
            }
            PullState::Open => self.patch(number, &json!({ "state": "closed" })).await,
        }
    }

    pub(crate) async fn list(&self, open_only: bool) -> Result<Vec<PullRequest>> {
        let state = if open_only { "open" } else { "all" };
        let items = self.all(&format!("pulls?state={state}")).await?;
        let pulls = items.iter().filter_map(wire::pull);
        let mut ours: Vec<PullRequest> = pulls.filter(|p| name::is_ours(&p.branch)).collect();
        ours.sort_by_key(|p| std::cmp::Reverse(p.number));
        Ok(ours)
    }
}

/// A check's conclusion in our words; none yet means that it is still running.
pub(super) fn check_state(word: Option<&str>) -> CheckState {
    match word {
        Some("success") => CheckState::Passed,
        Some("neutral" | "skipped") => CheckState::Skipped,
        None | Some("pending" | "expected") => CheckState::Pending,
        Some(_) => CheckState::Failed,
    }
}
