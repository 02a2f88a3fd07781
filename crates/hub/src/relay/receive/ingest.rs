//! Works off what Slack told us, in order. After a gap the mirror is brought up
//! to date first, so that what was missed comes before what is new.

use std::{sync::Arc, time::Duration};

use butler_protocol::{ChannelId, MessageTs, UserId, mentions};
use butler_slack::{Envelope, EnvelopeKind};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tracing::{debug, error, warn};

use crate::relay::{
    Relay, channel_requests,
    people::{self, Outsider},
    receive::{
        asks, backfill, channel_news, commands, echoes, forms, home, inbox, interactions, mirror,
    },
    send::{redraw, working},
};
use crate::{
    error::Trouble,
    hub::app::App,
    identity::Person,
    person_api::person_actions::{Reacted, words},
    store::tx::Tx,
    workspace::{channels, message},
};

/// How often a failed back-fill is tried again, and waiting echoes are looked at.
const BEAT: Duration = Duration::from_secs(2);
/// How long a bare word waits for posts under way; what follows it waits too.
const LANDING: Duration = Duration::from_secs(5);
/// How often the members of groups are asked for.
const GROUPS: Duration = Duration::from_secs(300);
/// Every so many beats the tokens and the channels are looked at: what Slack does not
/// tell is noticed all the same.
const LOOK_EVERY: u32 = 30;
/// Every so many beats the marks of the mirror are moved.
const MARK_EVERY: u32 = 10;

/// Works until the hub stops.
pub(crate) async fn run(app: Arc<App>, relay: Arc<Relay>, gaps: watch::Receiver<u64>) {
    let cancel = relay.cancel.clone();
    tokio::select! {
        () = cancel.cancelled() => {}
        () = work(&app, &relay, gaps) => {}
    }
}

async fn work(app: &Arc<App>, relay: &Arc<Relay>, mut gaps: watch::Receiver<u64>) {
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut behind, mut beats, mut looks) = (false, 0, 0);
    let mut groups = interval(GROUPS);
    groups.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Ok(()) = gaps.changed() => behind = true,
            () = relay.wake.notified() => {}
            // The first comes at once: who is in a group is known before anybody is heard.
            _ = groups.tick() => people::refresh_groups(app, relay).await,
            _ = beat.tick() => {
                beats += 1;
                looks += 1;
                if looks >= LOOK_EVERY {
                    looks = 0;
                    look_around(app, relay).await;
                }
                if let Err(trouble) = channel_requests::look(app, relay).await {
                    error!(%trouble, "the channel requests of repos cannot be read");
                }
            }
        }
        if gaps.has_changed().unwrap_or(false) {
            gaps.mark_unchanged();
            behind = true;
        }
        if behind {
            match backfill::run(app, relay).await {
                Ok(()) => behind = false,
                Err(trouble) => warn!(%trouble, "Slack's history cannot be read yet"),
            }
        }
        if let Err(trouble) = work_off(app, relay).await {
            error!(%trouble, "the inbox cannot be worked off");
        }
        if let Err(trouble) = redraw::work(app, relay).await {
            error!(%trouble, "decided cards cannot be drawn");
        }
        if let Err(trouble) = working::show(app, relay).await {
            error!(%trouble, "who works cannot be read");
        }
        if beats >= MARK_EVERY && !behind {
            beats = 0;
            if let Err(trouble) = backfill::mark(app).await {
                error!(%trouble, "the marks of the mirror cannot be moved");
            }
        }
    }
}

/// Whether the tokens still hold, and whether channels can be used again.
async fn look_around(app: &Arc<App>, relay: &Arc<Relay>) {
    // A refusal is kept by the upstream itself; silence is for the socket to tell.
    let _ = relay.upstream.once("auth.test", None, &json!({})).await;
    let again = |tx: &mut Tx<'_>| channel_requests::try_again(tx.db());
    if let Err(trouble) = app.as_owner().write(again).await {
        error!(%trouble, "the channel requests of repos cannot be read");
    }
}

/// Everything that waits, once; what must wait longer stays.
async fn work_off(app: &Arc<App>, relay: &Arc<Relay>) -> Result<(), Trouble> {
    let mut after = 0;
    loop {
        let waiting = app.store.read(move |db| inbox::waiting(db, after)).await?;
        let Some(last) = waiting.last() else {
            return Ok(());
        };
        after = last.seq;
        for one in waiting {
            match handle(app, relay, one.seq, &one.envelope).await {
                Ok(true) => {}
                Ok(false) => debug!(seq = one.seq, "waits for a post under way"),
                Err(Trouble::Away | Trouble::Closed | Trouble::NotOwner) => {}
                Err(trouble) => {
                    // Once is enough: the same event would fail the same way.
                    error!(%trouble, seq = one.seq, "an event of Slack is given up");
                    done(app, one.seq).await?;
                }
            }
        }
    }
}

async fn done(app: &Arc<App>, seq: i64) -> Result<(), Trouble> {
    app.as_owner()
        .write(move |tx| inbox::done(tx.db(), seq))
        .await
}

/// False when it has to wait.
async fn handle(app: &Arc<App>, relay: &Arc<Relay>, seq: i64, text: &str) -> Result<bool, Trouble> {
    let envelope: Envelope = serde_json::from_str(text)?;
    match envelope.kind {
        EnvelopeKind::Interactive if envelope.payload["type"] == "message_action" => {
            if !home::shortcut(app, relay, seq, &envelope.payload).await? {
                done(app, seq).await?;
            }
            Ok(true)
        }
        EnvelopeKind::Interactive if envelope.payload["type"] == "view_submission" => {
            if !forms::sent(app, relay, seq, &envelope.payload).await? {
                done(app, seq).await?;
            }
            Ok(true)
        }
        EnvelopeKind::Interactive => interactions::clicked(app, relay, seq, &envelope).await,
        EnvelopeKind::SlashCommands => {
            if !commands::take(app, relay, seq, &envelope).await? {
                interactions::commanded(app, relay, seq, &envelope).await?;
            }
            Ok(true)
        }
        EnvelopeKind::EventsApi => {
            let event = &envelope.payload["event"];
            match event["type"].as_str() {
                Some("message") => message_event(app, relay, seq, event).await,
                Some("reaction_added" | "reaction_removed") => {
                    reaction(app, relay, seq, event).await?;
                    Ok(true)
                }
                Some("app_home_opened") => {
                    home::opened(app, relay, seq, event).await?;
                    Ok(true)
                }
                // `app_mention` comes beside the message itself and means nothing more.
                _ => {
                    channel_news::take(app, relay, seq, event).await?;
                    Ok(true)
                }
            }
        }
    }
}

async fn message_event(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    event: &Value,
) -> Result<bool, Trouble> {
    if event["channel_type"] == json!("im") {
        asks::direct(app, relay, seq, event).await?;
        return Ok(true);
    }
    let channel = ChannelId::new(event["channel"].as_str().unwrap_or_default());
    let place = channel.clone();
    let ours = app.store.read(move |db| channels::get(db, &place)).await;
    if let Err(Trouble::Refused(_)) = ours {
        done(app, seq).await?;
        return Ok(true);
    }
    ours?;
    match event["subtype"].as_str() {
        Some("message_changed") => {
            let (message, rules) = (event["message"].clone(), app.rules.clone());
            let ours = mirror::is_ours(&relay.us, &message);
            app.as_owner()
                .write(move |tx| {
                    if !ours {
                        mirror::edited(tx, &rules, &channel, &message)?;
                    }
                    inbox::done(tx.db(), seq)
                })
                .await?;
        }
        Some("message_deleted") => {
            let ts = event["deleted_ts"].as_str().unwrap_or_default().parse();
            app.as_owner()
                .write(move |tx| {
                    if let Ok(ts) = ts {
                        mirror::deleted(tx, &channel, &ts)?;
                    }
                    inbox::done(tx.db(), seq)
                })
                .await?;
        }
        _ if !mirror::is_said(event) => done(app, seq).await?,
        _ if mirror::is_ours(&relay.us, event) => {
            return own_echo(app, relay, seq, &channel, event).await;
        }
        _ => {
            let text = event["text"].as_str().unwrap_or_default();
            if event["thread_ts"].is_string() && words::is_bare(text) {
                // The card that it answers may be in Slack and not yet known here.
                relay.flights.landed(&channel, LANDING).await;
            }
            said(app, relay, Some(seq), &channel, event).await?;
        }
    }
    Ok(true)
}

/// Somebody else's message, new or known.
pub(crate) async fn said(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: Option<i64>,
    channel: &ChannelId,
    message: &Value,
) -> Result<(), Trouble> {
    let speaker = match message["user"].as_str() {
        Some(user) => Some(relay.person(&app.as_owner(), &UserId::new(user)).await?),
        None => None,
    };
    if let Some(person) = &speaker
        && let Some(outsider) = relay.outsider(&app.as_owner(), &person.id).await?
    {
        return outside(app, relay, seq, (channel, message), (person, outsider)).await;
    }
    let (channel, message) = (channel.clone(), message.clone());
    let (rules, us) = (app.rules.clone(), relay.us.clone());
    app.as_owner()
        .write(move |tx| {
            mirror::said(tx, &rules, &us, speaker.as_ref(), &channel, &message)?;
            match seq {
                Some(seq) => inbox::done(tx.db(), seq),
                None => Ok(()),
            }
        })
        .await
}

/// A guest's words stand in the mirror and reach nobody; who named the team is told so.
async fn outside(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: Option<i64>,
    (channel, message): (&ChannelId, &Value),
    (person, outsider): (&Person, Outsider),
) -> Result<(), Trouble> {
    let (rules, us) = (app.rules.clone(), relay.us.clone());
    let (channel, message, person) = (channel.clone(), message.clone(), person.clone());
    app.as_owner()
        .write(move |tx| {
            let new = mirror::overheard(tx, &rules, &person, &channel, &message)?;
            let text = message["text"].as_str().unwrap_or_default();
            let named = !mentions(text, Some(&us.user)).is_empty();
            if let (true, true, Some(root)) = (new, named, mirror::root_of(&message)) {
                tx.db().execute(
                    "INSERT INTO whispers (channel, root, user, words) VALUES (?1, ?2, ?3, ?4)",
                    crate::store::sql::params![
                        channel.as_str(),
                        root.as_str(),
                        person.id.as_str(),
                        outsider.words()
                    ],
                )?;
            }
            match seq {
                Some(seq) => inbox::done(tx.db(), seq),
                None => Ok(()),
            }
        })
        .await
}

/// The echo of a post of ours: known, or waited for, or looked up with all its
/// metadata, which the event does not carry.
async fn own_echo(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    channel: &ChannelId,
    event: &Value,
) -> Result<bool, Trouble> {
    let Some(ts) = mirror::ts_of(event) else {
        done(app, seq).await?;
        return Ok(true);
    };
    let flying = relay.flights.any(channel);
    let (place, wanted) = (channel.clone(), ts.clone());
    let known = app
        .store
        .read(move |db| message::find(db, &place, &wanted))
        .await?;
    if known.is_none() {
        if flying {
            return Ok(false);
        }
        let Some(found) = look_up(relay, channel, &ts, event).await? else {
            done(app, seq).await?;
            return Ok(true);
        };
        let (rules, us, place) = (app.rules.clone(), relay.us.clone(), channel.clone());
        app.as_owner()
            .write(move |tx| {
                echoes::adopt(tx, &rules, &us, &place, &found)?;
                inbox::done(tx.db(), seq)
            })
            .await?;
        return Ok(true);
    }
    done(app, seq).await?;
    Ok(true)
}

async fn look_up(
    relay: &Relay,
    channel: &ChannelId,
    ts: &MessageTs,
    event: &Value,
) -> Result<Option<Value>, Trouble> {
    let root = event["thread_ts"]
        .as_str()
        .filter(|root| *root != ts.as_str());
    let mut args = json!({"channel": channel, "oldest": ts, "latest": ts, "inclusive": true,
        "limit": 10, "include_all_metadata": true});
    let method = match root {
        Some(root) => {
            args["ts"] = json!(root);
            "conversations.replies"
        }
        None => "conversations.history",
    };
    let page = relay.upstream.call(method, None, &args).await?;
    let mut all = page["messages"].as_array().into_iter().flatten();
    Ok(all.find(|one| one["ts"] == json!(ts)).cloned())
}

async fn reaction(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    seq: i64,
    event: &Value,
) -> Result<(), Trouble> {
    let user = UserId::new(event["user"].as_str().unwrap_or_default());
    let ts = event["item"]["ts"].as_str().unwrap_or_default().parse();
    // Our own were mirrored when they were made.
    let Ok(ts) = ts
        .map_err(drop)
        .and_then(|ts| (user != relay.us.user).then_some(ts).ok_or(()))
    else {
        return done(app, seq).await;
    };
    let person = relay.person(&app.as_owner(), &user).await?;
    let what = Reacted {
        channel: ChannelId::new(event["item"]["channel"].as_str().unwrap_or_default()),
        ts,
        name: event["reaction"].as_str().unwrap_or_default().to_owned(),
        add: event["type"] == json!("reaction_added"),
    };
    let rules = app.rules.clone();
    app.as_owner()
        .write(move |tx| {
            if channels::get(tx.db(), &what.channel).is_ok() {
                mirror::reacted(tx, &rules, &person, what)?;
            }
            inbox::done(tx.db(), seq)
        })
        .await
}
