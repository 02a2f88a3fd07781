//! The part of GitLab's interface that a forge needs: merge requests with their discussions,
//! approvals and statuses, issues, releases, and one query of its GraphQL interface.

use serde_json::{Value, json};

use super::{Asked, Reply, page, refuse, reply, text};
use crate::{
    github::{Issue, Pull, State, note},
    github_issues,
};

const PROJECT: &str = "you/scratch";
/// Issues and merge requests are counted separately here.
const ISSUES: usize = 100;

pub(super) fn answer(state: &mut State, asked: &Asked) -> Reply {
    let parts: Vec<&str> = asked.parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["", "api", "graphql"] => graphql(state, asked),
        ["", "api", "v4", "user"] => reply(200, user("you")),
        ["", "api", "v4", "personal_access_tokens", "self"] => {
            reply(200, json!({ "id": 1, "active": true, "scopes": ["api"] }))
        }
        ["", "api", "v4", "projects", PROJECT, rest @ ..] => project(state, asked, rest),
        _ => refuse(404, "404 Project Not Found"),
    }
}

fn project(state: &mut State, asked: &Asked, rest: &[&str]) -> Reply {
    match (asked.method.as_str(), rest) {
        ("GET", [] | [""]) => reply(
            200,
            json!({ "id": 1, "path_with_namespace": PROJECT, "default_branch": "main",
                "permissions": { "project_access": { "access_level": 40 }, "group_access": null } }),
        ),
        ("GET", ["merge_requests"]) => list(state, asked),
        ("POST", ["merge_requests"]) => create(state, asked),
        (_, ["merge_requests", number, rest @ ..]) => {
            let number: usize = number.parse().unwrap_or_default();
            if state.pulls.get(number.wrapping_sub(1)).is_none() {
                return refuse(404, "404 Not found");
            }
            merge_request(state, asked, number, rest)
        }
        ("GET", ["repository", "branches", name]) => match state.tip(name) {
            Some(sha) => reply(200, json!({ "name": name, "commit": { "id": sha } })),
            None => refuse(404, "404 Branch Not Found"),
        },
        ("DELETE", ["repository", "branches", name]) => match state.tip(name) {
            Some(_) => {
                state.try_git(&["update-ref", "-d", &format!("refs/heads/{name}")]);
                reply(204, Value::Null)
            }
            None => refuse(404, "404 Branch Not Found"),
        },
        ("GET", ["repository", "tags", name]) => {
            let name = format!("refs/tags/{name}^{{commit}}");
            match state.try_git(&["rev-parse", "--verify", "--quiet", &name]) {
                Some(sha) => reply(200, json!({ "commit": { "id": sha } })),
                None => refuse(404, "404 Tag Not Found"),
            }
        }
        ("GET", ["repository", "commits", sha, "statuses"]) => paged(statuses(state, sha), asked),
        ("GET", ["repository", "commits", sha]) => {
            let format = ["log", "-1", "--format=%cn%n%ce", sha];
            match state.try_git(&format) {
                Some(said) => {
                    let (name, mail) = said.split_once('\n').unwrap_or_default();
                    let made =
                        json!({ "id": sha, "committer_name": name, "committer_email": mail });
                    reply(200, made)
                }
                None => refuse(404, "404 Commit Not Found"),
            }
        }
        ("POST", ["statuses", sha]) => set_status(state, asked, sha),
        ("GET", ["jobs", job, "trace"]) => {
            match job.parse().ok().and_then(|job: u64| state.logs.get(&job)) {
                Some(log) => text(log.clone()),
                None => refuse(404, "404 Not found"),
            }
        }
        ("GET", ["members", "all"]) => {
            let wanted = asked.query.get("query").cloned().unwrap_or_default();
            let writers = state.writers.iter().map(|name| (name.as_str(), 30));
            let members = writers.chain([("ben", 10)]);
            let members = members.filter(|(name, _)| name.contains(&wanted));
            let shown = |(name, level): (&str, u64)| {
                let mut member = user(name);
                member["access_level"] = json!(level);
                member
            };
            paged(members.map(shown).collect(), asked)
        }
        _ => tracker(state, asked, rest),
    }
}

fn paged(items: Vec<Value>, asked: &Asked) -> Reply {
    page(
        items,
        asked.number("per_page", 20).min(100),
        asked.number("page", 1),
    )
}

fn user(name: &str) -> Value {
    let id: u64 = name.bytes().map(u64::from).sum();
    json!({ "id": id, "username": name, "name": name, "state": "active" })
}

fn merge_request(state: &mut State, asked: &Asked, number: usize, rest: &[&str]) -> Reply {
    let pull = state.pulls[number - 1].clone();
    match (asked.method.as_str(), rest) {
        ("GET", []) => reply(200, shown(state, &pull)),
        ("PUT", []) => edit(state, asked, pull),
        ("PUT", ["merge"]) => merge(state, asked, &pull),
        ("GET", ["raw_diffs"]) => {
            let shown = shown(state, &pull);
            let head = shown["sha"].as_str().unwrap_or_default();
            text(
                state
                    .try_git(&["diff", &format!("{}...{head}", pull.base)])
                    .unwrap_or_default(),
            )
        }
        ("GET", ["approvals"]) => {
            let by = reviewers(&pull, "APPROVED").map(|name| json!({ "user": user(name) }));
            reply(200, json!({ "approved_by": by.collect::<Vec<_>>() }))
        }
        ("GET", ["reviewers"]) => {
            let by = reviewers(&pull, "CHANGES_REQUESTED");
            let by = by.map(|name| json!({ "user": user(name), "state": "requested_changes" }));
            reply(200, by.collect())
        }
        ("GET", ["discussions"]) => paged(discussions(state, &pull), asked),
        ("POST", ["notes"]) => {
            let made = note(state.comment_id(), "you", &asked.text("body"));
            state.pulls[number - 1].notes.push(made.clone());
            reply(201, said(&made, &Value::Null))
        }
        ("POST", ["discussions"]) => discuss(state, asked, &pull),
        ("POST", ["discussions", root, "notes"]) => answer_to(state, asked, &pull, root),
        _ => refuse(404, "404 Not Found"),
    }
}

fn reviewers<'a>(pull: &'a Pull, word: &'a str) -> impl Iterator<Item = &'a str> {
    let all = pull.reviews.iter().filter(move |one| one["state"] == word);
    all.filter_map(|one| one["user"]["login"].as_str())
}

fn list(state: &State, asked: &Asked) -> Reply {
    let branch = asked.query.get("source_branch");
    let wanted = asked.query.get("state").map_or("all", String::as_str);
    let all = state.pulls.iter().rev();
    let all = all.filter(|pull| branch.is_none_or(|name| *name == pull.branch));
    let all = all.map(|pull| shown(state, pull));
    paged(
        all.filter(|one| wanted == "all" || one["state"] == wanted)
            .collect(),
        asked,
    )
}

fn create(state: &mut State, asked: &Asked) -> Reply {
    let branch = asked.text("source_branch");
    let Some(head) = state.tip(&branch) else {
        return reply(
            400,
            json!({ "message": { "source_branch": ["does not exist"] } }),
        );
    };
    if let Some(open) = state.pulls.iter().find(|p| p.branch == branch && !p.closed) {
        let said = format!(
            "Another open merge request already exists for this source branch: !{}",
            open.number
        );
        return reply(409, json!({ "message": [said] }));
    }
    let mut pull = state.fresh(&branch, head);
    pull.base = asked.text("target_branch");
    retitle(&mut pull, &asked.text("title"));
    pull.body = asked.text("description");
    state.pulls.push(pull.clone());
    reply(201, shown(state, &pull))
}

fn retitle(pull: &mut Pull, title: &str) {
    pull.draft = title.starts_with("Draft: ");
    pull.title = title.strip_prefix("Draft: ").unwrap_or(title).to_owned();
}

fn edit(state: &mut State, asked: &Asked, mut pull: Pull) -> Reply {
    if asked.body["title"].is_string() {
        retitle(&mut pull, &asked.text("title"));
    }
    if asked.body["description"].is_string() {
        pull.body = asked.text("description");
    }
    match asked.text("state_event").as_str() {
        "close" => {
            pull.last_head = state.tip(&pull.branch).unwrap_or(pull.last_head);
            pull.closed = true;
            "you".clone_into(&mut pull.ended_by);
        }
        "reopen" => pull.closed = false,
        _ => {}
    }
    state.label(pull.number, &asked.text("add_labels"));
    if let Some(ids) = asked.body["reviewer_ids"].as_array() {
        let known = state
            .writers
            .iter()
            .filter(|name| ids.contains(&user(name)["id"]));
        // The account itself cannot review what it wrote.
        pull.asked = known.filter(|name| *name != "you").cloned().collect();
    }
    let number = pull.number;
    state.pulls[number - 1] = pull.clone();
    reply(200, shown(state, &pull))
}

fn shown(state: &State, pull: &Pull) -> Value {
    let open = !pull.closed;
    let head = open.then(|| state.tip(&pull.branch)).flatten();
    let head = head.unwrap_or_else(|| pull.last_head.clone());
    let merged = pull.merge_commit.is_some();
    let conflict = open && !state.merges(&pull.base, &head);
    let no = state.no_merge.as_ref().map(|(_, why)| why.as_str());
    let status = match no {
        _ if !open => "not_open",
        _ if pull.draft => "draft_status",
        _ if conflict => "conflict",
        Some(why) => why,
        None => "mergeable",
    };
    let base = state.try_git(&["merge-base", &pull.base, &head]);
    let title = format!("{}{}", if pull.draft { "Draft: " } else { "" }, pull.title);
    let (ended, closed) = (user(&pull.ended_by), pull.closed && !merged);
    // Of a merge commit, its second parent is the squash.
    let squash = pull.merge_commit.as_ref();
    let squash = squash.and_then(|made| state.try_git(&["rev-parse", &format!("{made}^2")]));
    json!({
        "id": 900 + pull.number,
        "iid": pull.number,
        "project_id": 1,
        "title": title,
        "description": pull.body,
        "state": if merged { "merged" } else if open { "opened" } else { "closed" },
        "source_branch": pull.branch,
        "target_branch": pull.base,
        "author": user("you"),
        "labels": state.labels_of(pull.number),
        "draft": pull.draft,
        "reviewers": pull.asked.iter().map(|name| user(name)).collect::<Vec<_>>(),
        "sha": head,
        "merge_commit_sha": pull.merge_commit,
        "squash_commit_sha": squash,
        "merge_user": if merged { ended.clone() } else { Value::Null },
        "merged_by": if merged { ended.clone() } else { Value::Null },
        "closed_by": if closed { ended } else { Value::Null },
        "has_conflicts": conflict,
        "merge_status": if conflict { "cannot_be_merged" } else { "can_be_merged" },
        "detailed_merge_status": status,
        "user_notes_count": pull.notes.len() + pull.lines.len(),
        "diff_refs": { "base_sha": base, "head_sha": head, "start_sha": base },
        "web_url": format!("https://forge.example.invalid/you/scratch/-/merge_requests/{}", pull.number),
    })
}

/// A squash, and a merge commit for it: what a new project does.
fn merge(state: &mut State, asked: &Asked, pull: &Pull) -> Reply {
    let there = shown(state, pull);
    let head = there["sha"].as_str().unwrap_or_default().to_owned();
    if asked.body["sha"].is_string() && asked.body["sha"] != there["sha"] {
        return refuse(
            409,
            &format!("SHA does not match HEAD of source branch: {head}"),
        );
    }
    match there["detailed_merge_status"].as_str() {
        Some("mergeable") => {}
        Some("conflict") => return refuse(422, "Branch cannot be merged"),
        _ => return refuse(405, "405 Method Not Allowed"),
    }
    if asked.body["squash"] != json!(true) {
        return refuse(400, "this stand-in only squashes");
    }
    let made = (|| {
        let base = state.tip(&pull.base)?;
        let from = state.try_git(&["merge-base", &base, &head])?;
        let tree = format!("{head}^{{tree}}");
        let words = asked.text("squash_commit_message");
        let squash = state.try_git(&["commit-tree", &tree, "-p", &from, "-m", &words])?;
        let tree = state.try_git(&["merge-tree", "--write-tree", &base, &squash])?;
        let words = format!("Merge branch '{}' into '{}'", pull.branch, pull.base);
        let parents = ["-p", &base, "-p", &squash, "-m", &words];
        let args: Vec<&str> = ["commit-tree", &tree].into_iter().chain(parents).collect();
        let made = state.try_git(&args)?;
        state.try_git(&[
            "update-ref",
            &format!("refs/heads/{}", pull.base),
            &made,
            &base,
        ])?;
        Some(made)
    })();
    let Some(made) = made else {
        return refuse(422, "Branch cannot be merged");
    };
    if asked.body["should_remove_source_branch"] == json!(true) {
        state.try_git(&["update-ref", "-d", &format!("refs/heads/{}", pull.branch)]);
    }
    let mut pull = pull.clone();
    (pull.closed, pull.merge_commit, pull.last_head) = (true, Some(made), head);
    "you".clone_into(&mut pull.ended_by);
    let number = pull.number;
    state.pulls[number - 1] = pull.clone();
    reply(200, shown(state, &pull))
}

fn said(made: &Value, position: &Value) -> Value {
    json!({
        "id": made["id"],
        "type": if position.is_null() { Value::Null } else { json!("DiffNote") },
        "body": made["body"],
        "author": user(made["user"]["login"].as_str().unwrap_or_default()),
        "created_at": made["created_at"],
        "system": false,
        "position": position,
    })
}

fn position(state: &State, pull: &Pull, line: &Value) -> Value {
    let now = shown(state, pull)["sha"].clone();
    let gone = line["outdated"] == json!(true);
    json!({
        "position_type": "text",
        "head_sha": if gone { json!("0".repeat(40)) } else { now },
        "new_path": line["path"],
        "old_path": line["path"],
        "new_line": line["line"],
        "old_line": null,
    })
}

fn discussions(state: &State, pull: &Pull) -> Vec<Value> {
    let mut all = vec![json!({ "id": "system", "individual_note": true, "notes": [
        { "id": 1, "system": true, "body": "added 1 commit", "author": user("you"),
          "created_at": "2026-01-02T03:04:05Z" }] })];
    for made in &pull.notes {
        let notes = json!([said(made, &Value::Null)]);
        all.push(
            json!({ "id": format!("n{}", made["id"]), "individual_note": true, "notes": notes }),
        );
    }
    let roots = pull
        .lines
        .iter()
        .filter(|line| line["in_reply_to_id"].is_null());
    for root in roots {
        let below = pull.lines.iter();
        let below =
            below.filter(|line| line["in_reply_to_id"] == root["id"] || line["id"] == root["id"]);
        let notes: Vec<Value> = below
            .map(|line| said(line, &position(state, pull, root)))
            .collect();
        all.push(
            json!({ "id": format!("d{}", root["id"]), "individual_note": false, "notes": notes }),
        );
    }
    all
}

fn discuss(state: &mut State, asked: &Asked, pull: &Pull) -> Reply {
    let place = &asked.body["position"];
    let refs = shown(state, pull)["diff_refs"].clone();
    let fits = ["base_sha", "head_sha", "start_sha"]
        .iter()
        .all(|name| place[*name] == refs[*name]);
    let path = place["new_path"].as_str().unwrap_or_default();
    let range = format!(
        "{}...{}",
        pull.base,
        refs["head_sha"].as_str().unwrap_or_default()
    );
    let touched = state
        .try_git(&["diff", "--name-only", &range])
        .unwrap_or_default();
    if !fits || !touched.lines().any(|line| line == path) || place["new_line"].as_u64().is_none() {
        let said = "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}";
        return refuse(400, said);
    }
    let mut made = note(state.comment_id(), "you", &asked.text("body"));
    (made["path"], made["line"]) = (place["new_path"].clone(), place["new_line"].clone());
    state.pulls[pull.number - 1].lines.push(made.clone());
    let shown = said(&made, &position(state, pull, &made));
    reply(
        201,
        json!({ "id": format!("d{}", made["id"]), "notes": [shown] }),
    )
}

fn answer_to(state: &mut State, asked: &Asked, pull: &Pull, root: &str) -> Reply {
    let id: Option<u64> = root.strip_prefix('d').and_then(|id| id.parse().ok());
    let root = pull
        .lines
        .iter()
        .find(|line| line["id"].as_u64() == id && id.is_some());
    let Some(root) = root.cloned() else {
        return refuse(404, "404 Discussion Not Found");
    };
    let mut made = note(state.comment_id(), "you", &asked.text("body"));
    (made["path"], made["line"]) = (root["path"].clone(), root["line"].clone());
    made["in_reply_to_id"] = root["id"].clone();
    state.pulls[pull.number - 1].lines.push(made.clone());
    reply(201, said(&made, &position(state, pull, &root)))
}

fn statuses(state: &State, sha: &str) -> Vec<Value> {
    let runs = state.checks.iter().filter(|run| run["head_sha"] == sha);
    let runs = runs.map(|run| {
        let status = match run["conclusion"].as_str() {
            Some("success") => "success",
            Some("skipped") => "skipped",
            Some(_) => "failed",
            None => "running",
        };
        json!({ "id": run["id"], "sha": sha, "name": run["name"], "status": status,
            "allow_failure": false, "description": null, "target_url": null })
    });
    let ours = state.statuses.iter().filter(|one| one["sha"] == sha);
    let ours = ours.map(|one| {
        let status = if one["state"] == "success" {
            "success"
        } else {
            "failed"
        };
        json!({ "id": 1, "sha": sha, "name": one["context"], "status": status,
            "allow_failure": false, "description": one["description"], "target_url": null })
    });
    runs.chain(ours).collect()
}

fn set_status(state: &mut State, asked: &Asked, sha: &str) -> Reply {
    let wanted = asked.text("state");
    let kept = if wanted == "success" {
        "success"
    } else {
        "failure"
    };
    let same = |one: &&Value| one["sha"] == sha && one["context"] == asked.body["name"];
    if state
        .statuses
        .iter()
        .rfind(same)
        .is_some_and(|one| one["state"] == kept)
    {
        let said = format!("Cannot transition status via :{wanted} from :{wanted}");
        return refuse(400, &said);
    }
    state.statuses.push(
        json!({ "sha": sha, "context": asked.body["name"], "state": kept,
        "description": asked.body["description"] }),
    );
    reply(201, json!({ "sha": sha, "status": wanted }))
}

/// What the one query asks for; another field is not known here.
const FIELDS: [&str; 10] = [
    "iid",
    "state",
    "diffHeadSha",
    "draft",
    "conflicts",
    "updatedAt",
    "userNotesCount",
    "headPipeline",
    "status",
    "nodes",
];

fn graphql(state: &State, asked: &Asked) -> Reply {
    let query = asked.text("query");
    let wanted = query
        .split_once("nodes {")
        .map(|(_, fields)| fields)
        .unwrap_or_default();
    let mut names = wanted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|name| !name.is_empty());
    if let Some(unknown) = names.find(|name| !FIELDS.contains(name)) {
        let said = format!("Field '{unknown}' doesn't exist on type 'MergeRequest'");
        return reply(200, json!({ "errors": [{ "message": said }] }));
    }
    let variables = &asked.body["variables"];
    if variables["project"] != PROJECT {
        return reply(200, json!({ "data": { "project": null } }));
    }
    let numbers = variables["numbers"].as_array().into_iter().flatten();
    let pulls = numbers.filter_map(|number| {
        let number: usize = number.as_str()?.parse().ok()?;
        state.pulls.get(number.wrapping_sub(1))
    });
    let nodes = pulls.take(100).map(|pull| {
        let shown = shown(state, pull);
        let head = shown["sha"].as_str().unwrap_or_default();
        let all = statuses(state, head);
        let of = |word: &str| all.iter().any(|one| one["status"] == word);
        let status = match () {
            () if all.is_empty() => Value::Null,
            () if of("running") => json!("RUNNING"),
            () if of("failed") => json!("FAILED"),
            () => json!("SUCCESS"),
        };
        let pipeline = json!({ "status": status, "updatedAt": all.len().to_string() });
        json!({
            "iid": pull.number.to_string(),
            "state": shown["state"],
            "diffHeadSha": head,
            "draft": pull.draft,
            "conflicts": shown["has_conflicts"],
            "updatedAt": format!("{}-{}", pull.reviews.len(), pull.title),
            "userNotesCount": shown["user_notes_count"],
            "headPipeline": if status.is_null() { Value::Null } else { pipeline },
        })
    });
    let nodes: Vec<Value> = nodes.collect();
    reply(
        200,
        json!({ "data": { "project": { "mergeRequests": { "nodes": nodes } } } }),
    )
}

fn tracker(state: &mut State, asked: &Asked, rest: &[&str]) -> Reply {
    match (asked.method.as_str(), rest) {
        ("GET", ["issues"]) => {
            let wanted = asked.query.get("state").map_or("all", String::as_str);
            let since = asked.query.get("updated_after");
            let all = state.issues.iter().rev();
            let all = all.filter(|one| github_issues::is_since(&one.shown, since));
            let all = all.map(issue);
            paged(
                all.filter(|one| wanted == "all" || one["state"] == wanted)
                    .collect(),
                asked,
            )
        }
        ("POST", ["issues"]) => {
            let (title, body) = (asked.text("title"), asked.text("description"));
            let mut shown = github_issues::shown(state, "you", &title, &body);
            add(&mut shown, &asked.text("labels"));
            state.issues.push(Issue {
                shown,
                notes: Vec::new(),
                labelled: Vec::new(),
            });
            reply(201, state.issues.last().map(issue).unwrap_or_default())
        }
        (_, ["issues", number, rest @ ..]) => {
            let number: usize = number.parse().unwrap_or_default();
            one_issue(state, asked, number, rest)
        }
        ("GET", ["releases"]) => paged(state.releases.iter().rev().map(release).collect(), asked),
        ("GET", ["releases", tag]) => {
            let found = state.releases.iter().find(|one| one["tag_name"] == *tag);
            found.map_or_else(
                || refuse(404, "404 Not Found"),
                |one| reply(200, release(one)),
            )
        }
        ("POST", ["releases"]) => publish(state, asked),
        _ => refuse(404, "404 Not Found"),
    }
}

fn one_issue(state: &mut State, asked: &Asked, number: usize, rest: &[&str]) -> Reply {
    let id = state.comment_id();
    let Some(found) = github_issues::find(state, number + ISSUES) else {
        return refuse(404, "404 Not found");
    };
    match (asked.method.as_str(), rest) {
        ("GET", []) => reply(200, issue(found)),
        ("PUT", []) => {
            if asked.text("state_event") == "close" {
                found.shown["state"] = json!("closed");
            }
            add(&mut found.shown, &asked.text("add_labels"));
            reply(200, issue(found))
        }
        ("GET", ["resource_label_events"]) => {
            let labels = found.labelled.iter().map(|one| {
                json!({
                    "id": one.id,
                    "action": "add",
                    "label": { "name": one.name },
                    "user": user(&one.login),
                })
            });
            paged(labels.collect(), asked)
        }
        ("GET", ["notes"]) => {
            let notes = found.notes.iter().map(|made| said(made, &Value::Null));
            paged(notes.collect(), asked)
        }
        ("POST", ["notes"]) => {
            let made = note(id, "you", &asked.text("body"));
            found.notes.push(made.clone());
            reply(201, said(&made, &Value::Null))
        }
        _ => refuse(404, "404 Not Found"),
    }
}

/// Adds labels, which GitLab makes where they are not there.
fn add(shown: &mut Value, names: &str) {
    let Some(labels) = shown["labels"].as_array_mut() else {
        return;
    };
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let label = json!({ "name": name });
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
}

fn issue(issue: &Issue) -> Value {
    let shown = &issue.shown;
    let number = shown["number"].as_u64().unwrap_or_default() - ISSUES as u64;
    let labels = shown["labels"].as_array().into_iter().flatten();
    let labels: Vec<&Value> = labels.map(|label| &label["name"]).collect();
    json!({
        "id": 700 + number,
        "iid": number,
        "title": shown["title"],
        "description": shown["body"],
        "state": if shown["state"] == "open" { "opened" } else { "closed" },
        "labels": labels,
        "author": user(shown["user"]["login"].as_str().unwrap_or_default()),
        "web_url": format!("https://forge.example.invalid/you/scratch/-/issues/{number}"),
        "updated_at": shown["updated_at"],
    })
}

fn release(kept: &Value) -> Value {
    let tag = kept["tag_name"].as_str().unwrap_or_default();
    json!({
        "tag_name": tag,
        "name": kept["name"],
        "description": kept["body"],
        "_links": { "self": format!("https://forge.example.invalid/you/scratch/-/releases/{tag}") },
    })
}

fn publish(state: &mut State, asked: &Asked) -> Reply {
    let tag = asked.text("tag_name");
    if state
        .releases
        .iter()
        .any(|one| one["tag_name"] == tag.as_str())
    {
        return refuse(409, "Release already exists");
    }
    let name = format!("refs/tags/{tag}");
    let there = state.try_git(&["rev-parse", "--verify", "--quiet", &name]);
    if there.is_none()
        && state
            .try_git(&["update-ref", &name, &asked.text("ref")])
            .is_none()
    {
        return refuse(422, "Failed to create tag");
    }
    state
        .releases
        .push(json!({ "tag_name": tag, "name": asked.text("name"),
        "body": asked.text("description") }));
    reply(201, state.releases.last().map(release).unwrap_or_default())
}
