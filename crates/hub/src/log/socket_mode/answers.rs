//! What an app answers with its acknowledgement: words to a slash command, and what is to
//! become of a modal that a person sent.

use serde_json::Value;
use tracing::warn;

use crate::{
    error::Trouble, identity::Agent, log::notice::LoggedEvent, store::tx::Tx,
    web_api::response_url, workspace::modals::interactions,
};

/// Does what was answered. An answer that makes no sense is dropped, as at Slack: the
/// envelope counts as acknowledged all the same.
pub(super) fn take(
    tx: &mut Tx<'_>,
    agent: &Agent,
    event: &LoggedEvent,
    answer: Value,
) -> Result<(), Trouble> {
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
