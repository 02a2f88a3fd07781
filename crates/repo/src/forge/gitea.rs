//! Gitea and Forgejo. Their REST interface is made after GitHub's; this table says where
//! it differs: reviews hold the comments on lines, labels go by number, pages are short,
//! and a pull request of a branch that is gone names another ref.
//!
//! Written by their interface descriptions (Gitea 1.22 to 1.24, Forgejo 9 to 11).

mod look;
mod tracker;

use serde_json::{Value, json};

use super::{
    answer::Answer,
    dialect::{Asked, good, items, listed, retitled, tip},
    host::Address,
    http::{Link, Manner, encoded},
};
use crate::Result;

pub(super) use look::{Watch, moves, words};
use tracker::tracker;

/// More is not given, whatever one asks for.
const SIZE: &str = "limit=50";

pub(super) fn manner(address: &Address) -> Manner {
    Manner {
        version: "/api/v1",
        scheme: "token",
        project: format!(
            "repos/{}/{}",
            encoded(&address.owner),
            encoded(&address.name)
        ),
    }
}

/// Who we are there, and what we lack. What a token may do is only said by a refusal.
pub(super) async fn account(http: Link<'_>) -> Result<(String, Vec<&'static str>)> {
    let name = http.me("login").await?.to_owned();
    let rights = &http.get("").await?.json()?["permissions"];
    let may = rights["push"] == json!(true);
    let lacks = (!may).then_some("the right to push to the repository");
    Ok((name, lacks.into_iter().collect()))
}

/// The table: a sentence of ours, said in Gitea's words.
pub(super) async fn carry_out(http: Link<'_>, base: &str, asked: &Asked<'_>) -> Result<Answer> {
    match (asked.method, asked.parts.as_slice()) {
        ("GET", ["pulls"]) => pulls(http, base, asked).await,
        ("POST", ["pulls"]) => {
            let mut body = asked.renamed(&[("body", "body"), ("head", "head"), ("base", "base")]);
            let title = asked.body["title"].as_str().unwrap_or_default();
            body["title"] = json!(titled(title, asked.body["draft"] == json!(true)));
            let made = http.send("POST", "pulls", &body).await?;
            Ok(made.taken().with(pull))
        }
        ("GET", ["pulls", number]) if asked.as_diff => {
            http.get(&format!("pulls/{number}.diff")).await
        }
        ("GET", ["pulls", number]) => http.shown(&format!("pulls/{number}"), pull).await,
        ("PATCH", ["pulls", number]) => change(http, number, asked).await,
        ("PUT", ["pulls", number, "merge"]) => merge(http, number, asked).await,
        ("GET", ["pulls", number, "comments"]) => {
            let found = lines(http, number).await?;
            Ok(listed(found.into_iter().map(|(_, line)| line).collect()))
        }
        ("POST", ["pulls", number, "comments"]) => say_at(http, number, asked).await,
        ("GET", ["pulls", number, "reviews"]) => {
            let path = format!("pulls/{number}/reviews?{}", asked.page(SIZE));
            http.get(&path).await
        }
        // One row of numbers for both.
        (method, ["pulls" | "issues", number, "notes" | "comments"]) => {
            let path = format!("issues/{number}/comments");
            http.send(method, &path, &asked.body).await
        }
        ("GET", ["commits", _, "check-runs"]) => Ok(good(&json!({ "check_runs": [] }))),
        ("GET", ["commits", sha, "status"]) => {
            let all = statuses(http, sha).await?;
            Ok(good(&json!({ "statuses": all })))
        }
        ("GET", ["collaborators", login, "permission"]) => {
            let path = format!("collaborators/{}/permission", encoded(login));
            let admin = |json: &Value| match json["permission"].as_str() {
                Some("owner") => json!({ "permission": "admin" }),
                _ => json.clone(),
            };
            http.shown(&path, admin).await
        }
        ("GET", ["git", "ref", "heads", rest @ ..]) => {
            let path = format!("branches/{}", rest.join("/"));
            http.shown(&path, tip).await
        }
        ("DELETE", ["git", "refs", "heads", rest @ ..]) => {
            let path = format!("branches/{}", rest.join("/"));
            http.send("DELETE", &path, &Value::Null).await
        }
        ("GET", ["git", "ref", "tags", rest @ ..]) => {
            let path = format!("tags/{}", rest.join("/"));
            http.shown(&path, tip).await
        }
        // The same words.
        (
            method,
            ["pulls", _, "requested_reviewers"]
            | ["statuses", _]
            | ["actions", "jobs", _, "logs"]
            | ["issues", _],
        ) => http.send(method, &asked.parts.join("/"), &asked.body).await,
        _ => tracker(http, asked).await,
    }
}

fn state<'a>(asked: &Asked<'a>) -> &'a str {
    asked.value("state").unwrap_or("open")
}

/// All, or those of one branch. For one branch there is a short way that gives one of them:
/// no answer there means that there is none, an open one is the only open one.
async fn pulls(http: Link<'_>, base: &str, asked: &Asked<'_>) -> Result<Answer> {
    let first = asked.value("page").is_none_or(|page| page == "1");
    if let (Some(branch), true) = (asked.branch(), first) {
        let path = format!("pulls/{}/{}", encoded(base), encoded(branch));
        let found = http.get(&path).await?;
        match found.status {
            404 => return Ok(listed(Vec::new())),
            200 => {
                let one = pull(&found.json()?);
                if one["state"] == "open" {
                    return Ok(listed(vec![one]));
                }
            }
            _ => {}
        }
    }
    let path = format!("pulls?state={}&{}", state(asked), asked.page(SIZE));
    Ok(http.get(&path).await?.each(pull))
}

/// What Gitea takes for a draft by default.
const DRAFT: &str = "WIP: ";

fn plain_title(title: &str) -> &str {
    let title = title.strip_prefix(DRAFT).unwrap_or(title);
    title.strip_prefix("[WIP] ").unwrap_or(title)
}

fn titled(title: &str, draft: bool) -> String {
    format!("{}{}", if draft { DRAFT } else { "" }, plain_title(title))
}

async fn change(http: Link<'_>, number: &str, asked: &Asked<'_>) -> Result<Answer> {
    let path = format!("pulls/{number}");
    let mut body = asked.renamed(&[
        ("title", "title"),
        ("body", "body"),
        ("state", "state"),
        ("base", "base"),
    ]);
    let draft = asked.body["draft"].as_bool();
    // Whether it is a draft stands in its title.
    if draft.is_some() || body["title"].is_string() {
        let there = http.get(&path).await?;
        if !there.is_good() {
            return Ok(there);
        }
        let (title, draft) = retitled(&body, &pull(&there.json()?), draft);
        body["title"] = json!(titled(&title, draft));
    }
    let made = http.send("PATCH", &path, &body).await?;
    Ok(made.with(pull))
}

async fn merge(http: Link<'_>, number: &str, asked: &Asked<'_>) -> Result<Answer> {
    let body = json!({
        "Do": "squash",
        "MergeTitleField": asked.body["commit_title"],
        "MergeMessageField": asked.body["commit_message"],
        "head_commit_id": asked.body["sha"],
        "delete_branch_after_merge": true,
    });
    let path = format!("pulls/{number}/merge");
    http.send("POST", &path, &body).await
}

/// The comments on lines, each with the review that it belongs to.
async fn lines(http: Link<'_>, number: &str) -> Result<Vec<(Value, Value)>> {
    let path = format!("pulls/{number}/reviews");
    let mut found = Vec::new();
    for review in http.all(&path, SIZE).await? {
        if review["comments_count"].as_u64() == Some(0) {
            continue;
        }
        let path = format!("{path}/{}/comments", review["id"]);
        let all = items(&http.get(&path).await?)?;
        found.extend(all.iter().map(|line| (review.clone(), placed(line))));
    }
    Ok(found)
}

/// Lines are called positions there, and none is 0.
fn placed(line: &Value) -> Value {
    let mut line = line.clone();
    let number = |name: &str| line[name].as_u64().filter(|number| *number > 0);
    let (new, old) = (number("position"), number("original_position"));
    line["line"] = json!(new);
    line["original_line"] = json!(old);
    line
}

/// A comment on a line is a review of one. An answer stands on the same line: Gitea shows
/// what is on one line as one conversation.
async fn say_at(http: Link<'_>, number: &str, asked: &Asked<'_>) -> Result<Answer> {
    let (path, line, old) = match asked.body["in_reply_to"].as_u64() {
        Some(to) => {
            let all = lines(http, number).await?;
            let Some((_, root)) = all.iter().find(|(_, line)| line["id"] == json!(to)) else {
                return Ok(listed(Vec::new()).called(404));
            };
            (
                root["path"].clone(),
                root["line"].clone(),
                root["original_line"].clone(),
            )
        }
        None => (
            asked.body["path"].clone(),
            asked.body["line"].clone(),
            Value::Null,
        ),
    };
    let one = json!({
        "path": path,
        "body": asked.body["body"],
        "new_position": line.as_u64().unwrap_or(0),
        "old_position": if line.is_null() { old.as_u64().unwrap_or(0) } else { 0 },
    });
    let mut body = json!({ "event": "COMMENT", "body": "", "comments": [one] });
    if !asked.body["commit_id"].is_null() {
        body["commit_id"] = asked.body["commit_id"].clone();
    }
    let reviews = format!("pulls/{number}/reviews");
    let made = http.send("POST", &reviews, &body).await?;
    if !made.is_good() {
        return Ok(made);
    }
    let review = &made.json()?["id"];
    let path = format!("{reviews}/{review}/comments");
    let mut all = items(&http.get(&path).await?)?;
    let said = all.pop().unwrap_or_default();
    Ok(made.with(|_| placed(&said)))
}

/// The newest status of each name, in GitHub's fields.
async fn statuses(http: Link<'_>, sha: &str) -> Result<Vec<Value>> {
    let path = format!("commits/{}/status", encoded(sha));
    let json = http.found(&path).await?;
    let all = json["statuses"].as_array().into_iter().flatten();
    let all = all.map(|status| {
        let mut status = status.clone();
        // A warning stops nothing.
        status["state"] = match status["status"].as_str() {
            Some("warning") => json!("neutral"),
            _ => status["status"].clone(),
        };
        status
    });
    Ok(all.collect())
}

/// A pull request in GitHub's fields.
fn pull(json: &Value) -> Value {
    let mut pull = json.clone();
    // Once the branch is gone only the label still says what it was called.
    pull["head"]["ref"] = match json["head"]["label"].as_str().unwrap_or_default() {
        "" => json["head"]["ref"].clone(),
        label => json!(label.rsplit(':').next()),
    };
    let title = json["title"].as_str().unwrap_or_default();
    pull["draft"] = json!(json["draft"] == json!(true) || plain_title(title) != title);
    pull["title"] = json!(plain_title(title));
    // No may mean that it is still being computed, or a draft: a merge will tell.
    if json["mergeable"] != json!(true) {
        pull["mergeable"] = Value::Null;
    }
    pull
}
