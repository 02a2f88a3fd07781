//! GitHub's GraphQL interface, as far as a forge asks it: a query is read and answered
//! field by field from one JSON picture of the repository. A field that the picture does
//! not have is refused in GitHub's words, so that a query with a slip fails here too.

use axum::{
    Json,
    extract::State as Axum,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use crate::{
    github::{Pull, State, lock},
    github_routes::Where,
};

pub(crate) async fn answer(Axum(state): Where, Json(body): Json<Value>) -> Response {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    let mut state = lock(&state);
    let known = variables["owner"] == "you" && variables["name"] == "scratch";
    let answer = if query.starts_with("mutation") {
        let fields = Reader::new(query).query("mutation");
        change(&mut state, &fields[0].name, variables)
            .and_then(|done| select(&json!({ &fields[0].name: done }), &fields))
    } else if known {
        let mut query = query.to_owned();
        if let Some(number) = variables["number"].as_u64() {
            query = query.replace("number: $number", &format!("number: {number}"));
        }
        let fields = Reader::new(&query).query("query");
        select(&json!({"repository": picture(&state)}), &fields)
    } else {
        Err("Could not resolve to a Repository".to_owned())
    };
    Json(match answer {
        Ok(data) => json!({ "data": data }),
        Err(message) => json!({"data": null, "errors": [{ "message": message }]}),
    })
    .into_response()
}

/// Carries out a mutation; what it gives.
fn change(state: &mut State, name: &str, variables: &Value) -> Result<Value, String> {
    let id = variables["id"].as_str().unwrap_or_default();
    let number = id.strip_prefix("PR_").and_then(|id| id.parse().ok());
    let known = number.filter(|number| (1..=state.pulls.len()).contains(number));
    let number: usize =
        known.ok_or_else(|| format!("Could not resolve to a node with the global id of '{id}'"))?;
    match name {
        "markPullRequestReadyForReview" => {
            state.pulls[number - 1].draft = false;
            Ok(json!({"__typename": "Payload",
                "pullRequest": of_pull(state, &state.pulls[number - 1])}))
        }
        "enqueuePullRequest" => {
            let head = state.tip(&state.pulls[number - 1].branch);
            if !state.rules.queue || head.as_deref() != variables["head"].as_str() {
                return Err("Head branch was modified".to_owned());
            }
            if state.rules.queued.contains(&number) {
                return Err("Pull request is already in the merge queue".to_owned());
            }
            state.rules.queued.push(number);
            Ok(json!({"__typename": "Payload",
                "mergeQueueEntry": {"__typename": "MergeQueueEntry", "state": "QUEUED"}}))
        }
        other => Err(format!("Field '{other}' doesn't exist on type 'Mutation'")),
    }
}

/// One field of a query: how it is called in the answer, its name, its arguments, and
/// what is wanted of it. A field without a name is `... on Type`.
struct Field {
    alias: String,
    name: String,
    arguments: String,
    inner: Vec<Field>,
}

struct Reader<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<&'a str>>,
}

impl<'a> Reader<'a> {
    fn new(query: &'a str) -> Self {
        let mut words = Vec::new();
        let mut rest = query.trim_start();
        while !rest.is_empty() {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let end = match rest.find(|c| !word(c)) {
                Some(0) if rest.starts_with("...") => 3,
                Some(0) => 1,
                Some(end) => end,
                None => rest.len(),
            };
            words.push(&rest[..end]);
            rest = rest[end..].trim_start_matches([' ', '\n', ',', '\t']);
        }
        Self {
            words: words.into_iter().peekable(),
        }
    }

    fn query(mut self, kind: &str) -> Vec<Field> {
        assert_eq!(self.words.next(), Some(kind));
        self.arguments();
        assert_eq!(self.words.next(), Some("{"));
        self.fields()
    }

    fn arguments(&mut self) -> String {
        let mut text = String::new();
        if self.words.next_if_eq(&"(").is_some() {
            for word in self.words.by_ref().take_while(|word| *word != ")") {
                text.push_str(word);
                text.push(' ');
            }
        }
        text
    }

    fn fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        loop {
            let word = self.words.next().expect("a query that ends");
            if word == "}" {
                return fields;
            }
            let (alias, name) = if word == "..." {
                assert_eq!(self.words.next(), Some("on"));
                (self.words.next().expect("a type"), "")
            } else if self.words.next_if_eq(&":").is_some() {
                (word, self.words.next().expect("a field"))
            } else {
                (word, word)
            };
            let arguments = self.arguments();
            let inner = match self.words.next_if_eq(&"{") {
                Some(_) => self.fields(),
                None => Vec::new(),
            };
            fields.push(Field {
                alias: alias.to_owned(),
                name: name.to_owned(),
                arguments,
                inner,
            });
        }
    }
}

/// What a query wants of a value.
fn select(value: &Value, fields: &[Field]) -> Result<Value, String> {
    match value {
        Value::Array(items) => items.iter().map(|item| select(item, fields)).collect(),
        Value::Object(object) if !fields.is_empty() => {
            let mut selected = Map::new();
            for field in fields {
                if field.name.is_empty() {
                    if object.get("__typename") == Some(&json!(field.alias)) {
                        let Value::Object(more) = select(value, &field.inner)? else {
                            continue;
                        };
                        selected.extend(more);
                    }
                    continue;
                }
                let found = object.get(&field.name).ok_or_else(|| {
                    let of = object.get("__typename").unwrap_or(&Value::Null);
                    format!("Field '{}' doesn't exist on type {of}", field.name)
                })?;
                let found = narrowed(found, field);
                selected.insert(field.alias.clone(), select(&found, &field.inner)?);
            }
            Ok(Value::Object(selected))
        }
        Value::Object(_) => Err("Field must have selections".to_owned()),
        plain => Ok(plain.clone()),
    }
}

/// One of many by its number, or the last ones of a list.
fn narrowed(value: &Value, field: &Field) -> Value {
    let number = |name: &str| -> Option<usize> {
        let (_, rest) = field.arguments.split_once(name)?;
        rest.trim_start_matches([' ', ':'])
            .split(' ')
            .next()?
            .parse()
            .ok()
    };
    if let Some(number) = number("number") {
        return value.get(number.to_string()).cloned().unwrap_or_default();
    }
    let mut value = value.clone();
    if let Some(nodes) = value.get_mut("nodes").and_then(Value::as_array_mut) {
        if let Some(last) = number("last") {
            nodes.drain(..nodes.len().saturating_sub(last));
        } else if let Some(first) = number("first") {
            nodes.truncate(first);
        } else {
            // GitHub wants to know how many.
            nodes.clear();
        }
    }
    value
}

fn list(nodes: impl IntoIterator<Item = Value>) -> Value {
    let nodes: Vec<Value> = nodes.into_iter().collect();
    json!({"totalCount": nodes.len(), "nodes": nodes})
}

fn picture(state: &State) -> Value {
    let pulls = state.pulls.iter();
    let pulls = pulls.map(|pull| (pull.number.to_string(), of_pull(state, pull)));
    let main = state.tip("main").unwrap_or_default();
    json!({
        "__typename": "Repository",
        "defaultBranchRef": {"target": {"__typename": "Commit",
            "statusCheckRollup": rollup(state, &main)}},
        "pullRequest": pulls.collect::<Map<_, _>>(),
    })
}

fn of_pull(state: &State, pull: &Pull) -> Value {
    let shown = state.shown(pull);
    let head = shown["head"]["sha"].as_str().unwrap_or_default();
    let committer = state.try_git(&["log", "-1", "--format=%cn%n%ce", head]);
    let committer = committer.unwrap_or_default();
    let (name, email) = committer.split_once('\n').unwrap_or_default();
    let says = match (&pull.merge_commit, pull.closed) {
        (Some(_), _) => "MERGED",
        (None, true) => "CLOSED",
        (None, false) => "OPEN",
    };
    let closer = json!({"__typename": "ClosedEvent", "actor": {"login": pull.ended_by}});
    let closers = pull.closed.then_some(closer);
    let roots = pull
        .lines
        .iter()
        .filter(|line| line["in_reply_to_id"].is_null());
    let threads = roots.map(|root| {
        let of_it =
            |line: &&Value| line["id"] == root["id"] || line["in_reply_to_id"] == root["id"];
        let comments = pull.lines.iter().filter(of_it).map(said);
        let gone = state.is_outdated(pull, root);
        let line = if gone {
            Value::Null
        } else {
            root["line"].clone()
        };
        json!({"__typename": "PullRequestReviewThread", "isOutdated": gone,
            "path": root["path"], "line": line, "originalLine": root["line"],
            "comments": list(comments)})
    });
    json!({
        "__typename": "PullRequest",
        "number": pull.number,
        "state": says,
        "headRefName": pull.branch,
        "headRefOid": head,
        "isDraft": pull.draft,
        "mergeable": match shown["mergeable"].as_bool() {
            Some(true) => "MERGEABLE",
            Some(false) => "CONFLICTING",
            None => "UNKNOWN",
        },
        "mergeStateStatus": state.merge_state(pull),
        "id": format!("PR_{}", pull.number),
        "reviewDecision": state.no_merge.as_ref().map(|(_, why)| {
            if why.contains("review") { "REVIEW_REQUIRED" } else { "APPROVED" }
        }),
        "viewerCanMergeAsAdmin": state.rules.admin,
        "isInMergeQueue": state.rules.queued.contains(&pull.number),
        "isMergeQueueEnabled": state.rules.queue,
        "updatedAt": "2026-01-02T03:04:05Z",
        "mergeCommit": pull.merge_commit.as_ref().map(|sha| json!({ "oid": sha })),
        "mergedBy": pull.merge_commit.as_ref().map(|_| json!({ "login": pull.ended_by })),
        "timelineItems": list(closers),
        "comments": list(pull.notes.iter().map(said)),
        "reviews": list(pull.reviews.iter().map(said)),
        "reviewThreads": list(threads),
        "commits": list([json!({"commit": {
            "__typename": "Commit",
            "committer": {"name": name, "email": email},
            "statusCheckRollup": rollup(state, head),
        }})]),
    })
}

fn said(note: &Value) -> Value {
    json!({
        "__typename": "Comment",
        "databaseId": note["id"],
        "author": {"login": note["user"]["login"]},
        "body": note["body"],
        "state": note["state"],
        "viewerDidAuthor": note["user"]["login"] == "you",
    })
}

/// Nothing where no check ran, as on GitHub.
fn rollup(state: &State, head: &str) -> Value {
    let runs = state.checks.iter().filter(|run| run["head_sha"] == head);
    // Of several runs of a check the newest counts.
    let mut newest: Map<String, Value> = Map::new();
    for run in runs {
        let name = run["name"].as_str().unwrap_or_default();
        let word = run["conclusion"].as_str().map(str::to_uppercase);
        newest.insert(
            name.to_owned(),
            json!({"__typename": "CheckRun", "name": name,
                "status": if word.is_some() { "COMPLETED" } else { "IN_PROGRESS" },
                "conclusion": word, "databaseId": run["id"], "title": null, "summary": null,
                "detailsUrl": format!("https://github.com/you/scratch/runs/{}", run["id"])}),
        );
    }
    for status in state.statuses.iter().filter(|one| one["sha"] == head) {
        let name = status["context"].as_str().unwrap_or_default();
        let word = status["state"].as_str().map(str::to_uppercase);
        newest.insert(
            name.to_owned(),
            json!({"__typename": "StatusContext", "context": name, "state": word,
                "description": status["description"], "targetUrl": null}),
        );
    }
    if newest.is_empty() {
        return Value::Null;
    }
    let runs: Vec<Value> = newest.into_iter().map(|(_, run)| run).collect();
    let says = |words: &[&str]| {
        let mut runs = runs.iter();
        runs.any(|run| {
            let said = [&run["conclusion"], &run["state"]];
            said.iter()
                .any(|said| said.as_str().is_some_and(|said| words.contains(&said)))
        })
    };
    let state = match (says(&["FAILURE", "ERROR"]), says(&["PENDING"])) {
        (true, _) => "FAILURE",
        (_, true) => "PENDING",
        _ => "SUCCESS",
    };
    json!({"state": state, "contexts": list(runs)})
}
