//! What people do besides posting, clicking and reacting: change or delete what
//! they said, and type slash commands. With a person's token, for scripts and the page.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    routing::{patch, post},
};
use butler_protocol::{ChannelId, MessageTs, ThreadId};
use butler_slack::{EnvelopeKind, mrkdwn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::{Refusal, Refused, Trouble, refuse},
    hub::app::App,
    identity::{
        Person,
        names::{APP, TEAM},
    },
    log::{self, Happening},
    person_api::{guard::Somebody, person_actions},
    store::db::Db,
    web_api::response_url,
    workspace::{
        channels,
        message::{self, Stored},
        modals,
    },
};

type Answer = Result<Json<Value>, Refused>;

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
async fn change(
    State(app): State<Arc<App>>,
    Somebody(person): Somebody,
    Json(change): Json<Changing>,
) -> Answer {
    person_actions::only_here(&app)?;
    let text = person_actions::checked(&change.text)?;
    let (channel, ts) = (change.channel.clone(), change.ts.clone());
    let message = app
        .store
        .write(move |tx| {
            let old = own(
                tx.db(),
                &person,
                &change.channel,
                &change.ts,
                Refusal::CantUpdateMessage,
            )?;
            let mut body = old.body.clone();
            body["text"] = json!(person_actions::written(&text));
            body["edited"] = json!({"user": person.id, "ts": tx.next_ts()});
            message::replace(tx, &change.channel, &old, &body)?;
            Ok(body)
        })
        .await?;
    Ok(Json(
        json!({"ok": true, "channel": channel, "ts": ts, "message": message}),
    ))
}

#[derive(Deserialize)]
struct Deleting {
    channel: ChannelId,
    ts: MessageTs,
}

/// A person deletes their own message.
async fn delete(
    State(app): State<Arc<App>>,
    Somebody(person): Somebody,
    Json(change): Json<Deleting>,
) -> Answer {
    person_actions::only_here(&app)?;
    app.store
        .write(move |tx| {
            let old = own(
                tx.db(),
                &person,
                &change.channel,
                &change.ts,
                Refusal::CantDeleteMessage,
            )?;
            message::delete(tx, &change.channel, &old)
        })
        .await?;
    Ok(Json(json!({"ok": true})))
}

/// A message that this person wrote.
fn own(
    db: &Db,
    person: &Person,
    channel: &ChannelId,
    ts: &MessageTs,
    not_own: Refusal,
) -> Result<Stored, Trouble> {
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
async fn command(
    State(app): State<Arc<App>>,
    Somebody(person): Somebody,
    Json(change): Json<Commanding>,
) -> Answer {
    type_command(&app, person, change.channel, &change.command, &change.text).await?;
    Ok(Json(json!({"ok": true})))
}

/// The same from the page's form.
pub(crate) async fn type_command(
    app: &App,
    person: Person,
    channel: ChannelId,
    command: &str,
    text: &str,
) -> Result<(), Trouble> {
    person_actions::only_here(app)?;
    let name = command.strip_prefix('/').unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
        return refuse(Refusal::InvalidCommand);
    }
    let base = app.rules.base.clone();
    let (command, text) = (command.to_owned(), mrkdwn::escape(text));
    app.store
        .write(move |tx| {
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
pub(crate) fn commander(
    db: &Db,
    channel: &ChannelId,
    place: &str,
) -> Result<Option<butler_protocol::UserId>, Trouble> {
    use crate::store::sql::{OptionalExtension, params};
    let user: Option<Option<String>> = db
        .prepare_cached(
            "SELECT json_extract(frame, '$.payload.user_id') FROM events
             WHERE channel = ?1 AND root = ?2 ORDER BY seq LIMIT 1",
        )?
        .query_row(params![channel.as_str(), place], |row| row.get(0))
        .optional()?;
    Ok(user.flatten().map(butler_protocol::UserId::new))
}
