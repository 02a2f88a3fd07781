//! What people do besides posting, clicking and reacting: change or delete what
//! they said, and type slash commands. With a person's token, for scripts and the page.

use std::sync::Arc;

use axum::{
    Json, Router,
    routing::{patch, post},
};
use butler_protocol::{ChannelId, MessageTs, ThreadId, UserId};
use butler_slack::{EnvelopeKind, mrkdwn};
use serde::Deserialize;
use serde_json::json;

use crate::{
    error::{Answer, Refusal, Result, When, done, refuse, well},
    hub::App,
    identity::{APP, Person, TEAM},
    log::{self, Happening},
    person_api::{Somebody, person_actions},
    store::{Db, Tx, params},
    web_api::response_url,
    workspace::{Stored, channels, message, modals},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/messages", patch(change).delete(delete))
        .route("/v1/commands", post(command))
}

#[derive(Deserialize)]
struct Changing {
    channel: ChannelId,
    ts: MessageTs,
    text: String,
}

/// A person changes their own message; every agent of the channel is told.
async fn change(Somebody { app, person }: Somebody, Json(change): Json<Changing>) -> Answer {
    person_actions::only_here(&app)?;
    let text = person_actions::checked(&change.text)?;
    let (channel, ts) = (change.channel.clone(), change.ts.clone());
    let write = app.write(move |tx| {
        let Changing { channel, ts, .. } = change;
        let old = own(tx.db(), &person, &channel, &ts, Refusal::CantUpdateMessage)?;
        let mut body = old.body.clone();
        body["text"] = json!(person_actions::written(&text));
        body["edited"] = json!({"user": person.id, "ts": tx.next_ts()});
        message::replace(tx, &channel, &old, &body)?;
        Ok(body)
    });
    well(json!({"channel": channel, "ts": ts, "message": write.await?}))
}

#[derive(Deserialize)]
struct Deleting {
    channel: ChannelId,
    ts: MessageTs,
}

/// A person deletes their own message.
async fn delete(somebody: Somebody, Json(Deleting { channel, ts }): Json<Deleting>) -> Answer {
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        let old = own(tx.db(), person, &channel, &ts, Refusal::CantDeleteMessage)?;
        message::delete(tx, &channel, &old)
    };
    somebody.does_here(work).await
}

/// A message that this person wrote.
fn own(
    db: &Db,
    person: &Person,
    channel: &ChannelId,
    ts: &MessageTs,
    not_own: Refusal,
) -> Result<Stored> {
    channels::get(db, channel)?;
    match message::find(db, channel, ts)? {
        None => refuse(Refusal::MessageNotFound),
        Some(found) if found.body["user"] != json!(person.id) => refuse(not_own),
        Some(found) => Ok(found),
    }
}

#[derive(Deserialize)]
struct Commanding {
    channel: ChannelId,
    /// As in `/pm`.
    command: String,
    #[serde(default)]
    text: String,
}

/// A person types a slash command; the agents of the channel get it as Slack
/// would send it. What an agent answers is shown to that person only, unless it says
/// otherwise.
async fn command(Somebody { app, person }: Somebody, Json(typed): Json<Commanding>) -> Answer {
    type_command(&app, person, typed.channel, &typed.command, &typed.text).await?;
    done()
}

/// The same from the page's form.
pub(crate) async fn type_command(
    app: &App,
    person: Person,
    channel: ChannelId,
    command: &str,
    text: &str,
) -> Result<()> {
    person_actions::only_here(app)?;
    let name = command.strip_prefix('/').unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    Refusal::InvalidCommand.when(name.is_empty() || name.len() > 32 || !name.chars().all(plain))?;
    let base = app.rules.base.clone();
    let (command, text) = (command.to_owned(), mrkdwn::escape(text));
    app.write(move |tx| {
        let channel = channels::get(tx.db(), &channel)?;
        // A command is in no thread; it gets a place of its own in the log.
        let place = tx.next_ts();
        let key = response_url::issue(tx.db(), &channel.id, &place, &person.id)?;
        let thread = ThreadId::new(channel.id.clone(), place);
        let trigger = modals::trigger(tx, &thread, &person.id)?;
        let payload = json!({
            "token": "", "team_id": TEAM, "team_domain": "codebutler",
            "channel_id": channel.id, "channel_name": channel.name,
            "user_id": person.id, "user_name": person.name, "command": command,
            "text": text, "api_app_id": APP, "is_enterprise_install": "false",
            "response_url": format!("{base}/respond/{key}"),
            "trigger_id": trigger,
        });
        let typed = Happening {
            kind: EnvelopeKind::SlashCommands,
            ..Happening::new(thread, None, payload)
        };
        log::append(tx, typed)?;
        Ok(())
    })
    .await
}

/// Who typed the command that has this place in the log.
pub(crate) fn commander(db: &Db, channel: &ChannelId, place: &str) -> Result<Option<UserId>> {
    let sql = "SELECT json_extract(frame, '$.payload.user_id') FROM events
         WHERE channel = ?1 AND root = ?2 ORDER BY seq LIMIT 1";
    Ok(db.first(sql, params![channel, place])?.flatten())
}
