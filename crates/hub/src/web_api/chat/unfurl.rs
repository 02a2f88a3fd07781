//! Posts in the third person, and what an app shows of the links in a message.

use serde_json::{Value, json};

use super::post_of;
use crate::{
    error::{Refusal, Result, When, refuse},
    web_api::Call,
    workspace::{
        channels, decide, gate,
        message::{self, Shape},
        outbox,
    },
};

pub(in crate::web_api) async fn me_message(call: Call) -> Result<Value> {
    let post = post_of(&call)?;
    Refusal::NoText.when(post.text.is_empty())?;
    let place = post.channel.clone();
    let write = call.write_in(&place, move |tx, agent| {
        channels::writable(tx.db(), &post.channel)?;
        let mut draft = outbox::draft_of(agent, &post, None);
        draft.text.clone_from(&post.text);
        draft.shape = Shape::Me;
        let (ts, _) = message::write(tx, draft)?;
        Ok(json!({"channel": post.channel, "ts": ts}))
    });
    write.await
}

/// Attachments for links of a message; a second one for a link replaces the first.
pub(in crate::web_api) async fn unfurl(call: Call) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.message()?);
    let given = call.args.json("unfurls", Refusal::MissingUnfurls)?;
    let Some(Value::Object(mut unfurls)) = given else {
        return refuse(Refusal::MissingUnfurls);
    };
    for unfurl in unfurls.values_mut() {
        gate::clean_value(&call.app.redactor, unfurl);
    }
    let place = channel.clone();
    let write = call.write_in(&place, move |tx, _| {
        let old = message::get(tx.db(), &channel, &ts)?;
        Refusal::CannotUnfurlMessage.when(decide::is_card(tx.db(), &channel, &ts)?)?;
        let mut body = old.body.clone();
        let mut attachments = body["attachments"].as_array().cloned().unwrap_or_default();
        for (url, mut unfurl) in unfurls {
            attachments.retain(|other| other["from_url"] != url.as_str());
            unfurl["from_url"] = json!(url);
            unfurl["is_app_unfurl"] = json!(true);
            attachments.push(unfurl);
        }
        body["attachments"] = json!(attachments);
        message::replace(tx, &channel, &old, &body)?;
        Ok(json!({}))
    });
    write.await
}
