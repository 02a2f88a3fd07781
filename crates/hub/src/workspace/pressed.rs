//! What a person did with an element of a message, as the app is told of it: on a message
//! of the channel, on an attachment, or on words that only this person sees.

pub(crate) mod fields;

use butler_protocol::{ChannelId, MessageTs, Role, ThreadId};
use butler_slack::EnvelopeKind;
use serde_json::{Value, json};

use super::{channels, decide::Rules, ephemeral, message, modals};
use crate::{
    error::{Refusal, Result},
    identity::{APP, Person, TEAM},
    log::{self, Happening},
    store::{Db, Tx},
    web_api::response_url,
};

/// The message whose element a person used: one of the channel, or for their eyes only.
pub(crate) struct Target {
    pub(crate) thread: ThreadId,
    pub(crate) role: Option<Role>,
    pub(crate) whispered: bool,
    body: Value,
}

impl Target {
    /// Finds it, as this person sees it.
    pub(crate) fn find(
        db: &Db,
        channel: &ChannelId,
        ts: &MessageTs,
        person: &Person,
    ) -> Result<Self> {
        if let Some(found) = message::find(db, channel, ts)? {
            return Ok(Self {
                thread: ThreadId::new(channel.clone(), found.root),
                role: found.role,
                whispered: false,
                body: found.body,
            });
        }
        let body = ephemeral::find(db, channel, ts, &person.id)?.ok_or(Refusal::MessageNotFound)?;
        let root = body["thread_ts"]
            .as_str()
            .and_then(|root| root.parse().ok());
        Ok(Self {
            thread: ThreadId::new(channel.clone(), root.unwrap_or_else(|| ts.clone())),
            role: None,
            whispered: true,
            body,
        })
    }

    /// Its blocks, with those of its attachments.
    pub(crate) fn blocks(&self) -> Value {
        let attached = self.body["attachments"].as_array().into_iter().flatten();
        let all = [&self.body["blocks"]]
            .into_iter()
            .chain(attached.map(|one| &one["blocks"]));
        Value::Array(all.filter_map(Value::as_array).flatten().cloned().collect())
    }
}

/// An element of a message that a person used.
pub(crate) struct Pressed<'a> {
    pub(crate) target: Target,
    pub(crate) ts: &'a MessageTs,
    pub(crate) element: Value,
    /// The state of all inputs of the message.
    pub(crate) state: Option<Value>,
}

/// The payload of a click as Slack sends it.
pub(crate) fn block_actions(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    pressed: Pressed<'_>,
) -> Result<Value> {
    let (target, ts) = (pressed.target, pressed.ts);
    let thread = &target.thread;
    let channel = channels::get(tx.db(), &thread.channel)?;
    let action_ts = tx.next_ts();
    let mut element = pressed.element;
    element["action_ts"] = json!(action_ts);
    let mut state = fields::state(&target.blocks(), pressed.state.as_ref());
    fields::used(&mut state, &element);
    let key = response_url::issue(tx.db(), &thread.channel, ts, &person.id)?;
    let trigger = modals::trigger(tx, thread, &person.id)?;
    let mut payload = json!({
        "type": "block_actions",
        "team": {"id": TEAM, "domain": "codebutler"},
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM},
        "api_app_id": APP, "token": "",
        "container": {"type": "message", "message_ts": ts, "channel_id": channel.id,
            "thread_ts": thread.root, "is_ephemeral": target.whispered},
        "trigger_id": trigger,
        "channel": {"id": channel.id, "name": channel.name},
        "state": {"values": state},
        "response_url": format!("{}/respond/{key}", rules.base),
        "actions": [element],
    });
    // What only one person sees is not told to the app again, as at Slack.
    if !target.whispered {
        payload["message"] = target.body;
    }
    Ok(payload)
}

/// A person types into a field whose options the app knows: it is asked for them. Gives
/// the number of the question in the log.
pub(crate) fn ask_options(
    tx: &mut Tx<'_>,
    person: &Person,
    (channel, ts): (&ChannelId, &MessageTs),
    (block, action): (Option<&str>, &str),
    typed: &str,
) -> Result<u64> {
    let target = Target::find(tx.db(), channel, ts, person)?;
    let mut asked = suggestion(&target.blocks(), person, (block, action), typed)?;
    let place = channels::get(tx.db(), channel)?;
    asked["container"] = json!({"type": "message", "message_ts": ts, "channel_id": channel,
        "thread_ts": target.thread.root, "is_ephemeral": target.whispered});
    asked["channel"] = json!({"id": place.id, "name": place.name});
    if !target.whispered {
        asked["message"] = target.body;
    }
    tell(tx, target.thread, asked)
}

/// The question for options, about the element with these names.
pub(super) fn suggestion(
    blocks: &Value,
    person: &Person,
    (block, action): (Option<&str>, &str),
    typed: &str,
) -> Result<Value> {
    let asks = |element: &Value| {
        element["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("external_select"))
    };
    let found = fields::elements(blocks).find(|(there, element)| {
        element["action_id"] == action
            && block.is_none_or(|id| there["block_id"] == id)
            && asks(element)
    });
    let (there, _) = found.ok_or(Refusal::UnknownAction)?;
    Ok(json!({
        "type": "block_suggestion", "team": {"id": TEAM, "domain": "codebutler"},
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM},
        "api_app_id": APP, "token": "",
        "action_id": action, "block_id": there["block_id"], "value": typed,
    }))
}

pub(super) fn tell(tx: &mut Tx<'_>, thread: ThreadId, payload: Value) -> Result<u64> {
    let told = Happening {
        kind: EnvelopeKind::Interactive,
        ..Happening::new(thread, None, payload)
    };
    log::append(tx, told)
}
