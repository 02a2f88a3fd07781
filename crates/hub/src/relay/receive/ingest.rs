//! Works off what Slack told us, in order. After a gap the mirror is brought up
//! to date first, so that what was missed comes before what is new.

use std::{sync::Arc, time::Duration};

use butler_protocol::{ChannelId, MessageTs, ThreadId, UserId, mentions};
use butler_slack::{Envelope, EnvelopeKind};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tracing::{debug, error, warn};

use crate::{
    error::{Result, Trouble},
    hub::App,
    identity::Person,
    person_api::person_actions::{Reacted, words},
    relay::{
        Relay, channel_requests, people,
        receive::{
            News, asks, backfill, channel_news, commands, echoes, forms, home, inbox, interactions,
            mirror,
        },
        send::{
            redraw,
            upstream::{messages, reader_of},
            working,
        },
    },
    store::{Db, Tx},
    workspace::{access, channels, message},
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
    let _ = relay.upstream.once("auth.test", &json!({})).await;
    let again = |tx: &mut Tx<'_>| channel_requests::try_again(tx.db());
    if let Err(trouble) = app.write_as_owner(again).await {
        error!(%trouble, "the channel requests of repos cannot be read");
    }
}

/// Everything that waits, once; what must wait longer stays.
async fn work_off(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    let mut after = 0;
    loop {
        let waiting = app.read(move |db| inbox::waiting(db, after)).await?;
        let Some(last) = waiting.last() else {
            return Ok(());
        };
        after = last.seq;
        for one in waiting {
            let news = News {
                app,
                relay,
                seq: one.seq,
            };
            match handle(news, &one.envelope).await {
                Ok(true) => {}
                Ok(false) => debug!(seq = one.seq, "waits for a post under way"),
                Err(Trouble::Away | Trouble::Closed | Trouble::NotOwner) => {}
                Err(trouble) => {
                    // Once is enough: the same event would fail the same way.
                    error!(%trouble, seq = one.seq, "an event of Slack is given up");
                    news.done().await?;
                }
            }
        }
    }
}

/// False when it has to wait.
async fn handle(news: News<'_>, text: &str) -> Result<bool> {
    let envelope: Envelope = serde_json::from_str(text)?;
    let payload = &envelope.payload;
    let event = &payload["event"];
    match (envelope.kind, event["type"].as_str()) {
        (EnvelopeKind::Interactive, _) if payload["type"] == "message_action" => {
            if !home::shortcut(news, payload).await? {
                news.done().await?;
            }
        }
        (EnvelopeKind::Interactive, _) if payload["type"] == "view_submission" => {
            if !forms::sent(news, payload).await? {
                news.done().await?;
            }
        }
        (EnvelopeKind::Interactive, _) => return interactions::clicked(news, &envelope).await,
        (EnvelopeKind::SlashCommands, _) => {
            if !commands::take(news, &envelope).await? {
                interactions::commanded(news, &envelope).await?;
            }
        }
        (EnvelopeKind::EventsApi, Some("message")) => return message_event(news, event).await,
        (EnvelopeKind::EventsApi, Some("reaction_added" | "reaction_removed")) => {
            reaction(news, event).await?;
        }
        (EnvelopeKind::EventsApi, Some("app_home_opened")) => home::opened(news, event).await?,
        // `app_mention` comes beside the message itself and means nothing more.
        (EnvelopeKind::EventsApi, _) => channel_news::take(news, event).await?,
    }
    Ok(true)
}

async fn message_event(news: News<'_>, event: &Value) -> Result<bool> {
    if event["channel_type"] == json!("im") {
        asks::direct(news, event).await?;
        return Ok(true);
    }
    let News { app, relay, .. } = news;
    let channel = ChannelId::new(event["channel"].as_str().unwrap_or_default());
    let place = channel.clone();
    let ours = app.read(move |db| channels::get(db, &place)).await;
    if let Err(Trouble::Refused(_)) = ours {
        news.done().await?;
        return Ok(true);
    }
    ours?;
    match event["subtype"].as_str() {
        Some("message_changed") => {
            let (message, rules) = (event["message"].clone(), app.rules.clone());
            let ours = mirror::is_ours(&relay.us, &message);
            let work = move |tx: &mut Tx<'_>| match ours {
                true => Ok(()),
                false => mirror::edited(tx, &rules, &channel, &message),
            };
            news.settle(work).await?;
        }
        Some("message_deleted") => {
            let ts = event["deleted_ts"].as_str().unwrap_or_default().parse();
            let work = move |tx: &mut Tx<'_>| match ts {
                Ok(ts) => mirror::deleted(tx, &channel, &ts),
                Err(_) => Ok(()),
            };
            news.settle(work).await?;
        }
        _ if !mirror::is_said(event) => news.done().await?,
        _ if mirror::is_ours(&relay.us, event) => return own_echo(news, &channel, event).await,
        _ => {
            let text = event["text"].as_str().unwrap_or_default();
            if event["thread_ts"].is_string() && words::is_bare(text) {
                // The card that it answers may be in Slack and not yet known here.
                relay.flights.landed(&channel, LANDING).await;
            }
            said(news, &channel, event).await?;
        }
    }
    Ok(true)
}

/// Somebody else's message, new or known.
pub(crate) async fn said(news: News<'_>, channel: &ChannelId, message: &Value) -> Result<()> {
    let speaker = match message["user"].as_str() {
        Some(user) => Some(news.person(&UserId::new(user)).await?),
        None => None,
    };
    if let Some(person) = &speaker
        && let Some(words) = news.outside(person).await?
    {
        return outside(news, (channel, message), (person, words)).await;
    }
    let (channel, message) = (channel.clone(), message.clone());
    let (rules, us) = (news.app.rules.clone(), news.relay.us.clone());
    let work = move |tx: &mut Tx<'_>| {
        mirror::said(tx, &rules, &us, speaker.as_ref(), &channel, &message).map(drop)
    };
    news.settle(work).await
}

/// A guest's words stand in the mirror and reach nobody; who named the team is told so.
async fn outside(
    news: News<'_>,
    (channel, message): (&ChannelId, &Value),
    (person, words): (&Person, &'static str),
) -> Result<()> {
    let (rules, us) = (news.app.rules.clone(), news.relay.us.clone());
    let (channel, message, person) = (channel.clone(), message.clone(), person.clone());
    let work = move |tx: &mut Tx<'_>| {
        let new = mirror::overheard(tx, &rules, &person, &channel, &message)?;
        let text = message["text"].as_str().unwrap_or_default();
        let named = !mentions(text, Some(&us.user)).is_empty();
        match mirror::root_of(&message).filter(|_| new && named) {
            Some(root) => {
                let thread = ThreadId::new(channel, root);
                access::whisper(tx.db(), &thread, &person, words)
            }
            None => Ok(()),
        }
    };
    news.settle(work).await
}

/// The echo of a post of ours: known, or waited for, or looked up with all its
/// metadata, which the event does not carry.
async fn own_echo(news: News<'_>, channel: &ChannelId, event: &Value) -> Result<bool> {
    let Some(ts) = mirror::ts_of(event) else {
        news.done().await?;
        return Ok(true);
    };
    let flying = news.relay.flights.any(channel);
    let (place, wanted) = (channel.clone(), ts.clone());
    let look = move |db: &Db| message::find(db, &place, &wanted);
    if news.app.read(look).await?.is_some() {
        news.done().await?;
        return Ok(true);
    }
    if flying {
        return Ok(false);
    }
    let found = look_up(news.relay, channel, &ts, event).await?;
    let (rules, us) = (news.app.rules.clone(), news.relay.us.clone());
    let place = channel.clone();
    let work = move |tx: &mut Tx<'_>| match found {
        Some(found) => echoes::adopt(tx, &rules, &us, &place, &found),
        None => Ok(()),
    };
    news.settle(work).await?;
    Ok(true)
}

async fn look_up(
    relay: &Relay,
    channel: &ChannelId,
    ts: &MessageTs,
    event: &Value,
) -> Result<Option<Value>> {
    let root = event["thread_ts"]
        .as_str()
        .filter(|root| *root != ts.as_str());
    let mut args = json!({"channel": channel, "oldest": ts, "latest": ts, "inclusive": true,
        "limit": 10, "include_all_metadata": true});
    let method = reader_of(root, &mut args);
    let page = relay.upstream.call(method, &args).await?;
    let found = messages(&page).find(|one| one["ts"] == json!(ts));
    Ok(found.cloned())
}

async fn reaction(news: News<'_>, event: &Value) -> Result<()> {
    let user = UserId::new(event["user"].as_str().unwrap_or_default());
    let ts = event["item"]["ts"].as_str().unwrap_or_default().parse();
    // Our own were mirrored when they were made.
    let ts = ts.ok().filter(|_| user != news.relay.us.user);
    let Some(ts) = ts else {
        return news.done().await;
    };
    let person = news.person(&user).await?;
    let what = Reacted {
        channel: ChannelId::new(event["item"]["channel"].as_str().unwrap_or_default()),
        ts,
        name: event["reaction"].as_str().unwrap_or_default().to_owned(),
        add: event["type"] == json!("reaction_added"),
    };
    let rules = news.app.rules.clone();
    let work = move |tx: &mut Tx<'_>| match channels::get(tx.db(), &what.channel) {
        Ok(_) => mirror::reacted(tx, &rules, &person, what),
        Err(_) => Ok(()),
    };
    news.settle(work).await
}
