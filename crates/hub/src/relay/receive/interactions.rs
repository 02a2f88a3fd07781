//! Buttons and slash commands used in Slack, and the answers to them. A click on
//! one of our cards is a decision, by the same rules as in the embedded
//! workspace; who may not decide is told so, and nobody else.

use std::sync::Arc;

use butler_protocol::{ChannelId, MessageTs, ThreadId, UserId};
use butler_slack::{BlockAction, Envelope, EnvelopeKind};
use serde_json::{Value, json};
use tracing::debug;

use crate::relay::{
    Relay,
    receive::{forms, inbox},
};
use crate::{
    error::{Refusal, Trouble},
    hub::app::App,
    log::{self, Happening},
    person_api::person_actions::{self, Press},
    store::{
        db::Db,
        sql::{OptionalExtension, params},
        tx::Tx,
    },
    web_api::response_url::{self, Response},
    workspace::{
        channels,
        decide::{self, Click},
        message,
    },
};

const LIFE_MS: i64 = 30 * 60 * 1000;

/// A person used an element. False when it must wait for a post under way: the
/// card may be in Slack and not yet known here.
pub(crate) async fn clicked(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    envelope: &Envelope,
) -> Result<bool, Trouble> {
    let Some(action) = envelope.action() else {
        finish(app, seq).await?;
        return Ok(true);
    };
    let flying = relay.flights.any(&action.channel);
    let mut person = relay.person(&app.as_owner(), &action.user).await?;
    if person.name == person.id.as_str()
        && let Some(name) = envelope.payload["user"]["name"].as_str()
    {
        name.clone_into(&mut person.name);
    }
    let url = envelope.payload["response_url"].as_str().map(str::to_owned);
    if let Some(outsider) = relay.outsider(&app.as_owner(), &person.id).await? {
        finish(app, seq).await?;
        if let Some(url) = url {
            let answer = json!({"response_type": "ephemeral", "replace_original": false,
                "text": outsider.words()});
            if let Err(error) = relay.upstream.web.respond(&url, &answer).await {
                debug!(%error, "a guest could not be told why their click did not count");
            }
        }
        return Ok(true);
    }
    let form = forms::opened(app, relay, &person, envelope, &action).await?;
    if form || action.action_id == forms::ANSWER {
        finish(app, seq).await?;
        if let (false, Some(url)) = (form, url) {
            let answer = json!({"response_type": "ephemeral", "replace_original": false,
                "text": "Slack did not open the form in time. Press again, or answer in the thread."});
            if let Err(error) = relay.upstream.web.respond(&url, &answer).await {
                debug!(%error, "a person could not be told that no form was opened");
            }
        }
        return Ok(true);
    }
    let press = press_of(&envelope.payload["actions"][0], &action);
    let rules = app.rules.clone();
    let back = url.clone();
    let outcome = app
        .as_owner()
        .write(move |tx| {
            if let Some(url) = &back {
                remember(tx.db(), &action.channel, action.message.as_str(), url)?;
            }
            let used = tx.attempt(|tx| match action.decision() {
                Some(decision) => {
                    let click = Click {
                        channel: action.channel.clone(),
                        message: action.message.clone(),
                        action: decision,
                    };
                    decide::decide(tx, &rules, &person, &click).map(drop)
                }
                None => person_actions::press_other(
                    tx,
                    &rules,
                    &person,
                    &action.channel,
                    &action.message,
                    press,
                ),
            });
            match used {
                Err(Trouble::Refused(Refusal::UnknownRequest | Refusal::MessageNotFound))
                    if flying =>
                {
                    Ok(None)
                }
                Ok(()) => {
                    inbox::done(tx.db(), seq)?;
                    Ok(Some(None))
                }
                Err(Trouble::Refused(refusal)) => {
                    inbox::done(tx.db(), seq)?;
                    Ok(Some(Some(refusal)))
                }
                Err(trouble) => Err(trouble),
            }
        })
        .await?;
    let Some(refusal) = outcome else {
        return Ok(false);
    };
    if let (Some(refusal), Some(url)) = (refusal, url) {
        let answer = json!({"response_type": "ephemeral", "replace_original": false,
            "text": refusal.did_not_count()});
        if let Err(error) = relay.upstream.web.respond(&url, &answer).await {
            debug!(%error, "a person could not be told why their click did not count");
        }
    }
    Ok(true)
}

async fn finish(app: &Arc<App>, seq: i64) -> Result<(), Trouble> {
    app.as_owner()
        .write(move |tx| inbox::done(tx.db(), seq))
        .await
}

fn press_of(element: &Value, action: &BlockAction) -> Press {
    Press {
        sha256: None,
        action_id: action.action_id.clone(),
        block_id: element["block_id"].as_str().map(str::to_owned),
        state: given_state(&action.state),
        fields: element.as_object().cloned().unwrap_or_default(),
    }
}

fn given_state(state: &Value) -> Option<Value> {
    let values = state.get("values")?;
    values.is_object().then(|| values.clone())
}

/// A slash command goes to the agents of its channel as it came, but for the
/// address of the answer, which is ours.
pub(crate) async fn commanded(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    envelope: &Envelope,
) -> Result<(), Trouble> {
    let mut payload = envelope.payload.clone();
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let (channel, user) = (
        ChannelId::new(text("channel_id")),
        UserId::new(text("user_id")),
    );
    let url = text("response_url");
    relay.person(&app.as_owner(), &user).await?;
    let base = app.rules.base.clone();
    app.as_owner()
        .write(move |tx| {
            inbox::done(tx.db(), seq)?;
            if channels::get(tx.db(), &channel).is_err() {
                return Ok(());
            }
            // A command is in no thread; it gets a place of its own in the log.
            let place = tx.next_ts();
            remember(tx.db(), &channel, place.as_str(), &url)?;
            let key = response_url::issue(tx.db(), &channel, &place, &user)?;
            payload["response_url"] = json!(format!("{base}/respond/{key}"));
            payload["token"] = json!("");
            let typed = Happening {
                kind: EnvelopeKind::SlashCommands,
                ..Happening::new(ThreadId::new(channel, place), None, payload)
            };
            log::append(tx, typed)?;
            Ok(())
        })
        .await
}

/// Remembers Slack's own address for answers.
fn remember(db: &Db, channel: &ChannelId, ts: &str, url: &str) -> Result<(), Trouble> {
    db.execute(
        "DELETE FROM upstream_responses WHERE expires_ms < ?1",
        [db.now_ms()],
    )?;
    db.execute(
        "INSERT INTO upstream_responses (channel, ts, url, expires_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, ts) DO UPDATE SET url = excluded.url,
           expires_ms = excluded.expires_ms",
        params![channel.as_str(), ts, url, db.now_ms() + LIFE_MS],
    )?;
    Ok(())
}

/// An app answers a click: the answer goes to Slack, and what it changes is
/// changed in the mirror as well.
pub(crate) async fn respond(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    key: String,
    response: Response,
) -> Result<(), Trouble> {
    let changes = response.delete_original || response.replace_original;
    let (channel, ts, url) = app
        .as_owner()
        .write(move |tx| {
            let (channel, ts) = response_url::redeem_place(tx, &key)?;
            let message = ts.parse::<MessageTs>().ok().filter(|_| changes);
            if let Some(message) = message
                && decide::is_card(tx.db(), &channel, &message)?
            {
                return Err(Trouble::Refused(Refusal::CantUpdateMessage));
            }
            let url: Option<String> = tx
                .db()
                .query_row(
                    "SELECT url FROM upstream_responses WHERE channel = ?1 AND ts = ?2
                     AND expires_ms > ?3",
                    params![channel.as_str(), ts, tx.db().now_ms()],
                    |row| row.get(0),
                )
                .optional()?;
            match url {
                Some(url) => Ok((channel, ts, url)),
                None => Err(Trouble::Refused(Refusal::ExpiredUrl)),
            }
        })
        .await?;
    let body = serde_json::to_value(&response)?;
    relay.upstream.web.respond(&url, &body).await?;
    app.as_owner()
        .write(move |tx| mirrored(tx, &channel, &ts, response))
        .await
}

fn mirrored(
    tx: &mut Tx<'_>,
    channel: &ChannelId,
    ts: &str,
    response: Response,
) -> Result<(), Trouble> {
    let Ok(ts) = ts.parse::<MessageTs>() else {
        return Ok(());
    };
    let Some(original) = message::find(tx.db(), channel, &ts)? else {
        return Ok(());
    };
    if response.delete_original {
        return message::delete(tx, channel, &original);
    }
    if response.replace_original {
        let at = tx.next_ts().to_string();
        let old = original.body.clone();
        let body = message::edited(old, &response.text, response.blocks, None, &at);
        return message::replace(tx, channel, &original, &body);
    }
    Ok(())
}
