//! Posts in the third person, and what an app shows of the links in a message.

use serde_json::{Value, json};

use super::post_of;
use crate::{
    error::{Refusal, Trouble, refuse},
    web_api::Call,
    workspace::{
        channels, decide, gate,
        message::{self, Shape},
        outbox,
    },
};

pub(in crate::web_api) async fn me_message(call: Call) -> Result<Value, Trouble> {
    let post = post_of(&call)?;
    if post.text.is_empty() {
        return refuse(Refusal::NoText);
    }
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let write = call.app.store.write(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        agent.may_use(tx.db(), &post.channel)?;
        channels::writable(tx.db(), &post.channel)?;
        let mut draft = outbox::draft_of(&agent, &post, None);
        draft.text.clone_from(&post.text);
        draft.shape = Shape::Me;
        let (ts, _) = message::write(tx, draft)?;
        Ok(json!({"channel": post.channel, "ts": ts}))
    });
    write.await
}

/// Attachments for links of a message; a second one for a link replaces the first.
pub(in crate::web_api) async fn unfurl(call: Call) -> Result<Value, Trouble> {
    let channel = call.args.channel()?;
    let Some(ts) = call.args.ts("ts", Refusal::MessageNotFound)? else {
        return refuse(Refusal::MessageNotFound);
    };
    let given = call.args.json("unfurls", Refusal::MissingUnfurls)?;
    let Some(Value::Object(mut unfurls)) = given else {
        return refuse(Refusal::MissingUnfurls);
    };
    for unfurl in unfurls.values_mut() {
        gate::clean_value(&call.app.redactor, unfurl);
    }
    let (agent, fence) = (call.agent.clone(), call.fence.clone());
    let write = call.app.store.write(move |tx| {
        agent.check_fence(tx.db(), fence.as_ref())?;
        agent.may_use(tx.db(), &channel)?;
        let Some(old) = message::find(tx.db(), &channel, &ts)? else {
            return refuse(Refusal::MessageNotFound);
        };
        if decide::is_card(tx.db(), &channel, &ts)? {
            return refuse(Refusal::CannotUnfurlMessage);
        }
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
