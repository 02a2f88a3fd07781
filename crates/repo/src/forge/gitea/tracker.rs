//! Gitea's issues and releases. Their fields are GitHub's; labels go by number.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{SIZE, paging, state, taken};
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
            let since = since.map_or_else(String::new, |since| format!("&since={since}"));
            let path = format!(
                "issues?type=issues&state={}{since}&{}",
                state(asked),
                paging(asked)
            );
            http.get(&path, cancel).await
        }
        ("POST", ["issues"]) => {
            let ids = match label_ids(http, &asked.names("labels"), cancel).await? {
                Ok(ids) => ids,
                Err(no) => return Ok(no),
            };
            let mut body = asked.body.clone();
            body["labels"] = json!(ids);
            http.send("POST", "issues", Some(&body), cancel).await
        }
        ("POST", ["issues" | "pulls", number, "labels"]) => {
            let ids = match label_ids(http, &asked.names("labels"), cancel).await? {
                Ok(ids) => ids,
                Err(no) => return Ok(no),
            };
            let path = format!("issues/{number}/labels");
            http.send("POST", &path, Some(&json!({ "labels": ids })), cancel)
                .await
        }
        ("GET", ["issues", number, "events"]) => {
            let path = format!("issues/{number}/timeline");
            let all = http.all(&path, SIZE, cancel).await?;
            let labels = all.iter().filter(|one| one["type"] == "label");
            Ok(listed(labels.map(labelled).collect()))
        }
        ("GET", ["issues", number]) => http.get(&format!("issues/{number}"), cancel).await,
        ("PATCH", ["issues", number]) => {
            http.send(
                "PATCH",
                &format!("issues/{number}"),
                Some(&asked.body),
                cancel,
            )
            .await
        }
        ("GET", ["releases"]) => {
            http.get(&format!("releases?{}", paging(asked)), cancel)
                .await
        }
        ("GET", ["releases", "tags", tag]) => {
            http.get(&format!("releases/tags/{}", encoded(tag)), cancel)
                .await
        }
        ("POST", ["releases"]) => Ok(taken(
            http.send("POST", "releases", Some(&asked.body), cancel)
                .await?,
        )),
        _ => Err(asked.unknown()),
    }
}

/// A label that was added has the text 1, one that was taken away has none.
fn labelled(json: &Value) -> Value {
    json!({
        "id": json["id"],
        "event": if json["body"] == "1" { "labeled" } else { "unlabeled" },
        "label": { "name": json["label"]["name"] },
        "actor": { "login": json["user"]["login"] },
    })
}

/// The numbers of labels; those that are not there are made, as GitHub and GitLab do it.
/// An answer that is not clear is the answer to the whole: who asked looks again.
async fn label_ids(
    http: &Http,
    names: &[String],
    cancel: &CancellationToken,
) -> Result<std::result::Result<Vec<u64>, Answer>> {
    let mut ids = Vec::new();
    if names.is_empty() {
        return Ok(Ok(ids));
    }
    let there = http.all("labels", SIZE, cancel).await?;
    for name in names {
        let known = there.iter().find(|label| label["name"] == name.as_str());
        let id = match known {
            Some(label) => label["id"].as_u64(),
            None => {
                let body = json!({ "name": name, "color": "#ededed" });
                let made = http.send("POST", "labels", Some(&body), cancel).await?;
                if !made.is_good() {
                    return Ok(Err(made));
                }
                made.json()?["id"].as_u64()
            }
        };
        ids.extend(id);
    }
    Ok(Ok(ids))
}
