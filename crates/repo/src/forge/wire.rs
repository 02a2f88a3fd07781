//! GitHub's JSON in our words. What we do not need is not read; what is missing
//! makes an item unreadable, never a panic.

use butler_protocol::{BranchName, CommitSha, PrNumber, Role};
use serde_json::Value;

use super::{Author, Check, Comment, Place, PullRequest, PullState, hosted::check_state};

/// A pull request without its comments.
pub(super) fn pull(json: &Value) -> Option<PullRequest> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let merged = !json["merged_at"].is_null() || json["merged"] == Value::Bool(true);
    let state = match json["state"].as_str()? {
        _ if merged => PullState::Merged {
            commit: CommitSha::new(text(&json["merge_commit_sha"])?),
        },
        "open" => PullState::Open,
        _ => PullState::Closed,
    };
    Some(PullRequest {
        number: PrNumber(json["number"].as_u64()?),
        title: text(&json["title"])?,
        body: text(&json["body"]).unwrap_or_default(),
        branch: BranchName::new(text(&json["head"]["ref"])?),
        head: CommitSha::new(text(&json["head"]["sha"])?),
        base: BranchName::new(text(&json["base"]["ref"])?),
        state,
        url: text(&json["html_url"]),
        draft: json["draft"] == Value::Bool(true),
        comments: Vec::new(),
    })
}

const MARK: &str = "<!-- codebutler:";

/// A comment's text with the mark by which we recognise it.
pub(crate) fn marked(author: &Author, body: &str, key: &str) -> String {
    let role = match author {
        Author::Role(role) => role.as_str(),
        Author::Person(_) => "person",
    };
    // "--" would end the mark early.
    let key = key.replace("--", "- -");
    format!("{body}\n\n{MARK}{role}:{key} -->")
}

/// Whether a text has such a mark.
pub(crate) fn has_mark(body: &str) -> bool {
    written(&Value::Null, body).2.is_some()
}

/// A text without its mark, who wrote it, and the key in the mark.
pub(crate) fn written(json: &Value, body: &str) -> (String, Author, Option<String>) {
    let (body, mark) = match body.rsplit_once(MARK) {
        Some((text, mark)) => (text.trim_end(), mark.strip_suffix(" -->")),
        None => (body, None),
    };
    let mark = mark.and_then(|mark| mark.split_once(':'));
    let person = || Author::Person(json["user"]["login"].as_str().unwrap_or("ghost").to_owned());
    let author = match mark.map(|(role, _)| role.parse::<Role>()) {
        Some(Ok(role)) => Author::Role(role),
        _ => person(),
    };
    let key = mark.map(|(_, key)| key.replace("- -", "--"));
    (body.to_owned(), author, key)
}

/// A comment, ours or a person's.
pub(crate) fn comment(json: &Value) -> Option<Comment> {
    let (body, author, key) = written(json, json["body"].as_str()?);
    let line = json["line"].as_u64().or(json["original_line"].as_u64());
    let place = json["path"].as_str().zip(line).map(|(path, line)| Place {
        path: path.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
    });
    let at = seconds(&json["created_at"])?;
    // The two kinds of comments count separately.
    let kind = if place.is_some() { "line" } else { "note" };
    Some(Comment {
        id: format!("{kind}-{}", json["id"].as_u64()?),
        author,
        body,
        place,
        at,
        key,
    })
}

/// A moment in seconds since 1970.
pub(crate) fn seconds(moment: &Value) -> Option<i64> {
    let moment: jiff::Timestamp = moment.as_str()?.parse().ok()?;
    Some(moment.as_second())
}

/// A check of an app.
pub(super) fn check_run(json: &Value, head: &CommitSha) -> Option<Check> {
    Some(Check {
        name: json["name"].as_str()?.to_owned(),
        state: check_state(json["conclusion"].as_str()),
        head: head.clone(),
        url: json["html_url"].as_str().map(str::to_owned),
    })
}

/// A check of the older kind.
pub(super) fn status(json: &Value, head: &CommitSha) -> Option<Check> {
    Some(Check {
        name: json["context"].as_str()?.to_owned(),
        state: check_state(json["state"].as_str()),
        head: head.clone(),
        url: json["target_url"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::NewComment, *};

    #[test]
    fn a_mark_survives_the_way_there_and_back() {
        let new = NewComment {
            author: Author::Role(Role::Lead),
            body: "text".into(),
            place: None,
            key: "a--b:c".into(),
        };
        let json = json!({"id": 7, "body": marked(&new.author, &new.body, &new.key), "created_at": "2026-01-02T03:04:05Z", "user": {"login": "ana"}});
        let read = comment(&json).unwrap();
        assert_eq!(
            (read.body.as_str(), read.author),
            ("text", Author::Role(Role::Lead))
        );
        assert_eq!(read.key.as_deref(), Some("a--b:c"));
        let theirs = json!({"id": 8, "body": "hm", "created_at": "2026-01-02T03:04:05Z", "user": {"login": "ana"}});
        assert_eq!(
            comment(&theirs).unwrap().author,
            Author::Person("ana".into())
        );
        assert_eq!(comment(&json!({"id": 9})), None);
        assert_eq!(pull(&json!({"state": "open"})), None);
    }
}
