//! GitLab's issues and releases.

use serde_json::json;

use super::{
    SIZE, change, paging,
    shapes::{comment, issue, labelled, release},
    state, taken,
};
use crate::{
    Result,
    forge::{
        answer::Answer,
        dialect::{Asked, listed},
        http::{Http, encoded},
    },
};

/// The part of the table for issues and releases.
pub(super) async fn tracker(http: &Http, asked: &Asked<'_>) -> Result<Answer> {
    let cancel = asked.cancel;
    match (asked.method, asked.parts.as_slice()) {
        ("GET", ["issues"]) => {
            let since = asked.value("since");
            let since = since.map_or_else(String::new, |since| format!("&updated_after={since}"));
            let path = format!("issues?state={}{since}&{}", state(asked), paging(asked));
            Ok(http.get(&path, cancel).await?.each(issue))
        }
        ("POST", ["issues"]) => {
            let mut body = asked.renamed(&[("title", "title"), ("body", "description")]);
            body["labels"] = json!(asked.names("labels").join(","));
            let made = http.send("POST", "issues", Some(&body), cancel).await?;
            Ok(made.with(|json| issue(&json)))
        }
        ("GET", ["issues", number]) => {
            let found = http.get(&format!("issues/{number}"), cancel).await?;
            Ok(found.with(|json| issue(&json)))
        }
        ("PATCH", ["issues", number]) => {
            let made = change(http, &format!("issues/{number}"), asked).await?;
            Ok(made.with(|json| issue(&json)))
        }
        ("POST", [kind @ ("issues" | "pulls"), number, "labels"]) => {
            let place = if *kind == "pulls" {
                "merge_requests"
            } else {
                "issues"
            };
            let body = json!({ "add_labels": asked.names("labels").join(",") });
            http.send("PUT", &format!("{place}/{number}"), Some(&body), cancel)
                .await
        }
        ("GET", ["issues", number, "events"]) => {
            let path = format!("issues/{number}/resource_label_events");
            let all = http.all(&path, SIZE, cancel).await?;
            Ok(listed(all.iter().map(labelled).collect()))
        }
        ("GET", ["issues", number, "comments"]) => {
            let path = format!("issues/{number}/notes?sort=asc");
            let all = http.all(&path, SIZE, cancel).await?;
            let said = all.iter().filter(|note| note["system"] != json!(true));
            Ok(listed(said.map(comment).collect()))
        }
        ("POST", ["issues", number, "comments"]) => {
            let path = format!("issues/{number}/notes");
            let made = http.send("POST", &path, Some(&asked.body), cancel).await?;
            Ok(made.with(|json| comment(&json)))
        }
        ("GET", ["releases"]) => {
            let path = format!("releases?{}", paging(asked));
            Ok(http.get(&path, cancel).await?.each(release))
        }
        ("GET", ["releases", "tags", tag]) => {
            let found = http
                .get(&format!("releases/{}", encoded(tag)), cancel)
                .await?;
            Ok(found.with(|json| release(&json)))
        }
        ("POST", ["releases"]) => {
            let body = asked.renamed(&[
                ("tag_name", "tag_name"),
                ("target_commitish", "ref"),
                ("name", "name"),
                ("body", "description"),
            ]);
            let made = http.send("POST", "releases", Some(&body), cancel).await?;
            Ok(taken(made).with(|json| release(&json)))
        }
        _ => Err(asked.unknown()),
    }
}
