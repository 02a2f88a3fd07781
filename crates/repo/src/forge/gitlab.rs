//! GitLab: its merge requests are our pull requests. Each sentence of GitHub's REST
//! interface that we use, in GitLab's words, and GitLab's answers in GitHub's fields.
//!
//! Written by GitLab's documentation of version 4 of its interface.

mod look;
mod shapes;
mod tracker;

use serde_json::{Value, json};

use super::{
    answer::Answer,
    dialect::{Asked, good, items, listed, retitled, tip},
    host::Address,
    http::{Link, Manner, encoded},
};
use crate::Result;

pub(super) use look::{moves, words};
use shapes::{check, comment, pull, reviewed, titled};
use tracker::tracker;

const SIZE: &str = "per_page=100";

pub(super) fn manner(address: &Address) -> Manner {
    let whole = format!("{}/{}", address.owner, address.name);
    Manner {
        version: "/api/v4",
        scheme: "Bearer",
        project: format!("projects/{}", encoded(&whole)),
    }
}

/// Who we are there, and what we lack.
pub(super) async fn account(http: Link<'_>) -> Result<(String, Vec<&'static str>)> {
    let name = http.me("username").await?.to_owned();
    let mut lacks = Vec::new();
    // A token of a project or an application does not answer this.
    let token = http.get_top("personal_access_tokens/self").await?;
    if token.is_good() {
        let json = token.json()?;
        let scopes = json["scopes"].as_array().into_iter().flatten();
        if !scopes.into_iter().any(|scope| scope == "api") {
            lacks.push("the scope `api` on its token");
        }
    }
    let rights = &http.get("").await?.json()?["permissions"];
    let level = ["project_access", "group_access"];
    let level = level
        .iter()
        .filter_map(|kind| rights[*kind]["access_level"].as_u64());
    if level.max() < Some(DEVELOPER) {
        lacks.push("the role Developer in the project");
    }
    Ok((name, lacks))
}

/// The table: a sentence of ours, said in GitLab's words.
pub(super) async fn carry_out(http: Link<'_>, asked: &Asked<'_>) -> Result<Answer> {
    let merge_request = |number: &str| format!("merge_requests/{number}");
    match (asked.method, asked.parts.as_slice()) {
        ("GET", ["pulls"]) => pulls(http, asked).await,
        ("POST", ["pulls"]) => create(http, asked).await,
        ("GET", ["pulls", number]) if asked.as_diff => {
            let path = format!("{}/raw_diffs", merge_request(number));
            http.get(&path).await
        }
        ("GET", ["pulls", number]) => http.shown(&merge_request(number), pull).await,
        ("PATCH", ["pulls", number]) => change(http, &merge_request(number), asked)
            .await
            .map(|made| made.with(pull)),
        ("PUT", ["pulls", number, "merge"]) => merge(http, number, asked).await,
        ("GET", ["pulls", number, "reviews"]) => {
            let path = format!("{}/approvals", merge_request(number));
            http.shown(&path, reviewed).await
        }
        ("POST", ["pulls", number, "requested_reviewers"]) => {
            ask_reviews(http, &merge_request(number), asked).await
        }
        ("GET", ["pulls", number, kind @ ("notes" | "comments")]) => {
            let found = discussions(http, number).await?;
            let (notes, lines): (Vec<Value>, Vec<Value>) = found
                .into_iter()
                .map(|(_, note)| comment(&note))
                .partition(|note| note["path"].is_null());
            Ok(listed(if *kind == "notes" { notes } else { lines }))
        }
        ("POST", ["pulls", number, "notes"]) => {
            let path = format!("{}/notes", merge_request(number));
            let made = http.send("POST", &path, &asked.body).await?;
            Ok(made.with(comment))
        }
        ("POST", ["pulls", number, "comments"]) => say_at(http, number, asked).await,
        ("GET", ["commits", sha, "check-runs"]) => {
            let found = statuses(http, sha).await?;
            let runs: Vec<Value> = found.iter().map(check).collect();
            Ok(good(&json!({ "check_runs": runs })))
        }
        ("GET", ["commits", _, "status"]) => Ok(good(&json!({ "statuses": [] }))),
        ("POST", ["statuses", sha]) => say_status(http, sha, asked).await,
        ("GET", ["collaborators", login, "permission"]) => permission(http, login).await,
        ("GET", ["actions", "jobs", job, "logs"]) => http.get(&format!("jobs/{job}/trace")).await,
        ("GET", ["git", "ref", "heads", rest @ ..]) => http.shown(&branch(rest), tip).await,
        ("DELETE", ["git", "refs", "heads", rest @ ..]) => {
            http.send("DELETE", &branch(rest), &Value::Null).await
        }
        ("GET", ["git", "ref", "tags", rest @ ..]) => {
            let path = format!("repository/tags/{}", encoded(&rest.join("/")));
            http.shown(&path, tip).await
        }
        _ => tracker(http, asked).await,
    }
}

fn branch(parts: &[&str]) -> String {
    format!("repository/branches/{}", encoded(&parts.join("/")))
}

fn state(asked: &Asked<'_>) -> &'static str {
    match asked.value("state") {
        Some("open") => "opened",
        _ => "all",
    }
}

async fn pulls(http: Link<'_>, asked: &Asked<'_>) -> Result<Answer> {
    let of = asked
        .branch()
        .map(|name| format!("source_branch={}&", encoded(name)));
    let of = of.unwrap_or_default();
    let path = format!(
        "merge_requests?{of}state={}&{}",
        state(asked),
        asked.page(SIZE)
    );
    Ok(http.get(&path).await?.each(pull))
}

async fn create(http: Link<'_>, asked: &Asked<'_>) -> Result<Answer> {
    let mut body = asked.renamed(&[
        ("body", "description"),
        ("head", "source_branch"),
        ("base", "target_branch"),
    ]);
    let title = asked.body["title"].as_str().unwrap_or_default();
    let draft = asked.body["draft"] == json!(true);
    body["title"] = json!(titled(title, draft));
    body["squash"] = json!(true);
    let made = http.send("POST", "merge_requests", &body).await?;
    Ok(made.taken().with(pull))
}

/// Title, words, state and draft of an issue or a merge request.
async fn change(http: Link<'_>, path: &str, asked: &Asked<'_>) -> Result<Answer> {
    let mut body = asked.renamed(&[
        ("title", "title"),
        ("body", "description"),
        ("base", "target_branch"),
    ]);
    match asked.body["state"].as_str() {
        Some("closed") => body["state_event"] = json!("close"),
        Some("open") => body["state_event"] = json!("reopen"),
        _ => {}
    }
    // Whether it is a draft stands in its title.
    let draft = asked.body["draft"].as_bool();
    if path.starts_with("merge_requests") && (draft.is_some() || body["title"].is_string()) {
        let there = http.get(path).await?;
        let (title, draft) = retitled(&body, &there.with(pull).json()?, draft);
        body["title"] = json!(titled(&title, draft));
    }
    http.send("PUT", path, &body).await
}

async fn merge(http: Link<'_>, number: &str, asked: &Asked<'_>) -> Result<Answer> {
    let text = |name: &str| asked.body[name].as_str().unwrap_or_default();
    let message = format!("{}\n\n{}", text("commit_title"), text("commit_message"));
    let body = json!({
        "sha": asked.body["sha"],
        "squash": true,
        "squash_commit_message": message.trim(),
        "should_remove_source_branch": true,
    });
    let path = format!("merge_requests/{number}");
    let answer = http.send("PUT", &format!("{path}/merge"), &body).await?;
    if answer.is_good() || answer.is_unclear() || answer.status == 409 {
        return Ok(answer);
    }
    // Whoever may not merge is told that they are not known; a look says which it is.
    let there = http.get(&path).await?;
    if !there.is_good() {
        return Ok(there);
    }
    let json = there.json()?;
    let why = no_merge(json["detailed_merge_status"].as_str().unwrap_or_default());
    match (answer.status, why) {
        (_, Some(why)) => Ok(answer.called(405).saying(why)),
        (401, None) => Ok(answer.called(403)),
        _ => Ok(answer.called(405)),
    }
}

/// Why GitLab does not merge, in words that our names for it are found by.
fn no_merge(status: &str) -> Option<&'static str> {
    Some(match status {
        "ci_must_pass" => "GitLab wants a pipeline that succeeded: a check failed",
        "ci_still_running" => "GitLab waits for the pipeline: a check is still running",
        "status_checks_must_pass" => "GitLab waits for an external status check",
        "not_approved" => "GitLab wants an approval that is missing",
        "requested_changes" => "GitLab has a review with changes requested",
        "discussions_not_resolved" => "GitLab wants every thread of the review resolved",
        "draft_status" => "GitLab does not merge a draft",
        "need_rebase" => "GitLab merges here only what stands on the newest default branch",
        "blocked_status" | "merge_request_blocked" => "GitLab wants another merge request first",
        "security_policy_violations" | "policies_denied" => "GitLab has a policy against it",
        "locked_paths" | "locked_lfs_files" => "GitLab has a file of it locked",
        _ => return None,
    })
}

/// Reviewers go by the numbers of their accounts, all of them at once; whoever is no
/// member, or a team, is refused, as GitHub does it.
async fn ask_reviews(http: Link<'_>, path: &str, asked: &Asked<'_>) -> Result<Answer> {
    let there = http.get(path).await?;
    if !there.is_good() {
        return Ok(there);
    }
    let there = there.json()?;
    let known = there["reviewers"].as_array().into_iter().flatten();
    let mut ids: Vec<Value> = known.map(|one| one["id"].clone()).collect();
    if !asked.names("team_reviewers").is_empty() {
        return Ok(listed(Vec::new()).called(422));
    }
    for name in asked.names("reviewers") {
        let members = format!("members/all?query={}&{SIZE}", encoded(&name));
        let members = items(&http.get(&members).await?)?;
        let Some(member) = members.iter().find(|one| one["username"] == name.as_str()) else {
            return Ok(listed(Vec::new()).called(422));
        };
        ids.push(member["id"].clone());
    }
    let body = json!({ "reviewer_ids": ids });
    http.send("PUT", path, &body).await
}

/// Everything that was said, each with the discussion that it stands in.
async fn discussions(http: Link<'_>, number: &str) -> Result<Vec<(String, Value)>> {
    let path = format!("merge_requests/{number}/discussions");
    let all = http.all(&path, SIZE).await?;
    let mut notes = Vec::new();
    for discussion in &all {
        let id = discussion["id"].as_str().unwrap_or_default();
        let said = discussion["notes"].as_array().into_iter().flatten();
        let said = said.filter(|note| note["system"] != json!(true));
        notes.extend(said.map(|note| (id.to_owned(), note.clone())));
    }
    Ok(notes)
}

/// A comment on a line, or below one.
async fn say_at(http: Link<'_>, number: &str, asked: &Asked<'_>) -> Result<Answer> {
    let path = format!("merge_requests/{number}/discussions");
    if let Some(to) = asked.body["in_reply_to"].as_u64() {
        let notes = discussions(http, number).await?;
        let place = notes.iter().find(|(_, note)| note["id"] == json!(to));
        let Some((discussion, root)) = place else {
            return Ok(listed(Vec::new()).called(404));
        };
        let path = format!("{path}/{discussion}/notes");
        let body = json!({ "body": asked.body["body"] });
        let made = http.send("POST", &path, &body).await?;
        // An answer need not repeat where it stands.
        return Ok(made.with(|json| {
            let mut json = json.clone();
            if json["position"].is_null() {
                json["position"] = root["position"].clone();
            }
            comment(&json)
        }));
    }
    let there = http.get(&format!("merge_requests/{number}")).await?;
    if !there.is_good() {
        return Ok(there);
    }
    let refs = there.json()?["diff_refs"].clone();
    let body = json!({
        "body": asked.body["body"],
        "position": {
            "position_type": "text",
            "base_sha": refs["base_sha"],
            "start_sha": refs["start_sha"],
            "head_sha": refs["head_sha"],
            "old_path": asked.body["path"],
            "new_path": asked.body["path"],
            "new_line": asked.body["line"],
        },
    });
    let made = http.send("POST", &path, &body).await?;
    let made = made.with(|json| comment(&json["notes"][0]));
    // A line that the change does not have.
    Ok(if made.status == 400 {
        made.called(422)
    } else {
        made
    })
}

async fn statuses(http: Link<'_>, sha: &str) -> Result<Vec<Value>> {
    let path = format!("repository/commits/{sha}/statuses");
    http.all(&path, SIZE).await
}

async fn say_status(http: Link<'_>, sha: &str, asked: &Asked<'_>) -> Result<Answer> {
    let mut body = asked.renamed(&[("context", "name"), ("description", "description")]);
    let green = asked.body["state"] == "success";
    body["state"] = json!(if green { "success" } else { "failed" });
    let made = http.send("POST", &format!("statuses/{sha}"), &body).await?;
    // It says so already.
    let same = made.status == 400 && made.said().contains("Cannot transition status");
    Ok(if same { made.called(201) } else { made })
}

/// Developers and above may push.
const DEVELOPER: u64 = 30;

async fn permission(http: Link<'_>, login: &str) -> Result<Answer> {
    let answer = http
        .get(&format!("members/all?query={}&{SIZE}", encoded(login)))
        .await?;
    if !answer.is_good() {
        return Ok(answer);
    }
    let may = items(&answer)?.iter().any(|member| {
        let level = member["access_level"].as_u64();
        member["username"] == login && level >= Some(DEVELOPER) && member["state"] == "active"
    });
    let permission = if may { "write" } else { "read" };
    Ok(good(&json!({ "permission": permission })))
}
