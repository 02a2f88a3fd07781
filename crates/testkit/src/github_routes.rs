//! The part of GitHub's REST interface that a forge needs, with its refusals:
//! a second pull request for a branch, a branch that is not there, a head that
//! moved, a merge that conflicts.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Path, Query, Request, State as Axum},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, put},
};
use serde_json::{Value, json};
use std::collections::HashMap;

use crate::{
    github::{State, lock, note},
    github_graph, github_issues,
};

pub(crate) type Shared = Arc<Mutex<State>>;
pub(crate) type Where = Axum<Shared>;

/// All routes, below `repos/<owner>/<name>`.
pub(crate) fn router(state: Shared) -> Router {
    let repo = Router::new()
        .route("/pulls", get(list).post(create))
        .route("/pulls/{number}", get(view).patch(edit))
        .route("/pulls/{number}/comments", get(lines).post(say_line))
        .route("/pulls/{number}/merge", put(merge))
        .route("/pulls/{number}/reviews", get(reviews))
        .route(
            "/pulls/{number}/requested_reviewers",
            axum::routing::post(ask),
        )
        .route("/issues/{number}/comments", get(notes).post(say))
        .merge(github_issues::routes())
        .route("/commits/{sha}/check-runs", get(checks))
        .route("/commits/{sha}/status", get(statuses))
        .route("/statuses/{sha}", axum::routing::post(status))
        .route("/collaborators/{login}/permission", get(permission))
        .route("/actions/jobs/{id}/logs", get(log))
        .route("/git/ref/heads/{*branch}", get(branch))
        .route(
            "/git/refs/heads/{*branch}",
            axum::routing::delete(delete_branch),
        );
    Router::new()
        .nest("/repos/you/scratch", repo)
        .route("/graphql", axum::routing::post(github_graph::answer))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), lossy))
        .with_state(state)
}

/// Notes each request, and loses answers where the test wants it.
async fn lossy(Axum(state): Where, request: Request, next: Next) -> Response {
    let asking = request.uri().path() == "/graphql";
    let changing = request.method() != Method::GET && !asking;
    let line = format!("{} {}", request.method(), request.uri().path());
    let no = {
        let mut state = lock(&state);
        state.requests.push(line);
        state.no_answer.clone()
    };
    if let Some((status, why)) = no {
        let status = StatusCode::from_u16(status).expect("a status");
        return refuse(status, &why);
    }
    let answer = next.run(request).await;
    let mut state = lock(&state);
    if changing && state.lost_answers > 0 {
        state.lost_answers -= 1;
        return refuse(StatusCode::BAD_GATEWAY, "Bad Gateway");
    }
    answer
}

pub(crate) fn refuse(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}

pub(crate) fn missing() -> Response {
    refuse(StatusCode::NOT_FOUND, "Not Found")
}

pub(crate) fn page(items: Vec<Value>, query: &HashMap<String, String>) -> Response {
    let number = |name: &str, default| {
        let value = query.get(name).and_then(|v| v.parse().ok());
        value.unwrap_or(default)
    };
    let (size, page) = (number("per_page", 30), number("page", 1));
    let part: Vec<Value> = items
        .into_iter()
        .skip(size * (page - 1))
        .take(size)
        .collect();
    Json(part).into_response()
}

pub(crate) type Asked = Query<HashMap<String, String>>;

async fn list(Axum(state): Where, Query(query): Asked) -> Response {
    let state = lock(&state);
    let head = query.get("head").and_then(|h| h.split_once(':'));
    let base = query.get("base");
    let open_only = query.get("state").is_none_or(|s| s == "open");
    let wanted = state.pulls.iter().rev().filter(|pull| {
        head.is_none_or(|(_, branch)| branch == pull.branch)
            && base.is_none_or(|base| *base == pull.base)
            && (!open_only || !pull.closed)
    });
    page(wanted.map(|pull| state.shown(pull)).collect(), &query)
}

async fn create(Axum(state): Where, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let branch = text("head");
    let Some(head) = state.tip(&branch) else {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed");
    };
    if state.pulls.iter().any(|p| p.branch == branch && !p.closed) {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed");
    }
    let draft = body["draft"] == json!(true);
    if draft && state.rules.no_drafts {
        let why = "Draft pull requests are not supported in this repository.";
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, why);
    }
    let mut pull = state.fresh(&branch, head);
    (pull.title, pull.body, pull.base) = (text("title"), text("body"), text("base"));
    pull.draft = draft;
    let shown = state.shown(&pull);
    state.pulls.push(pull);
    (StatusCode::CREATED, Json(shown)).into_response()
}

async fn view(Axum(state): Where, Path(number): Path<usize>, headers: HeaderMap) -> Response {
    let state = lock(&state);
    let Some(pull) = state.pulls.get(number.wrapping_sub(1)) else {
        return missing();
    };
    let accept = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    if accept.is_some_and(|a| a.contains("diff")) {
        let shown = state.shown(pull);
        let head = shown["head"]["sha"].as_str().unwrap_or_default();
        let range = format!("{}...{head}", pull.base);
        return Body::from(state.try_git(&["diff", &range]).unwrap_or_default()).into_response();
    }
    Json(state.shown(pull)).into_response()
}

async fn edit(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let Some(mut pull) = state.pulls.get(number.wrapping_sub(1)).cloned() else {
        return missing();
    };
    if let Some(title) = body["title"].as_str() {
        title.clone_into(&mut pull.title);
    }
    if let Some(text) = body["body"].as_str() {
        text.clone_into(&mut pull.body);
    }
    if let Some(base) = body["base"].as_str() {
        base.clone_into(&mut pull.base);
    }
    if body["state"] == "closed" {
        pull.last_head = state.tip(&pull.branch).unwrap_or(pull.last_head);
        pull.closed = true;
    }
    let shown = state.shown(&pull);
    state.pulls[number - 1] = pull;
    Json(shown).into_response()
}

async fn notes(Axum(state): Where, Path(number): Path<usize>, Query(query): Asked) -> Response {
    if let Some(issue) = github_issues::find(&mut lock(&state), number) {
        return page(issue.notes.clone(), &query);
    }
    match lock(&state).pulls.get(number.wrapping_sub(1)) {
        Some(pull) => page(pull.notes.clone(), &query),
        None => missing(),
    }
}

async fn lines(Axum(state): Where, Path(number): Path<usize>, Query(query): Asked) -> Response {
    match lock(&state).pulls.get(number.wrapping_sub(1)) {
        Some(pull) => page(pull.lines.clone(), &query),
        None => missing(),
    }
}

async fn say(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let id = state.comment_id();
    let made = note(id, "you", body["body"].as_str().unwrap_or_default());
    if let Some(issue) = github_issues::find(&mut state, number) {
        issue.notes.push(made.clone());
        return (StatusCode::CREATED, Json(made)).into_response();
    }
    match state.pulls.get_mut(number.wrapping_sub(1)) {
        Some(pull) => pull.notes.push(made.clone()),
        None => return missing(),
    }
    (StatusCode::CREATED, Json(made)).into_response()
}

async fn say_line(Axum(state): Where, Path(number): Path<usize>, request: Request) -> Response {
    let bytes = to_bytes(request.into_body(), 1 << 20)
        .await
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut state = lock(&state);
    let known = |name: &str| body[name].is_string();
    let lines = state
        .pulls
        .get(number.wrapping_sub(1))
        .map(|pull| &pull.lines);
    let root = lines.and_then(|lines| {
        let root = lines
            .iter()
            .find(|line| line["id"] == body["in_reply_to"])?;
        Some(root.clone())
    });
    if let Some(root) = root {
        let id = state.comment_id();
        let mut made = note(id, "you", body["body"].as_str().unwrap_or_default());
        (made["path"], made["line"]) = (root["path"].clone(), root["line"].clone());
        made["in_reply_to_id"] = root["id"].clone();
        state.pulls[number - 1].lines.push(made.clone());
        return (StatusCode::CREATED, Json(made)).into_response();
    }
    let shown = state.shows(number, &body["path"], &body["line"]);
    if !known("commit_id") || !known("path") || !shown {
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed");
    }
    let id = state.comment_id();
    let mut made = note(id, "you", body["body"].as_str().unwrap_or_default());
    made["path"] = body["path"].clone();
    made["line"] = body["line"].clone();
    match state.pulls.get_mut(number.wrapping_sub(1)) {
        Some(pull) => pull.lines.push(made.clone()),
        None => return missing(),
    }
    (StatusCode::CREATED, Json(made)).into_response()
}

async fn reviews(Axum(state): Where, Path(number): Path<usize>, Query(query): Asked) -> Response {
    match lock(&state).pulls.get(number.wrapping_sub(1)) {
        Some(pull) => page(pull.reviews.clone(), &query),
        None => missing(),
    }
}

/// Whoever is not known here, or wrote it, makes GitHub refuse all of them.
async fn ask(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let names = |key: &str| -> Vec<String> {
        let names = body[key].as_array().into_iter().flatten();
        names
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    };
    let (people, teams) = (names("reviewers"), names("team_reviewers"));
    let fits = |login: &String| login != "you" && state.writers.contains(login);
    if !people.iter().all(fits) || !teams.iter().all(|team| team == "core") {
        let why = "Reviews may only be requested from collaborators.";
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, why);
    }
    let Some(pull) = state.pulls.get_mut(number.wrapping_sub(1)) else {
        return missing();
    };
    pull.asked.extend(people);
    pull.asked_teams.extend(teams);
    let pull = pull.clone();
    (StatusCode::CREATED, Json(state.shown(&pull))).into_response()
}

async fn merge(Axum(state): Where, Path(number): Path<usize>, Json(body): Json<Value>) -> Response {
    let mut state = lock(&state);
    let Some(pull) = state.pulls.get(number.wrapping_sub(1)).cloned() else {
        return missing();
    };
    let not_now = StatusCode::METHOD_NOT_ALLOWED;
    let Some(head) = state.tip(&pull.branch) else {
        return refuse(not_now, "Pull Request is not mergeable");
    };
    if pull.draft {
        return refuse(not_now, "Pull Request is still a draft");
    }
    if state.rules.queue && !state.rules.admin {
        let why =
            "Repository rule violations found\n\nChanges must be made through the merge queue";
        return refuse(not_now, why);
    }
    if let Some((status, why)) = state.no_merge.clone().filter(|_| !state.rules.admin) {
        return refuse(StatusCode::from_u16(status).expect("a status"), &why);
    }
    if pull.closed {
        return refuse(not_now, "Pull Request is not mergeable");
    }
    if body["sha"].as_str().is_some_and(|sha| sha != head) {
        return refuse(StatusCode::CONFLICT, "Head branch was modified.");
    }
    let message = format!(
        "{}\n\n{}",
        body["commit_title"].as_str().unwrap_or("squash"),
        body["commit_message"].as_str().unwrap_or_default()
    );
    let Some(made) = state.squash(number, &message) else {
        return refuse(not_now, "Pull Request is not mergeable");
    };
    Json(json!({ "sha": made, "merged": true })).into_response()
}

async fn checks(Axum(state): Where, Path(sha): Path<String>) -> Response {
    let state = lock(&state);
    let runs: Vec<&Value> = state
        .checks
        .iter()
        .filter(|c| c["head_sha"] == sha.as_str())
        .collect();
    Json(json!({ "total_count": runs.len(), "check_runs": runs })).into_response()
}

async fn statuses(Path(_sha): Path<String>) -> Response {
    Json(json!({ "state": "pending", "statuses": [] })).into_response()
}

async fn status(Axum(state): Where, Path(sha): Path<String>, Json(body): Json<Value>) -> Response {
    let mut body = body;
    body["sha"] = json!(sha);
    lock(&state).statuses.push(body.clone());
    (StatusCode::CREATED, Json(body)).into_response()
}

async fn permission(Axum(state): Where, Path(login): Path<String>) -> Response {
    let may = lock(&state).writers.contains(&login);
    Json(json!({"permission": if may { "write" } else { "read" }})).into_response()
}

async fn log(Axum(state): Where, Path(id): Path<u64>) -> Response {
    match lock(&state).logs.get(&id) {
        Some(log) => log.clone().into_response(),
        None => missing(),
    }
}

async fn branch(Axum(state): Where, Path(branch): Path<String>) -> Response {
    match lock(&state).tip(&branch) {
        Some(sha) => Json(json!({ "object": { "sha": sha } })).into_response(),
        None => missing(),
    }
}

async fn delete_branch(Axum(state): Where, Path(branch): Path<String>) -> Response {
    let mut state = lock(&state);
    let target = format!("refs/heads/{branch}");
    match state.tip(&branch) {
        Some(_) => {
            // What loses its base is closed.
            for pull in &mut state.pulls {
                pull.closed |= pull.base == branch;
            }
            state.try_git(&["update-ref", "-d", &target]);
            StatusCode::NO_CONTENT.into_response()
        }
        None => refuse(StatusCode::UNPROCESSABLE_ENTITY, "Reference does not exist"),
    }
}
