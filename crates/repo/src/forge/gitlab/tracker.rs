//! GitLab's issues and releases.

use serde_json::json;

use super::{
    SIZE, change,
    shapes::{comment, issue, labelled, release},
    state,
};
use crate::{
    Result,
    forge::{
        answer::Answer,
        dialect::{Asked, listed},
        http::{Link, encoded},
    },
};

/// The part of the table for issues and releases.
pub(super) async fn tracker(http: Link<'_>, asked: &Asked<'_>) -> Result<Answer> {
    match (asked.method, asked.parts.as_slice()) {
        ("GET", ["issues"]) => {
            let since = asked.value("since");
            let since = since.map_or_else(String::new, |since| format!("&updated_after={since}"));
            let path = format!("issues?state={}{since}&{}", state(asked), asked.page(SIZE));
            Ok(http.get(&path).await?.each(issue))
        }
        ("POST", ["issues"]) => {
            let mut body = asked.renamed(&[("title", "title"), ("body", "description")]);
            body["labels"] = json!(asked.names("labels").join(","));
            let made = http.send("POST", "issues", &body).await?;
            Ok(made.with(issue))
        }
        ("GET", ["issues", number]) => http.shown(&format!("issues/{number}"), issue).await,
        ("PATCH", ["issues", number]) => {
            let made = change(http, &format!("issues/{number}"), asked).await?;
            Ok(made.with(issue))
        }
        ("POST", [kind @ ("issues" | "pulls"), number, "labels"]) => {
            let place = if *kind == "pulls" {
                "merge_requests"
            } else {
                "issues"
            };
            let body = json!({ "add_labels": asked.names("labels").join(",") });
            http.send("PUT", &format!("{place}/{number}"), &body).await
        }
        ("GET", ["issues", number, "events"]) => {
            let path = format!("issues/{number}/resource_label_events");
            let all = http.all(&path, SIZE).await?;
            Ok(listed(all.iter().map(labelled).collect()))
        }
        ("GET", ["issues", number, "comments"]) => {
            let path = format!("issues/{number}/notes?sort=asc");
            let all = http.all(&path, SIZE).await?;
            let said = all.iter().filter(|note| note["system"] != json!(true));
            Ok(listed(said.map(comment).collect()))
        }
        ("POST", ["issues", number, "comments"]) => {
            let path = format!("issues/{number}/notes");
            let made = http.send("POST", &path, &asked.body).await?;
            Ok(made.with(comment))
        }
        ("GET", ["releases"]) => {
            let path = format!("releases?{}", asked.page(SIZE));
            Ok(http.get(&path).await?.each(release))
        }
        ("GET", ["releases", "tags", tag]) => {
            let path = format!("releases/{}", encoded(tag));
            http.shown(&path, release).await
        }
        ("POST", ["releases"]) => {
            let body = asked.renamed(&[
                ("tag_name", "tag_name"),
                ("target_commitish", "ref"),
                ("name", "name"),
                ("body", "description"),
            ]);
            let made = http.send("POST", "releases", &body).await?;
            Ok(made.taken().with(release))
        }
        _ => Err(asked.unknown()),
    }
}
