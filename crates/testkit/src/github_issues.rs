//! Issues and releases of the GitHub stand-in. Issues and pull requests are
//! listed together, as GitHub does; issues count from 101, so that a test sees
//! when one is taken for the other.

use axum::{
    Json, Router,
    extract::{Path, Query, State as Axum},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    GitHub,
    github::{Issue, Labelled, State, lock, moment, note},
    github_routes::{Asked, Shared, Where, missing, page, refuse},
};

/// The first issue's number.
const FIRST: usize = 101;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/issues", get(list).post(create))
        .route("/issues/{number}", get(view).patch(edit))
        .route("/issues/{number}/labels", post(label))
        .route("/issues/{number}/events", get(events))
        .route("/releases", get(releases).post(release))
        .route("/releases/tags/{tag}", get(released))
        .route("/git/ref/tags/{tag}", get(tag))
        .route("/git/tags/{sha}", get(annotated))
}

/// The issue with this number.
pub(crate) fn find(state: &mut State, number: usize) -> Option<&mut Issue> {
    state.issues.get_mut(number.checked_sub(FIRST)?)
}

/// A new issue as GitHub writes it.
pub(crate) fn shown(state: &State, login: &str, title: &str, body: &str) -> Value {
    let number = FIRST + state.issues.len();
    json!({
        "number": number,
        "title": title,
        "body": body,
        "state": "open",
        "labels": [],
        "user": { "login": login },
        "html_url": format!("https://github.com/you/scratch/issues/{number}"),
        "updated_at": moment(0),
    })
}

/// Whether an issue changed at or after the moment that a list is asked for.
pub(crate) fn is_since(shown: &Value, since: Option<&String>) -> bool {
    since.is_none_or(|since| shown["updated_at"].as_str() >= Some(since))
}

async fn list(Axum(state): Where, Query(query): Asked) -> Response {
    let state = lock(&state);
    let open_only = query.get("state").is_none_or(|s| s == "open");
    let mut items: Vec<Value> = state.issues.iter().rev().map(|i| i.shown.clone()).collect();
    items.extend(state.pulls.iter().rev().map(|pull| {
        let mut shown = state.shown(pull);
        shown["pull_request"] = json!({ "url": "…" });
        shown
    }));
    items.retain(|item| !open_only || item["state"] == "open");
    items.retain(|item| item["pull_request"].is_object() || is_since(item, query.get("since")));
    page(items, &query)
}

async fn create(Axum(state): Where, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let mut made = shown(&state, "you", &text("title"), &text("body"));
    made["labels"] = named(&body["labels"]);
    state.issues.push(Issue {
        shown: made.clone(),
        notes: Vec::new(),
        labelled: Vec::new(),
    });
    (StatusCode::CREATED, Json(made)).into_response()
}

fn named(labels: &Value) -> Value {
    let labels = labels.as_array().into_iter().flatten();
    labels.map(|name| json!({ "name": name })).collect()
}

async fn view(Axum(state): Where, Path(number): Path<usize>) -> Response {
    match find(&mut lock(&state), number) {
        Some(issue) => Json(issue.shown.clone()).into_response(),
        None => missing(),
    }
}

async fn edit(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    match find(&mut lock(&state), number) {
        Some(issue) => {
            if body["state"] == "closed" {
                issue.shown["state"] = json!("closed");
            }
            Json(issue.shown.clone()).into_response()
        }
        None => missing(),
    }
}

async fn events(Axum(state): Where, Path(number): Path<usize>, Query(query): Asked) -> Response {
    let mut state = lock(&state);
    let Some(issue) = find(&mut state, number) else {
        return missing();
    };
    let events = issue.labelled.iter().map(|one| {
        json!({
            "id": one.id,
            "event": "labeled",
            "label": { "name": one.name },
            "actor": { "login": one.login },
        })
    });
    page(events.collect(), &query)
}

async fn label(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    // A pull request is an issue too.
    let pull = number.checked_sub(1).filter(|at| *at < state.pulls.len());
    let labels = match pull {
        Some(at) => Some(&mut state.pulls[at].labels),
        None => find(&mut state, number).and_then(|issue| issue.shown["labels"].as_array_mut()),
    };
    let Some(labels) = labels else {
        return missing();
    };
    if let Value::Array(more) = named(&body["labels"]) {
        for label in more {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    Json(labels.clone()).into_response()
}

async fn releases(Axum(state): Where, Query(query): Asked) -> Response {
    page(
        lock(&state).releases.iter().rev().cloned().collect(),
        &query,
    )
}

async fn release(Axum(state): Where, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let tag = body["tag_name"].as_str().unwrap_or_default().to_owned();
    if state.releases.iter().any(|r| r["tag_name"] == tag.as_str()) {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed");
    }
    let commit = body["target_commitish"].as_str().unwrap_or_default();
    let name = format!("refs/tags/{tag}");
    // A tag that is there stays where it is.
    if state
        .try_git(&["rev-parse", "--verify", "--quiet", &name])
        .is_none()
        && state.try_git(&["update-ref", &name, commit]).is_none()
    {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed");
    }
    let mut made = body.clone();
    made["html_url"] = json!(format!("https://github.com/you/scratch/releases/tag/{tag}"));
    state.releases.push(made.clone());
    (StatusCode::CREATED, Json(made)).into_response()
}

async fn released(Axum(state): Where, Path(tag): Path<String>) -> Response {
    let state = lock(&state);
    let found = state
        .releases
        .iter()
        .find(|r| r["tag_name"] == tag.as_str());
    found.map_or_else(missing, |release| Json(release.clone()).into_response())
}

async fn tag(Axum(state): Where, Path(tag): Path<String>) -> Response {
    let state = lock(&state);
    let name = format!("refs/tags/{tag}");
    let Some(sha) = state.try_git(&["rev-parse", "--verify", "--quiet", &name]) else {
        return missing();
    };
    let kind = state.try_git(&["cat-file", "-t", &sha]).unwrap_or_default();
    Json(json!({ "object": { "sha": sha, "type": kind } })).into_response()
}

async fn annotated(Axum(state): Where, Path(sha): Path<String>) -> Response {
    let commit = lock(&state).try_git(&[
        "rev-parse",
        "--verify",
        "--quiet",
        &format!("{sha}^{{commit}}"),
    ]);
    commit.map_or_else(missing, |commit| {
        Json(json!({ "object": { "sha": commit, "type": "commit" } })).into_response()
    })
}

impl GitHub {
    /// A person opens an issue on the page; its number.
    pub fn complain(&self, login: &str, title: &str, body: &str) -> u64 {
        let mut state = self.state();
        let shown = shown(&state, login, title, body);
        state.issues.push(Issue {
            shown: shown.clone(),
            notes: Vec::new(),
            labelled: Vec::new(),
        });
        shown["number"].as_u64().unwrap_or_default()
    }

    /// Whether an issue is open, and what the notes on it say.
    #[must_use]
    pub fn issue(&self, number: u64) -> (bool, Vec<String>) {
        let mut state = self.state();
        let issue = find_issue(&mut state, number);
        let text = |note: &Value| note["body"].as_str().unwrap_or_default().to_owned();
        let open = issue.shown["state"] == "open";
        (open, issue.notes.iter().map(text).collect())
    }

    /// Somebody puts a label on an issue.
    pub fn label_issue(&self, number: u64, login: &str, name: &str) {
        let mut state = self.state();
        let id = state.comment_id();
        let issue = find_issue(&mut state, number);
        issue.shown["updated_at"] = json!(moment(id));
        if let Some(labels) = issue.shown["labels"].as_array_mut() {
            labels.push(json!({ "name": name }));
        }
        issue.labelled.push(Labelled {
            id,
            login: login.to_owned(),
            name: name.to_owned(),
        });
    }

    /// Somebody comments on an issue.
    pub fn say_on_issue(&self, number: u64, login: &str, body: &str) {
        let mut state = self.state();
        let id = state.comment_id();
        let issue = find_issue(&mut state, number);
        issue.shown["updated_at"] = json!(moment(id));
        issue.notes.push(note(id, login, body));
    }

    /// How many issues and releases there are.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        let state = self.state();
        (state.issues.len(), state.releases.len())
    }
}

fn find_issue(state: &mut State, number: u64) -> &mut Issue {
    let number = usize::try_from(number).expect("a number");
    find(state, number).expect("an issue")
}
