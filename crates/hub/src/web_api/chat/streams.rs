//! Messages that are written bit by bit, in Markdown.

use butler_protocol::{ChannelId, MessageTs, PostTag};
use serde_json::{Value, json};

use super::{blocks, own_message, post_of};
use crate::{
    error::{Refusal, Result, When, refuse},
    store::{Db, Tx, params},
    web_api::Call,
    workspace::{
        channels::{self, Kind},
        gate,
        message::{self, Shape},
        outbox,
    },
};

/// The Markdown of a call: as it is, or as chunks, of which tasks become lines.
fn markdown_of(call: &Call) -> Result<String> {
    let mut markdown = call.args.text("markdown_text").unwrap_or_default();
    let chunks = call.args.json("chunks", Refusal::InvalidArguments)?;
    for chunk in chunks
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let words = |field: &str| chunk[field].as_str().unwrap_or_default();
        match words("type") {
            "markdown_text" => markdown.push_str(words("text")),
            "task_update" => {
                markdown.push_str(&format!("\n- {}: {}", words("title"), words("status")));
            }
            "plan_update" => markdown.push_str(&format!("\n**{}**", words("title"))),
            _ => {}
        }
    }
    gate::clean_text(&call.app.redactor, &mut markdown);
    match markdown.chars().count() > 12_000 {
        true => refuse(Refusal::MsgTooLong),
        false => Ok(markdown),
    }
}

pub(in crate::web_api) fn start(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let markdown = markdown_of(call)?;
    let post = post_of(call)?;
    Refusal::InvalidThreadTs.when(post.thread_ts.is_none())?;
    let channel = call.channel(tx.db())?;
    channels::writable(tx.db(), &channel)?;
    if channels::get(tx.db(), &channel)?.kind != Kind::Direct {
        let unnamed = |field: &str| call.args.text(field).is_none();
        Refusal::MissingRecipientUserId.when(unnamed("recipient_user_id"))?;
        Refusal::MissingRecipientTeamId.when(unnamed("recipient_team_id"))?;
    }
    outbox::check_name(&call.agent, post.username.as_deref())?;
    let mut draft = outbox::draft_of(&call.agent, &post, None);
    draft.text = butler_slack::mrkdwn::from_markdown(&markdown);
    draft.shape = Shape::Streaming;
    let (ts, _) = message::write(tx, draft)?;
    tx.db().execute(
        "INSERT INTO streams (channel, ts, markdown) VALUES (?1, ?2, ?3)",
        params![channel, ts, markdown],
    )?;
    Ok(json!({"channel": channel, "ts": ts}))
}

/// What was written of a message so far, while it is being written.
pub(crate) fn so_far(db: &Db, channel: &ChannelId, ts: &MessageTs) -> Result<Option<String>> {
    Ok(db.first(
        "SELECT markdown FROM streams WHERE channel = ?1 AND ts = ?2",
        params![channel, ts],
    )?)
}

pub(in crate::web_api) fn go_on(tx: &mut Tx<'_>, call: &Call, ends: bool) -> Result<Value> {
    let (channel, ts) = (call.args.channel()?, call.args.message()?);
    let more = markdown_of(call)?;
    Refusal::NoText.when(more.is_empty() && !ends)?;
    let mut blocks = blocks::checked(call.args.json("blocks", Refusal::InvalidBlocksFormat)?)?;
    if let Some(blocks) = &mut blocks {
        gate::clean_value(&call.app.redactor, blocks);
    }
    let metadata = super::own_metadata(call)?;
    Refusal::InvalidMetadataFormat.when(metadata.as_ref().is_some_and(is_card))?;
    let not_own = Refusal::CantUpdateMessage;
    let old = own_message(tx.db(), &call.agent, &channel, &ts, not_own)?;
    let mut markdown =
        so_far(tx.db(), &channel, &ts)?.ok_or(Refusal::MessageNotInStreamingState)?;
    markdown.push_str(&more);
    Refusal::MsgTooLong.when(markdown.chars().count() > 12_000)?;
    let text = butler_slack::mrkdwn::from_markdown(&markdown);
    let edit_ts = tx.next_ts().to_string();
    let mut body = message::edited(old.body.clone(), &text, blocks, metadata, &edit_ts);
    if let Some(fields) = body.as_object_mut() {
        fields.remove("edited");
    }
    body["streaming_state"] = json!(if ends { "completed" } else { "in_progress" });
    note(tx, (&channel, &ts), (!ends).then_some(&markdown))?;
    message::replace(tx, &channel, &old, &body)?;
    let mut answer = json!({"channel": channel, "ts": ts});
    if ends {
        answer["message"] = body;
    }
    Ok(answer)
}

fn is_card(metadata: &Value) -> bool {
    let tag = PostTag::from_metadata(metadata);
    tag.is_ok_and(|tag| tag.is_some_and(|tag| tag.card.is_some()))
}

/// Keeps what was written so far, or forgets it at the end.
fn note(
    tx: &Tx<'_>,
    (channel, ts): (&ChannelId, &MessageTs),
    markdown: Option<&String>,
) -> Result<()> {
    let sql = match markdown {
        Some(_) => "UPDATE streams SET markdown = ?3 WHERE channel = ?1 AND ts = ?2",
        None => "DELETE FROM streams WHERE channel = ?1 AND ts = ?2 AND ?3 IS NULL",
    };
    tx.db().run(sql, params![channel, ts, markdown])
}
