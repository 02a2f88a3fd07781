//! GitLab's answers in GitHub's fields. What is not there stays empty, never a panic.

use serde_json::{Value, json};

const DRAFT: &str = "Draft: ";

pub(super) fn titled(title: &str, draft: bool) -> String {
    let title = title.strip_prefix(DRAFT).unwrap_or(title);
    format!("{}{title}", if draft { DRAFT } else { "" })
}

fn user(json: &Value) -> Value {
    json!({ "login": json["username"] })
}

/// A merge request in GitHub's fields.
pub(super) fn pull(json: &Value) -> Value {
    let title = json["title"].as_str().unwrap_or_default();
    let merged = ["merge_commit_sha", "squash_commit_sha", "sha"];
    let merged = merged
        .iter()
        .map(|name| &json[*name])
        .find(|sha| !sha.is_null());
    let mergeable = match (
        json["state"].as_str(),
        json["detailed_merge_status"].as_str(),
    ) {
        _ if json["has_conflicts"] == json!(true) => json!(false),
        (Some("opened"), Some("mergeable")) => json!(true),
        _ => Value::Null,
    };
    json!({
        "number": json["iid"],
        "title": title.strip_prefix(DRAFT).unwrap_or(title),
        "body": json["description"],
        "state": if json["state"] == "opened" { "open" } else { "closed" },
        "draft": json["draft"],
        "head": { "ref": json["source_branch"], "sha": json["sha"] },
        "base": { "ref": json["target_branch"] },
        "merged": json["state"] == "merged",
        "merge_commit_sha": if json["state"] == "merged" { merged } else { None },
        "mergeable": mergeable,
        "html_url": json["web_url"],
        "user": user(&json["author"]),
        "requested_reviewers": people(&json["reviewers"]),
    })
}

fn people(list: &Value) -> Vec<Value> {
    list.as_array().into_iter().flatten().map(user).collect()
}

/// Who approved, as reviews.
pub(super) fn reviewed(json: &Value) -> Value {
    let by = json["approved_by"].as_array().into_iter().flatten();
    by.map(|one| json!({ "user": user(&one["user"]) }))
        .collect()
}

pub(super) fn comment(json: &Value) -> Value {
    let place = &json["position"];
    let path = match place["new_line"].as_u64().or(place["old_line"].as_u64()) {
        Some(_) => &place["new_path"],
        None => &Value::Null,
    };
    json!({
        "id": json["id"],
        "body": json["body"],
        "user": user(&json["author"]),
        "created_at": json["created_at"],
        "path": path,
        "line": place["new_line"],
        "original_line": place["old_line"],
    })
}

pub(super) fn check(json: &Value) -> Value {
    json!({
        "name": json["name"],
        "conclusion": conclusion(json),
        "id": json["id"],
        "html_url": json["target_url"],
    })
}

/// How a job or a status went, in GitHub's word; none while it runs.
pub(super) fn conclusion(json: &Value) -> Option<&'static str> {
    match json["status"].as_str()? {
        "success" => Some("success"),
        "failed" if json["allow_failure"] == json!(true) => Some("neutral"),
        "failed" => Some("failure"),
        "canceled" => Some("cancelled"),
        "skipped" | "manual" => Some("skipped"),
        _ => None,
    }
}

pub(super) fn issue(json: &Value) -> Value {
    json!({
        "number": json["iid"],
        "title": json["title"],
        "body": json["description"],
        "state": if json["state"] == "opened" { "open" } else { "closed" },
        "labels": json["labels"],
        "user": user(&json["author"]),
        "html_url": json["web_url"],
        "updated_at": json["updated_at"],
    })
}

pub(super) fn labelled(json: &Value) -> Value {
    json!({
        "id": json["id"],
        "event": if json["action"] == "add" { "labeled" } else { "unlabeled" },
        "label": { "name": json["label"]["name"] },
        "actor": user(&json["user"]),
    })
}

pub(super) fn release(json: &Value) -> Value {
    json!({
        "tag_name": json["tag_name"],
        "name": json["name"],
        "body": json["description"],
        "html_url": json["_links"]["self"],
    })
}
