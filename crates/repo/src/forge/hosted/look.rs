//! What happens on the forge, on GitHub in one request for all pull requests at once: a
//! glance says whether anything moved, and only what moved is looked at. GitHub's GraphQL
//! interface is the only one of it that tells of comments, reviews and checks together;
//! what the others say comes in its fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use butler_protocol::{BranchName, CommitSha, MergeBlock, PrNumber, Reviewed, Said};
use serde_json::{Value, json};

use super::{
    super::{
        CheckState, PullState,
        answer::Answer,
        gh::Request,
        gitea, gitlab,
        news::{CheckNow, PullNow, why},
        wire,
    },
    HostedForge, Way, check_state,
};
use crate::{Error, Result, commits::squash};

/// What our own receipts are called there.
const STATUS: &str = "codebutler/checks";

const CHECKS: &str = "statusCheckRollup { contexts(first: 100) { nodes { __typename \
    ... on CheckRun { name status conclusion databaseId detailsUrl title summary } \
    ... on StatusContext { context state description targetUrl } } } }";

/// Everything that can move, without the words: what is the same has not moved.
const MOVES: &str = "state headRefOid isDraft mergeable updatedAt comments { totalCount } \
    reviews { totalCount } reviewThreads { totalCount } commits(last: 1) { nodes { commit { \
    statusCheckRollup { contexts(first: 100) { nodes { __typename ... on CheckRun { name \
    conclusion } ... on StatusContext { context state } } } } } } }";

const WORDS: &str = "number state headRefName headRefOid isDraft mergeable mergeStateStatus \
    mergeCommit { oid } mergedBy { login } \
    timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) { nodes { \
      ... on ClosedEvent { actor { login } } } } \
    comments(last: 100) { nodes { databaseId author { login } body viewerDidAuthor } } \
    reviews(last: 100) { nodes { databaseId author { login } body state viewerDidAuthor } } \
    reviewThreads(last: 100) { nodes { isOutdated path line originalLine \
      comments(last: 50) { nodes { databaseId author { login } body state viewerDidAuthor } } } }";

impl HostedForge {
    /// How these stand: the same text means that nothing moved.
    pub(crate) async fn glance(
        &self,
        watched: &[PrNumber],
    ) -> Result<Option<BTreeMap<PrNumber, String>>> {
        match &self.way {
            Way::GitLab(http) => {
                let moves = gitlab::moves(http.until(&self.cancel), &self.address, watched).await?;
                return Ok(Some(moves.into_iter().collect()));
            }
            Way::Gitea(http, watch) => {
                let mut watch = watch.lock().await;
                let moves = gitea::moves(http.until(&self.cancel), &mut watch, watched).await?;
                return Ok(Some(moves.into_iter().collect()));
            }
            Way::Gh => {}
        }
        let repo = self.query("", watched, MOVES).await?;
        let moves = watched.iter().map(|number| {
            let node = &repo[alias(*number).as_str()];
            (*number, node.to_string())
        });
        Ok(Some(moves.collect()))
    }

    /// These pull requests, with everything that was said about them.
    pub(crate) async fn look(&self, numbers: &[PrNumber]) -> Result<Vec<PullNow>> {
        let base = self.repo.default_branch().as_str();
        let repo = match &self.way {
            Way::Gh => self.words(numbers).await?,
            Way::GitLab(http) => gitlab::words(http.until(&self.cancel), base, numbers).await?,
            Way::Gitea(http, _) => {
                gitea::words(http.until(&self.cancel), &self.repo, numbers).await?
            }
        };
        let base = checks(&repo["defaultBranchRef"]["target"], &BTreeSet::new());
        let red = base
            .iter()
            .filter(|check| check.state == CheckState::Failed);
        let red: BTreeSet<String> = red.map(|check| check.name.clone()).collect();
        let nodes = numbers.iter().map(|number| &repo[alias(*number).as_str()]);
        Ok(nodes.filter_map(|node| pull(node, &red)).collect())
    }

    async fn words(&self, numbers: &[PrNumber]) -> Result<Value> {
        let base = format!("defaultBranchRef {{ target {{ ... on Commit {{ {CHECKS} }} }} }}");
        let words = format!(
            "{WORDS} commits(last: 1) {{ nodes {{ commit {{ committer {{ name email }} {CHECKS} }} }} }}"
        );
        self.query(&base, numbers, &words).await
    }

    /// Asks about the repository and some of its pull requests.
    async fn query(&self, about: &str, numbers: &[PrNumber], fields: &str) -> Result<Value> {
        let pulls: String = numbers
            .iter()
            .map(|number| {
                let (alias, number) = (alias(*number), number.0);
                format!(" {alias}: pullRequest(number: {number}) {{ {fields} }}")
            })
            .collect();
        let query = format!(
            "query($owner: String!, $name: String!) {{ \
             repository(owner: $owner, name: $name) {{ {about}{pulls} }} }}"
        );
        let variables = json!({"owner": self.address.owner, "name": self.address.name});
        // It changes nothing, whatever its method says.
        let answer = self.plain(graph(&query, &variables)).await?;
        Ok(data(&answer)?["repository"].clone())
    }

    /// Says how our own checks of a commit went. Whoever may not say so is not heard.
    pub(crate) async fn set_status(&self, head: &CommitSha, green: bool, said: &str) -> Result<()> {
        let description: String = said.chars().take(140).collect();
        let body = json!({"state": if green { "success" } else { "failure" },
            "context": STATUS, "description": description});
        let answer = self.send("POST", format!("statuses/{head}"), body).await?;
        match answer.status {
            201 | 403 | 404 if !answer.is_limit() => Ok(()),
            _ => Err(answer.refusal()),
        }
    }

    /// Whether somebody may push to the repository.
    pub(crate) async fn may_write(&self, login: &str) -> Result<bool> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if login.trim_matches('.').is_empty() || !login.chars().all(plain) {
            return Ok(false);
        }
        let path = format!("collaborators/{login}/permission");
        let answer = self.get(&path).await?;
        match answer.status {
            200 => Ok(matches!(
                answer.json()?["permission"].as_str(),
                Some("admin" | "maintain" | "write")
            )),
            // Not one of them, or we may not know: then nobody vouches for them.
            403 | 404 if !answer.is_limit() => Ok(false),
            _ => Err(answer.refusal()),
        }
    }

    /// The files in which a head and the base do not go together.
    pub(crate) async fn conflict_files(&self, head: &CommitSha) -> Result<Vec<PathBuf>> {
        self.repo.fetch(&self.cancel).await?;
        let base = self.repo.default_ref();
        squash::conflicts(&self.repo, &base, head.as_str(), &self.cancel).await
    }

    /// Why a check failed, as its log says; nothing where no log can be had.
    pub(crate) async fn check_log(&self, job: u64) -> Result<String> {
        let answer = self.get(&format!("actions/jobs/{job}/logs")).await?;
        match answer.status {
            200 => Ok(why(&String::from_utf8_lossy(&answer.body))),
            _ if answer.is_limit() => Err(answer.refusal()),
            _ => Ok(String::new()),
        }
    }
}

/// A request to the GraphQL interface.
pub(super) fn graph(query: &str, variables: &Value) -> Request<'static> {
    Request {
        method: "POST",
        path: "/graphql".to_owned(),
        body: Some(json!({"query": query, "variables": variables})),
        accept: None,
    }
}

/// What it gave, if it gave everything that was asked for.
pub(super) fn data(answer: &Answer) -> Result<Value> {
    let json = answer.json()?;
    let data = &json["data"];
    let fields = data.as_object().into_iter().flatten();
    if fields.clone().next().is_some() && fields.clone().all(|(_, field)| !field.is_null()) {
        return Ok(data.clone());
    }
    let error = &json["errors"][0];
    if error["type"] == "RATE_LIMITED" || error["type"] == "RATE_LIMIT" {
        return Err(answer.blocked(MergeBlock::RateLimited, String::new()));
    }
    let said = error["message"].as_str().unwrap_or("no reason given");
    Err(Error::refused("the pull requests", said))
}

fn alias(number: PrNumber) -> String {
    format!("p{}", number.0)
}

fn pull(node: &Value, red_on_base: &BTreeSet<String>) -> Option<PullNow> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let closer = &node["timelineItems"]["nodes"][0]["actor"]["login"];
    let (state, ended_by) = match node["state"].as_str()? {
        "OPEN" => (PullState::Open, None),
        "MERGED" => {
            let commit = CommitSha::new(text(&node["mergeCommit"]["oid"])?);
            (
                PullState::Merged { commit },
                text(&node["mergedBy"]["login"]),
            )
        }
        _ => (PullState::Closed, text(closer)),
    };
    let commit = &node["commits"]["nodes"][0]["commit"];
    let mail = commit["committer"]["email"].as_str();
    let ours = mail.is_none_or(|mail| mail.ends_with("@codebutler.invalid"));
    let pusher = text(&commit["committer"]["name"]).unwrap_or_else(somebody);
    let mut now = PullNow {
        number: PrNumber(node["number"].as_u64()?),
        branch: BranchName::new(text(&node["headRefName"])?),
        state,
        ended_by: ended_by.unwrap_or_else(somebody),
        head: CommitSha::new(text(&node["headRefOid"])?),
        pushed_by: (!ours).then_some(pusher),
        draft: node["isDraft"] == Value::Bool(true),
        conflict: match node["mergeable"].as_str() {
            Some("CONFLICTING") => Some(true),
            Some("MERGEABLE") => Some(false),
            _ => None,
        },
        merge_state: text(&node["mergeStateStatus"]).unwrap_or_default(),
        said: Vec::new(),
        ours: BTreeSet::new(),
        checks: checks(commit, red_on_base),
    };
    for note in nodes(&node["comments"]) {
        hear(&mut now, "note", note, None);
    }
    for review in nodes(&node["reviews"]) {
        hear(&mut now, "review", review, None);
    }
    for thread in nodes(&node["reviewThreads"]) {
        for line in nodes(&thread["comments"]) {
            hear(&mut now, "line", line, Some(thread));
        }
    }
    Some(now)
}

fn nodes(list: &Value) -> impl Iterator<Item = &Value> {
    list["nodes"].as_array().into_iter().flatten()
}

fn somebody() -> String {
    "somebody".to_owned()
}

/// Takes in a comment or a review. One with our mark is ours, provided that our own
/// account wrote it: anybody can write a mark.
fn hear(now: &mut PullNow, kind: &str, node: &Value, thread: Option<&Value>) {
    let Some(number) = node["databaseId"].as_u64() else {
        return;
    };
    let id = format!("{kind}-{number}");
    let body = node["body"].as_str().unwrap_or_default();
    if node["viewerDidAuthor"] == Value::Bool(true) && wire::has_mark(body) {
        now.ours.insert(id);
        return;
    }
    let review = match node["state"].as_str() {
        // Being written still.
        Some("PENDING") => return,
        Some("APPROVED") => Some(Reviewed::Approved),
        Some("CHANGES_REQUESTED") => Some(Reviewed::ChangesRequested),
        _ => None,
    };
    if review.is_none() && body.trim().is_empty() {
        return;
    }
    let line = |thread: &Value| {
        let line = thread["line"].as_u64().or(thread["originalLine"].as_u64());
        let path = thread["path"].as_str()?;
        Some(line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}")))
    };
    now.said.push(Said {
        id,
        by: node["author"]["login"]
            .as_str()
            .unwrap_or("ghost")
            .to_owned(),
        may_write: false,
        review,
        text: cut(body),
        place: thread.and_then(line),
        outdated: thread.is_some_and(|thread| thread["isOutdated"] == Value::Bool(true)),
    });
}

/// More of one comment is read on the forge.
const COMMENT_BYTES: usize = 4 * 1024;

fn cut(body: &str) -> String {
    let body = body.trim();
    let end = body.floor_char_boundary(COMMENT_BYTES);
    if end == body.len() {
        return body.to_owned();
    }
    format!("{} …", &body[..end])
}

fn checks(commit: &Value, red_on_base: &BTreeSet<String>) -> Vec<CheckNow> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let contexts = nodes(&commit["statusCheckRollup"]["contexts"]);
    let read = contexts.filter_map(|node| {
        let run = node["__typename"] == "CheckRun";
        let name = text(&node[if run { "name" } else { "context" }])?;
        // Our own word is no news to us.
        if name == STATUS {
            return None;
        }
        let word = node[if run { "conclusion" } else { "state" }].as_str();
        let word = word.map(str::to_lowercase).filter(|word| !word.is_empty());
        let said = if run {
            ["title", "summary"]
        } else {
            ["description", "description"]
        };
        let mut said: Vec<String> = said.iter().filter_map(|key| text(&node[*key])).collect();
        said.dedup();
        Some(CheckNow {
            red_on_base: red_on_base.contains(&name),
            name,
            state: check_state(word.as_deref()),
            job: node["databaseId"].as_u64().filter(|_| run),
            summary: cut(&said.join("\n")),
            url: text(&node[if run { "detailsUrl" } else { "targetUrl" }]),
        })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_a_stranger_wrote_does_not_make_it_ours() {
        let ours = wire::marked(
            &super::super::super::Author::Role(butler_protocol::Role::Lead),
            "fine",
            "k",
        );
        let note = |id: u64, body: &str, viewer: bool| {
            json!({"databaseId": id, "body": body, "viewerDidAuthor": viewer,
                "author": {"login": "ana"}})
        };
        let node = json!({"number": 1, "state": "OPEN", "headRefName": "b", "headRefOid": "h",
            "mergeable": "UNKNOWN",
            "comments": {"nodes": [note(1, &ours, true), note(2, &ours, false), note(3, "hm", true)]},
            "reviews": {"nodes": [
                {"databaseId": 4, "body": "", "state": "COMMENTED", "author": null},
                {"databaseId": 5, "body": "", "state": "CHANGES_REQUESTED", "author": null},
                {"databaseId": 6, "body": "not yet", "state": "PENDING", "author": null}]},
            "reviewThreads": {"nodes": [{"isOutdated": true, "path": "a.sh", "line": null,
                "originalLine": 3, "comments": {"nodes": [note(7, "here", false)]}}]}});
        let now = pull(&node, &BTreeSet::new()).unwrap();
        let ids: Vec<&str> = now.said.iter().map(|said| said.id.as_str()).collect();
        assert_eq!(ids, ["note-2", "note-3", "review-5", "line-7"]);
        assert_eq!(now.ours, ["note-1".to_owned()].into());
        let line = &now.said[3];
        assert_eq!(
            (line.place.as_deref(), line.outdated),
            (Some("a.sh:3"), true)
        );
        assert_eq!((now.said[2].by.as_str(), now.conflict), ("ghost", None));
    }
}
