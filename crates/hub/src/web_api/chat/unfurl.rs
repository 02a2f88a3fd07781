//! Posts in the third person, and what an app shows of the links in a message.

use serde_json::{Value, json};

use super::post_of;
use crate::{
    error::{Refusal, Result, When, refuse},
    store::Tx,
    web_api::Call,
    workspace::{
        channels, decide, gate,
        message::{self, Shape},
        outbox,
    },
};

pub(in crate::web_api) fn me_message(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let post = post_of(call)?;
    Refusal::NoText.when(post.text.is_empty())?;
    let channel = call.channel(tx.db())?;
    channels::writable(tx.db(), &channel)?;
    let mut draft = outbox::draft_of(&call.agent, &post, None);
    draft.text = post.text;
    draft.shape = Shape::Me;
    let (ts, _) = message::write(tx, draft)?;
    Ok(json!({"channel": channel, "ts": ts}))
}

/// Attachments for links of a message; a second one for a link replaces the first.
pub(in crate::web_api) fn unfurl(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let given = call.args.json("unfurls", Refusal::MissingUnfurls)?;
    let Some(Value::Object(unfurls)) = given else {
        return refuse(Refusal::MissingUnfurls);
    };
    let (channel, ts) = call.message(tx.db())?;
    let old = message::get(tx.db(), &channel, &ts)?;
    Refusal::CannotUnfurlMessage.when(decide::is_card(tx.db(), &channel, &ts)?)?;
    let mut body = old.body.clone();
    let mut attachments = body["attachments"].as_array().cloned().unwrap_or_default();
    for (url, mut unfurl) in unfurls {
        gate::clean_value(&call.app.redactor, &mut unfurl);
        attachments.retain(|other| other["from_url"] != url.as_str());
        unfurl["from_url"] = json!(url);
        unfurl["is_app_unfurl"] = json!(true);
        attachments.push(unfurl);
    }
    body["attachments"] = json!(attachments);
    message::replace(tx, &channel, &old, &body)?;
    Ok(json!({}))
}
