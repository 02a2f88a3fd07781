//! Gitea's issues and releases. Their fields are GitHub's; labels go by number.

use serde_json::{Value, json};

use super::{SIZE, state};
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
            let since = since.map_or_else(String::new, |since| format!("&since={since}"));
            let path = format!(
                "issues?type=issues&state={}{since}&{}",
                state(asked),
                asked.page(SIZE)
            );
            http.get(&path).await
        }
        ("POST", ["issues"]) => {
            let ids = match label_ids(http, &asked.names("labels")).await? {
                Ok(ids) => ids,
                Err(no) => return Ok(no),
            };
            let mut body = asked.body.clone();
            body["labels"] = json!(ids);
            http.send("POST", "issues", &body).await
        }
        ("POST", ["issues" | "pulls", number, "labels"]) => {
            let ids = match label_ids(http, &asked.names("labels")).await? {
                Ok(ids) => ids,
                Err(no) => return Ok(no),
            };
            let path = format!("issues/{number}/labels");
            http.send("POST", &path, &json!({ "labels": ids })).await
        }
        ("GET", ["issues", number, "events"]) => {
            let path = format!("issues/{number}/timeline");
            let all = http.all(&path, SIZE).await?;
            let labels = all.iter().filter(|one| one["type"] == "label");
            Ok(listed(labels.map(labelled).collect()))
        }
        ("GET", ["releases"]) => http.get(&format!("releases?{}", asked.page(SIZE))).await,
        ("GET", ["releases", "tags", tag]) => {
            http.get(&format!("releases/tags/{}", encoded(tag))).await
        }
        ("POST", ["releases"]) => {
            let made = http.send("POST", "releases", &asked.body).await?;
            Ok(made.taken())
        }
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
    http: Link<'_>,
    names: &[String],
) -> Result<std::result::Result<Vec<u64>, Answer>> {
    let mut ids = Vec::new();
    if names.is_empty() {
        return Ok(Ok(ids));
    }
    let there = http.all("labels", SIZE).await?;
    for name in names {
        let known = there.iter().find(|label| label["name"] == name.as_str());
        let id = match known {
            Some(label) => label["id"].as_u64(),
            None => {
                let body = json!({ "name": name, "color": "#ededed" });
                let made = http.send("POST", "labels", &body).await?;
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
