//! The language of hosted forges here is GitHub's REST interface: what looks before it acts,
//! looks again when an answer was lost, and knows our keys is written once, in it. A forge
//! that speaks another language has a table that says each sentence in its own.

use serde_json::{Value, json};

use super::{answer::Answer, gh::Request};
use crate::{Error, Result};

/// A request taken apart, for the tables.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub method: &'a str,
    /// Below the repository.
    pub parts: Vec<&'a str>,
    query: Vec<(&'a str, &'a str)>,
    pub body: Value,
    /// Whether a difference is wanted instead of fields.
    pub as_diff: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn of(request: &'a Request<'_>) -> Self {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        Self {
            method: request.method,
            parts: path.split('/').collect(),
            query: query
                .split('&')
                .filter_map(|one| one.split_once('='))
                .collect(),
            body: request.body.clone().unwrap_or_default(),
            as_diff: request.accept.is_some_and(|accept| accept.contains("diff")),
        }
    }

    /// A value of the query.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        let found = self.query.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }

    /// The page of a list that is asked for.
    pub(super) fn page(&self, size: &str) -> String {
        format!("{size}&page={}", self.value("page").unwrap_or("1"))
    }

    /// The branch that a list of pull requests is asked for.
    pub(super) fn branch(&self) -> Option<&'a str> {
        Some(self.value("head")?.split_once(':')?.1)
    }

    /// Fields of the body, renamed; what is not there stays away.
    pub(super) fn renamed(&self, names: &[(&str, &str)]) -> Value {
        let given = names.iter().filter(|(ours, _)| !self.body[*ours].is_null());
        let fields = given.map(|(ours, theirs)| ((*theirs).to_owned(), self.body[*ours].clone()));
        Value::Object(fields.collect())
    }

    /// Names in a list of the body.
    pub(super) fn names(&self, field: &str) -> Vec<String> {
        let all = self.body[field].as_array().into_iter().flatten();
        all.filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    }

    /// A sentence that the forge has no words for.
    pub(super) fn unknown(&self) -> Error {
        let name = format!("{} {}", self.method, self.parts.join("/"));
        Error::refused(name, "this forge has no such thing")
    }
}

/// A list that was put together from several answers.
pub(super) fn listed(items: Vec<Value>) -> Answer {
    good(&Value::Array(items))
}

/// An answer of ours.
pub(super) fn good(json: &Value) -> Answer {
    Answer {
        status: 200,
        body: json.to_string().into_bytes(),
        head: String::new(),
        command: String::new(),
        more: Some(false),
    }
}

/// What somebody said, in the fields of GitHub's GraphQL interface; `me` is our own name.
pub(super) fn said(note: &Value, who: &Value, me: &str) -> Value {
    json!({
        "databaseId": note["id"],
        "author": { "login": who },
        "body": note["body"],
        "viewerDidAuthor": who == me,
    })
}

/// Where a branch or a tag stands, by the commit in it.
pub(super) fn tip(json: &Value) -> Value {
    let commit = &json["commit"];
    let sha = commit["id"].as_str().or(commit["sha"].as_str());
    json!({ "object": { "sha": sha, "type": "commit" } })
}

/// The title of a pull request that is changed so, where it says itself whether it is a
/// draft: `there` is the pull request as it is.
pub(super) fn retitled(body: &Value, there: &Value, draft: Option<bool>) -> (String, bool) {
    let title = body["title"].as_str().or(there["title"].as_str());
    let draft = draft.unwrap_or(there["draft"] == json!(true));
    (title.unwrap_or_default().to_owned(), draft)
}

/// The checks of a commit, in the same fields.
pub(super) fn rollup(all: &[Value], check: impl Fn(&Value) -> Value) -> Value {
    let nodes: Vec<Value> = all.iter().map(check).collect();
    json!({ "statusCheckRollup": { "contexts": { "nodes": nodes } } })
}

/// The items of an answer, or the answer itself when it is a no.
pub(super) fn items(answer: &Answer) -> Result<Vec<Value>> {
    match answer.json()? {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}
