//! Buttons and slash commands used in Slack, and the answers to them. A click on
//! one of our cards is a decision, by the same rules as in the embedded
//! workspace; who may not decide is told so, and nobody else.

use std::sync::Arc;

use butler_protocol::{ActionId, ChannelId, MessageTs, ThreadId, UserId};
use butler_slack::{BlockAction, Envelope, EnvelopeKind};
use serde_json::{Value, json};
use tracing::debug;

use crate::{
    error::{Refusal, Result, Trouble, refuse},
    hub::App,
    log::{self, Happening},
    person_api::{Press, person_actions},
    relay::{
        Relay,
        receive::{News, forms, inbox},
    },
    store::{Db, Tx, params},
    web_api::response_url::{self, Response},
    workspace::{Click, channels, decide, message},
};

const LIFE_MS: i64 = 30 * 60 * 1000;

/// A person used an element. False when it must wait for a post under way: the
/// card may be in Slack and not yet known here.
pub(crate) async fn clicked(news: News<'_>, envelope: &Envelope) -> Result<bool> {
    let Some(action) = envelope.action() else {
        news.done().await?;
        return Ok(true);
    };
    let flying = news.relay.flights.any(&action.channel);
    let mut person = news.person(&action.user).await?;
    if person.name == person.id.as_str()
        && let Some(name) = envelope.payload["user"]["name"].as_str()
    {
        name.clone_into(&mut person.name);
    }
    let url = envelope.payload["response_url"].as_str().map(str::to_owned);
    if let Some(words) = news.outside(&person).await? {
        news.done().await?;
        let lost = "a guest could not be told why their click did not count";
        tell(news.relay, url, words, lost).await;
        return Ok(true);
    }
    let form = forms::opened(news, &person, envelope, &action).await?;
    if form || action.action_id == forms::ANSWER {
        news.done().await?;
        if !form {
            let words =
                "Slack did not open the form in time. Press again, or answer in the thread.";
            let lost = "a person could not be told that no form was opened";
            tell(news.relay, url, words, lost).await;
        }
        return Ok(true);
    }
    let press = press_of(&envelope.payload["actions"][0], &action);
    let (rules, back, seq) = (news.app.rules.clone(), url.clone(), news.seq);
    let work = move |tx: &mut Tx<'_>| {
        let (channel, message) = (&action.channel, &action.message);
        if let Some(url) = &back {
            remember(tx.db(), channel, message.as_str(), url)?;
        }
        let used = tx.attempt(|tx| match action.decision() {
            Some(ActionId { request, choice }) => {
                let click = Click::new(channel.clone(), message.clone(), request, choice);
                decide::decide(tx, &rules, &person, &click).map(drop)
            }
            None => person_actions::press_other(tx, &rules, &person, channel, message, press),
        });
        let refusal = match used {
            Err(Trouble::Refused(Refusal::UnknownRequest | Refusal::MessageNotFound)) if flying => {
                return Ok(None);
            }
            Ok(()) => None,
            Err(Trouble::Refused(refusal)) => Some(refusal),
            Err(trouble) => return Err(trouble),
        };
        inbox::done(tx.db(), seq)?;
        Ok(Some(refusal))
    };
    let Some(refusal) = news.app.write_as_owner(work).await? else {
        return Ok(false);
    };
    if let Some(refusal) = refusal {
        let lost = "a person could not be told why their click did not count";
        tell(news.relay, url, refusal.did_not_count(), lost).await;
    }
    Ok(true)
}

/// Says something to whoever clicked, and to nobody else.
async fn tell(relay: &Relay, url: Option<String>, words: &str, lost: &str) {
    let Some(url) = url else { return };
    let answer = json!({"response_type": "ephemeral", "replace_original": false, "text": words});
    if let Err(error) = relay.upstream.web.respond(&url, &answer).await {
        debug!(%error, "{lost}");
    }
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
pub(crate) async fn commanded(news: News<'_>, envelope: &Envelope) -> Result<()> {
    let mut payload = envelope.payload.clone();
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    let (channel, user) = (
        ChannelId::new(text("channel_id")),
        UserId::new(text("user_id")),
    );
    let url = text("response_url");
    news.person(&user).await?;
    let base = news.app.rules.base.clone();
    let work = move |tx: &mut Tx<'_>| {
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
        log::append(tx, typed).map(drop)
    };
    news.settle(work).await
}

/// Remembers Slack's own address for answers.
fn remember(db: &Db, channel: &ChannelId, ts: &str, url: &str) -> Result<()> {
    db.execute(
        "DELETE FROM upstream_responses WHERE expires_ms < ?1",
        [db.now_ms()],
    )?;
    db.run(
        "INSERT INTO upstream_responses (channel, ts, url, expires_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, ts) DO UPDATE SET url = excluded.url,
           expires_ms = excluded.expires_ms",
        params![channel, ts, url, db.now_ms() + LIFE_MS],
    )
}

/// An app answers a click: the answer goes to Slack, and what it changes is
/// changed in the mirror as well.
pub(crate) async fn respond(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    key: String,
    response: Response,
) -> Result<()> {
    let changes = response.delete_original || response.replace_original;
    let redeem = app.write_as_owner(move |tx| {
        let (channel, ts) = response_url::redeem_place(tx, &key)?;
        let message = ts.parse::<MessageTs>().ok().filter(|_| changes);
        if let Some(message) = message
            && decide::is_card(tx.db(), &channel, &message)?
        {
            return refuse(Refusal::CantUpdateMessage);
        }
        let sql = "SELECT url FROM upstream_responses WHERE channel = ?1 AND ts = ?2
             AND expires_ms > ?3";
        let url: Option<String> = tx.db().first(sql, params![channel, ts, tx.db().now_ms()])?;
        let url = url.ok_or(Refusal::ExpiredUrl)?;
        Ok((channel, ts, url))
    });
    let (channel, ts, url) = redeem.await?;
    let body = serde_json::to_value(&response)?;
    relay.upstream.web.respond(&url, &body).await?;
    app.write_as_owner(move |tx| mirrored(tx, &channel, &ts, response))
        .await
}

fn mirrored(tx: &mut Tx<'_>, channel: &ChannelId, ts: &str, response: Response) -> Result<()> {
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
