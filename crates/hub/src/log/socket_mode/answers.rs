//! What an app answers with its acknowledgement: words to a slash command, and what is to
//! become of a modal that a person sent.

use butler_protocol::{Role, UserId};
use serde_json::Value;
use tracing::warn;

use crate::{
    error::{Result, Trouble},
    identity::{Agent, BOT_NAME},
    log::LoggedEvent,
    store::Tx,
    web_api::response_url,
    workspace::{Author, Draft, ephemeral, modals::interactions},
};

/// No answer came in time. Slack says so to whoever waits, and so do we.
pub(super) fn missed(tx: &mut Tx<'_>, event: &LoggedEvent) -> Result<()> {
    let payload = &event.frame["payload"];
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (user, what, place) = match (
        event.frame["type"].as_str().unwrap_or_default(),
        payload["type"].as_str().unwrap_or_default(),
    ) {
        ("interactive", "view_submission") => return interactions::unanswered(tx, payload),
        ("interactive", "view_closed" | "block_suggestion") => return Ok(()),
        ("interactive", _) if payload["container"]["type"] == "view" => return Ok(()),
        ("interactive", "block_actions") => {
            let place = payload["container"]["message_ts"].as_str();
            let user = words(&payload["user"]["id"]);
            (user, "The button".to_owned(), place)
        }
        ("interactive", _) => {
            let user = words(&payload["user"]["id"]);
            (
                user,
                "The shortcut".to_owned(),
                payload["message_ts"].as_str(),
            )
        }
        _ => {
            let command = format!("`{}`", words(&payload["command"]));
            (words(&payload["user_id"]), command, None)
        }
    };
    let root = place.and_then(|ts| ts.parse().ok());
    let author = Author::role(Role::Pm, BOT_NAME);
    let mut draft = Draft::new(event.channel.clone(), root, author);
    draft.text =
        format!("{what} failed with the error “operation_timeout”: the app did not answer.");
    ephemeral::keep(tx, &UserId::new(user), &draft).map(drop)
}

/// Does what was answered. An answer that makes no sense is dropped, as at Slack: the
/// envelope counts as acknowledged all the same.
pub(super) fn take(
    tx: &mut Tx<'_>,
    agent: &Agent,
    event: &LoggedEvent,
    answer: Value,
) -> Result<()> {
    let payload = &event.frame["payload"];
    let kind = event.frame["type"].as_str().unwrap_or_default();
    let done = tx.attempt(|tx| match (kind, payload["type"].as_str()) {
        ("slash_commands", _) => response_url::acknowledged(tx, event, answer),
        ("interactive", Some("view_submission")) => {
            interactions::answered(tx, agent, payload, &answer)
        }
        _ => Ok(()),
    });
    match done {
        Err(Trouble::Refused(_) | Trouble::Explained(..) | Trouble::Json(_)) => {
            warn!(role = %agent.role, "the answer with an acknowledgement made no sense");
            Ok(())
        }
        other => other,
    }
}
