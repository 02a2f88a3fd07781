//! The part of Gitea's interface that a forge needs, and of Forgejo's, which is a fork of it.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Asked, Flavour, Reply, page, refuse, reply, text};
use crate::{
    github::{Issue, Pull, State, note},
    github_issues,
};

/// A review that holds one comment is numbered after it.
const REVIEWS: u64 = 50_000;

type Seen = HashMap<usize, (String, u64)>;

pub(super) fn answer(state: &mut State, seen: &mut Seen, flavour: Flavour, asked: &Asked) -> Reply {
    let parts: Vec<&str> = asked.parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["", "api", "v1", "user"] => reply(200, json!({ "id": 1, "login": "you" })),
        ["", "api", "v1", "repos", "you", "scratch", rest @ ..] => match rest {
            ["pulls", rest @ ..] => pulls(state, seen, asked, rest),
            ["actions", "jobs", job, "logs"] if flavour == Flavour::Gitea => {
                let log = job.parse().ok().and_then(|job: u64| state.logs.get(&job));
                log.map_or_else(missing, |log| text(log.clone()))
            }
            _ => repo(state, asked, rest),
        },
        _ => missing(),
    }
}

fn missing() -> Reply {
    refuse(404, "The target couldn't be found.")
}

fn paged(items: Vec<Value>, asked: &Asked) -> Reply {
    page(
        items,
        asked.number("limit", 30).min(50),
        asked.number("page", 1),
    )
}

fn pulls(state: &mut State, seen: &mut Seen, asked: &Asked, rest: &[&str]) -> Reply {
    match (asked.method.as_str(), rest) {
        ("GET", []) => list(state, seen, asked),
        ("POST", []) => create(state, seen, asked),
        (method, [number, rest @ ..]) => {
            let (digits, diff) = match number.strip_suffix(".diff") {
                Some(digits) => (digits, true),
                None => (*number, false),
            };
            let Ok(number) = digits.parse::<usize>() else {
                return by_branch(state, seen, digits, rest);
            };
            let Some(pull) = state.pulls.get(number.wrapping_sub(1)).cloned() else {
                return missing();
            };
            match (method, rest) {
                ("GET", []) if diff => {
                    let head = shown(state, seen, &pull)["head"]["sha"].clone();
                    let range = format!("{}...{}", pull.base, head.as_str().unwrap_or_default());
                    text(state.try_git(&["diff", &range]).unwrap_or_default())
                }
                ("GET", []) => reply(200, shown(state, seen, &pull)),
                ("PATCH", []) => edit(state, seen, asked, pull),
                ("POST", ["merge"]) => merge(state, asked, &pull),
                ("POST", ["requested_reviewers"]) => ask(state, asked, number),
                ("GET", ["reviews"]) => paged(reviews(&pull), asked),
                ("POST", ["reviews"]) => review(state, asked, &pull),
                ("GET", ["reviews", id, "comments"]) => lines(&pull, id),
                _ => missing(),
            }
        }
        _ => missing(),
    }
}

fn ask(state: &mut State, asked: &Asked, number: usize) -> Reply {
    let names = asked.body["reviewers"].as_array().into_iter().flatten();
    let names: Vec<String> = names
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let known = |name: &String| name != "you" && state.writers.contains(name);
    let teams = asked.body["team_reviewers"].as_array();
    if !names.iter().all(known) || teams.is_some_and(|teams| !teams.is_empty()) {
        return refuse(422, "user does not exist, or cannot review here");
    }
    state.pulls[number - 1].asked.extend(names);
    reply(201, json!([]))
}

/// The pull request of two branches: the first that was made, whatever became of it.
fn by_branch(state: &State, seen: &mut Seen, base: &str, rest: &[&str]) -> Reply {
    let head = rest.join("/");
    let found = state
        .pulls
        .iter()
        .find(|pull| pull.base == base && pull.branch == head);
    match found {
        Some(pull) => reply(200, shown(state, seen, pull)),
        None => missing(),
    }
}

fn list(state: &State, seen: &mut Seen, asked: &Asked) -> Reply {
    let wanted = asked.query.get("state").map_or("open", String::as_str);
    let all = state
        .pulls
        .iter()
        .rev()
        .map(|pull| shown(state, seen, pull));
    let mut all: Vec<Value> = all
        .filter(|one| wanted == "all" || one["state"] == wanted)
        .collect();
    if asked
        .query
        .get("sort")
        .is_some_and(|sort| sort == "recentupdate")
    {
        all.sort_by(|a, b| b["updated_at"].as_str().cmp(&a["updated_at"].as_str()));
    }
    paged(all, asked)
}

fn create(state: &mut State, seen: &mut Seen, asked: &Asked) -> Reply {
    let branch = asked.text("head");
    let Some(head) = state.tip(&branch) else {
        return missing();
    };
    if state
        .pulls
        .iter()
        .any(|pull| pull.branch == branch && !pull.closed)
    {
        return refuse(409, "pull request already exists for these targets");
    }
    let mut pull = state.fresh(&branch, head);
    pull.base = asked.text("base");
    retitle(&mut pull, &asked.text("title"));
    pull.body = asked.text("body");
    state.pulls.push(pull.clone());
    reply(201, shown(state, seen, &pull))
}

fn retitle(pull: &mut Pull, title: &str) {
    pull.draft = title.starts_with("WIP: ");
    pull.title = title.strip_prefix("WIP: ").unwrap_or(title).to_owned();
}

fn edit(state: &mut State, seen: &mut Seen, asked: &Asked, mut pull: Pull) -> Reply {
    if asked.body["title"].is_string() {
        retitle(&mut pull, &asked.text("title"));
    }
    if asked.body["body"].is_string() {
        pull.body = asked.text("body");
    }
    if asked.text("state") == "closed" {
        pull.last_head = state.tip(&pull.branch).unwrap_or(pull.last_head);
        pull.closed = true;
        "you".clone_into(&mut pull.ended_by);
    }
    let number = pull.number;
    state.pulls[number - 1] = pull.clone();
    reply(201, shown(state, seen, &pull))
}

fn shown(state: &State, seen: &mut Seen, pull: &Pull) -> Value {
    let open = !pull.closed;
    let tip = state.tip(&pull.branch);
    let head = tip
        .clone()
        .filter(|_| open)
        .unwrap_or_else(|| pull.last_head.clone());
    let mergeable = open && !pull.draft && state.merges(&pull.base, &head);
    // A branch that is gone is shown as the ref that Gitea keeps of it.
    let name = match tip {
        Some(_) => pull.branch.clone(),
        None => format!("refs/pull/{}/head", pull.number),
    };
    let merged = pull.merge_commit.is_some();
    let title = format!("{}{}", if pull.draft { "WIP: " } else { "" }, pull.title);
    let comments = pull.notes.len() + pull.lines.len();
    let moved = format!(
        "{head} {open} {title} {} {comments} {}",
        pull.body,
        pull.reviews.len()
    );
    json!({
        "id": 900 + pull.number,
        "number": pull.number,
        "title": title,
        "body": pull.body,
        "state": if open { "open" } else { "closed" },
        "draft": pull.draft,
        "user": { "login": "you" },
        "requested_reviewers": pull.asked.iter().map(|login| json!({ "login": login })).collect::<Vec<_>>(),
        "labels": state.labels_of(pull.number).iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        "head": { "label": pull.branch, "ref": name, "sha": head },
        "base": { "label": pull.base, "ref": pull.base, "sha": state.tip(&pull.base) },
        "mergeable": mergeable,
        "merged": merged,
        "merged_at": merged.then_some("2026-01-02T03:04:05Z"),
        "merge_commit_sha": pull.merge_commit,
        "merged_by": if merged { json!({ "login": pull.ended_by }) } else { Value::Null },
        "comments": pull.notes.len(),
        "updated_at": changed(seen, pull.number, moved),
        "html_url": format!("https://forge.example.invalid/you/scratch/pulls/{}", pull.number),
    })
}

/// When it was changed last: later than all others, if anybody sees it changed now.
fn changed(seen: &mut Seen, number: usize, moved: String) -> String {
    let newest = seen.values().map(|(_, at)| *at).max().unwrap_or_default();
    let entry = seen.entry(number).or_default();
    if entry.0 != moved {
        *entry = (moved, newest + 1);
    }
    let at = entry.1;
    format!(
        "2026-02-03T{:02}:{:02}:{:02}Z",
        at / 3600,
        at / 60 % 60,
        at % 60
    )
}

fn merge(state: &mut State, asked: &Asked, pull: &Pull) -> Reply {
    let Some(head) = state.tip(&pull.branch) else {
        return missing();
    };
    if pull.closed {
        return missing();
    }
    if pull.draft {
        return refuse(405, "Work in progress PRs cannot be merged");
    }
    if let Some((status, why)) = state.no_merge.clone() {
        return refuse(status, &why);
    }
    if !state.merges(&pull.base, &head) {
        return refuse(405, "Please try again later");
    }
    if asked.body["head_commit_id"]
        .as_str()
        .is_some_and(|sha| sha != head)
    {
        return refuse(409, "head out of date");
    }
    if asked.text("Do") != "squash" {
        return refuse(405, "merge strategy is not allowed or is invalid");
    }
    let words = [
        asked.text("MergeTitleField"),
        asked.text("MergeMessageField"),
    ]
    .join("\n\n");
    if state.squash(pull.number, &words).is_none() {
        return refuse(409, "merge push out of date");
    }
    if asked.body["delete_branch_after_merge"] == json!(true) {
        state.try_git(&["update-ref", "-d", &format!("refs/heads/{}", pull.branch)]);
    }
    reply(200, Value::Null)
}

fn reviews(pull: &Pull) -> Vec<Value> {
    let whole = pull.reviews.iter().map(|one| {
        let word = match one["state"].as_str() {
            Some("CHANGES_REQUESTED") => "REQUEST_CHANGES",
            Some("COMMENTED") => "COMMENT",
            Some(word) => word,
            None => "COMMENT",
        };
        json!({ "id": one["id"], "user": one["user"], "body": one["body"], "state": word,
            "comments_count": 0, "dismissed": false, "stale": false })
    });
    let lines = pull.lines.iter().map(|line| {
        let id = REVIEWS + line["id"].as_u64().unwrap_or_default();
        json!({ "id": id, "user": line["user"], "body": "", "state": "COMMENT",
            "comments_count": 1, "dismissed": false, "stale": false })
    });
    whole.chain(lines).collect()
}

fn lines(pull: &Pull, review: &str) -> Reply {
    let id = review
        .parse::<u64>()
        .unwrap_or_default()
        .wrapping_sub(REVIEWS);
    let of_it = pull
        .lines
        .iter()
        .filter(|line| line["id"].as_u64() == Some(id));
    let of_it = of_it.map(|line| {
        json!({ "id": line["id"], "body": line["body"], "user": line["user"], "path": line["path"],
            "position": line["line"], "original_position": 0, "created_at": line["created_at"],
            "pull_request_review_id": REVIEWS + id })
    });
    reply(200, of_it.collect())
}

fn review(state: &mut State, asked: &Asked, pull: &Pull) -> Reply {
    let one = &asked.body["comments"][0];
    let line = one["new_position"].as_u64().filter(|line| *line > 0);
    if asked.text("event") != "COMMENT" || !one["path"].is_string() || line.is_none() {
        return refuse(422, "review event COMMENT requires a body or a comment");
    }
    let mut made = note(
        state.comment_id(),
        "you",
        one["body"].as_str().unwrap_or_default(),
    );
    (made["path"], made["line"]) = (one["path"].clone(), json!(line));
    // What is on one line is one conversation.
    let same = |there: &&Value| there["path"] == made["path"] && there["line"] == made["line"];
    let root = pull.lines.iter().find(same).map(|root| root["id"].clone());
    if let Some(root) = root {
        made["in_reply_to_id"] = root;
    }
    let id = REVIEWS + made["id"].as_u64().unwrap_or_default();
    state.pulls[pull.number - 1].lines.push(made);
    reply(
        200,
        json!({ "id": id, "state": "COMMENT", "comments_count": 1 }),
    )
}

fn repo(state: &mut State, asked: &Asked, rest: &[&str]) -> Reply {
    match (asked.method.as_str(), rest) {
        ("GET", [] | [""]) => {
            let rights = json!({ "admin": true, "push": true, "pull": true });
            reply(
                200,
                json!({ "full_name": "you/scratch", "permissions": rights }),
            )
        }
        ("GET", ["branches", rest @ ..]) => match state.tip(&rest.join("/")) {
            Some(sha) => reply(
                200,
                json!({ "name": rest.join("/"), "commit": { "id": sha } }),
            ),
            None => missing(),
        },
        ("DELETE", ["branches", rest @ ..]) => {
            let name = rest.join("/");
            if state.tip(&name).is_none() {
                return missing();
            }
            state.try_git(&["update-ref", "-d", &format!("refs/heads/{name}")]);
            reply(204, Value::Null)
        }
        ("GET", ["tags", rest @ ..]) => {
            let name = format!("refs/tags/{}^{{commit}}", rest.join("/"));
            match state.try_git(&["rev-parse", "--verify", "--quiet", &name]) {
                Some(sha) => reply(200, json!({ "commit": { "sha": sha } })),
                None => missing(),
            }
        }
        ("GET", ["git", "commits", sha]) => {
            match state.try_git(&["log", "-1", "--format=%cn%n%ce", sha]) {
                Some(said) => {
                    let (name, mail) = said.split_once('\n').unwrap_or_default();
                    reply(
                        200,
                        json!({ "sha": sha, "commit": { "committer": { "name": name, "email": mail } } }),
                    )
                }
                None => missing(),
            }
        }
        ("GET", ["commits", name, "status"]) => {
            let sha = state.tip(name).unwrap_or_else(|| (*name).to_owned());
            reply(
                200,
                json!({ "state": "", "statuses": statuses(state, &sha) }),
            )
        }
        ("POST", ["statuses", sha]) => {
            let mut body = asked.body.clone();
            body["sha"] = json!(sha);
            state.statuses.push(body.clone());
            reply(201, body)
        }
        ("GET", ["collaborators", login, "permission"]) => {
            let may = state.writers.iter().any(|name| name == login);
            let word = if may { "write" } else { "none" };
            reply(
                200,
                json!({ "permission": word, "role_name": word, "user": { "login": login } }),
            )
        }
        _ => tracker(state, asked, rest),
    }
}

fn statuses(state: &State, sha: &str) -> Vec<Value> {
    let runs = state.checks.iter().filter(|run| run["head_sha"] == sha);
    let runs = runs.map(|run| {
        json!({ "id": run["id"], "context": run["name"], "description": "",
            "status": run["conclusion"].as_str().unwrap_or("pending"), "target_url": null })
    });
    let ours = state.statuses.iter().filter(|one| one["sha"] == sha);
    let ours = ours.map(|one| {
        json!({ "id": 1, "context": one["context"], "status": one["state"],
            "description": one["description"], "target_url": null })
    });
    runs.chain(ours).collect()
}

fn tracker(state: &mut State, asked: &Asked, rest: &[&str]) -> Reply {
    match (asked.method.as_str(), rest) {
        ("GET", ["labels"]) => {
            let all = state.labels.iter().enumerate();
            paged(
                all.map(|(at, name)| json!({ "id": at + 1, "name": name }))
                    .collect(),
                asked,
            )
        }
        ("POST", ["labels"]) => {
            state.labels.push(asked.text("name"));
            reply(
                201,
                json!({ "id": state.labels.len(), "name": asked.text("name") }),
            )
        }
        ("GET", ["issues"]) => {
            let wanted = asked.query.get("state").map_or("open", String::as_str);
            let since = asked.query.get("since");
            let all = state.issues.iter().rev().map(|issue| issue.shown.clone());
            let all = all.filter(|one| github_issues::is_since(one, since));
            paged(
                all.filter(|one| wanted == "all" || one["state"] == wanted)
                    .collect(),
                asked,
            )
        }
        ("POST", ["issues"]) => {
            let (title, body) = (asked.text("title"), asked.text("body"));
            let mut shown = github_issues::shown(state, "you", &title, &body);
            let names = names(state, &asked.body["labels"]);
            shown["labels"] = names
                .into_iter()
                .map(|name| json!({ "name": name }))
                .collect();
            let made = shown.clone();
            state.issues.push(Issue {
                shown,
                notes: Vec::new(),
                labelled: Vec::new(),
            });
            reply(201, made)
        }
        (_, ["issues", number, rest @ ..]) => {
            let number: usize = number.parse().unwrap_or_default();
            one_issue(state, asked, number, rest)
        }
        ("GET", ["releases"]) => paged(state.releases.iter().rev().cloned().collect(), asked),
        ("GET", ["releases", "tags", tag]) => {
            let found = state.releases.iter().find(|one| one["tag_name"] == *tag);
            found.map_or_else(missing, |one| reply(200, one.clone()))
        }
        ("POST", ["releases"]) => publish(state, asked),
        _ => missing(),
    }
}

/// The names of labels that are given by number; no other way is taken.
fn names(state: &State, ids: &Value) -> Vec<String> {
    let ids = ids
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64);
    let at = ids.filter_map(|id| usize::try_from(id).ok()?.checked_sub(1));
    at.filter_map(|at| state.labels.get(at).cloned()).collect()
}

/// Pull requests are issues too.
fn one_issue(state: &mut State, asked: &Asked, number: usize, rest: &[&str]) -> Reply {
    let id = state.comment_id();
    let labels = names(state, &asked.body["labels"]);
    if let Some(pull) = state.pulls.get_mut(number.wrapping_sub(1)) {
        return match (asked.method.as_str(), rest) {
            ("GET", ["comments"]) => reply(200, pull.notes.iter().cloned().collect()),
            ("POST", ["comments"]) => {
                let made = note(id, "you", &asked.text("body"));
                pull.notes.push(made.clone());
                reply(201, made)
            }
            ("POST", ["labels"]) => {
                state.label(number, &labels.join(","));
                reply(200, json!([]))
            }
            ("GET", ["timeline"]) => {
                let closed = json!({ "type": "close", "user": { "login": pull.ended_by } });
                reply(200, json!([{ "type": "comment" }, closed]))
            }
            _ => missing(),
        };
    }
    let Some(found) = github_issues::find(state, number) else {
        return missing();
    };
    match (asked.method.as_str(), rest) {
        ("GET", []) => reply(200, found.shown.clone()),
        ("PATCH", []) => {
            if asked.text("state") == "closed" {
                found.shown["state"] = json!("closed");
            }
            reply(201, found.shown.clone())
        }
        ("POST", ["labels"]) => {
            if let Some(there) = found.shown["labels"].as_array_mut() {
                for name in labels {
                    let label = json!({ "name": name });
                    if !there.contains(&label) {
                        there.push(label);
                    }
                }
            }
            reply(200, found.shown["labels"].clone())
        }
        ("GET", ["timeline"]) => {
            let labels = found.labelled.iter().map(|one| {
                json!({
                    "id": one.id,
                    "type": "label",
                    "body": "1",
                    "label": { "name": one.name },
                    "user": { "login": one.login },
                })
            });
            paged(labels.collect(), asked)
        }
        ("GET", ["comments"]) => reply(200, found.notes.iter().cloned().collect()),
        ("POST", ["comments"]) => {
            let made = note(id, "you", &asked.text("body"));
            found.notes.push(made.clone());
            reply(201, made)
        }
        _ => missing(),
    }
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
    let at = asked.text("target_commitish");
    if there.is_none() && state.try_git(&["update-ref", &name, &at]).is_none() {
        return missing();
    }
    let mut made = asked.body.clone();
    made["html_url"] = json!(format!(
        "https://forge.example.invalid/you/scratch/releases/tag/{tag}"
    ));
    state.releases.push(made.clone());
    reply(201, made)
}
