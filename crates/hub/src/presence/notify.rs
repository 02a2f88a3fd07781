//! Tells a webhook of the machine what newly waits for somebody: a small text, without
//! secrets, each need once. What is known is kept in the store, so that nothing is told
//! again after a restart and what came up meanwhile is told then.

use std::{sync::Arc, time::Duration};

use butler_slack::{Called, Webhook};
use serde_json::json;
use tokio::{sync::broadcast::error::RecvError, time::sleep};
use tracing::{info, warn};
use url::Url;

use crate::{
    error::Result,
    hub::App,
    log::Notice,
    store::Db,
    views::{Need, needs},
    workspace::gate,
};

/// Several things happen at once; one look is enough for them.
const GATHER: Duration = Duration::from_secs(1);
/// How often one call is tried, and the first pause, which doubles.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(300);
/// Needs of one call; more are only counted.
const MOST: usize = 10;
/// Characters of a title or a reason.
const WORDS: usize = 200;
/// Under this name the store has the keys of what is known.
const KNOWN: &str = "told_needs";

/// Tells until the hub stops.
pub(crate) async fn keep_telling(app: Arc<App>, webhook: Webhook) {
    let mut news = app.notices.subscribe();
    loop {
        if let Err(error) = tell(&app, &webhook).await {
            warn!(%error, "what waits could not be looked up for the webhook");
        }
        loop {
            let one = tokio::select! {
                () = app.cancel.cancelled() => return,
                one = news.recv() => one,
            };
            match one.as_deref() {
                Ok(Notice::Event(_) | Notice::Page(_) | Notice::Missed)
                | Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => return,
                Ok(_) => {}
            }
        }
        tokio::select! {
            () = app.cancel.cancelled() => return,
            () = sleep(GATHER) => {}
        }
        news = news.resubscribe();
    }
}

/// One look, and a call when something is new. It is known once it was taken or given up.
async fn tell(app: &Arc<App>, webhook: &Webhook) -> Result<()> {
    let look = |db: &Db| Ok((needs::of_all(db)?, known(db)?));
    let (all, known) = app.read(look).await?;
    let keys: Vec<String> = all.iter().map(Need::key).collect();
    if known.as_ref() == Some(&keys) {
        return Ok(());
    }
    let fresh: Vec<&Need> = match &known {
        Some(known) => {
            let unknown = |need: &&Need| !known.contains(&need.key());
            all.iter().filter(unknown).collect()
        }
        // A webhook that is new to this hub hears of what comes, not of what was.
        None => Vec::new(),
    };
    if !fresh.is_empty() {
        let body = body(app, &fresh);
        if !call(app, webhook, &body).await {
            return Ok(());
        }
    }
    app.write_as_owner(move |tx| remember(tx.db(), &keys)).await
}

/// Whether it is settled; not when the hub stopped meanwhile.
async fn call(app: &App, webhook: &Webhook, body: &serde_json::Value) -> bool {
    let mut pause = PAUSE;
    for attempt in 1..=TRIES {
        let wait = match webhook.call(body).await {
            Called::Taken => {
                info!("the webhook was told what waits");
                return true;
            }
            Called::Never(why) => {
                warn!(why, "the webhook refuses what waits; check hub.webhook");
                return true;
            }
            Called::Later(why, _) if attempt == TRIES => {
                warn!(why, attempt, "the webhook is given up for this time");
                return true;
            }
            Called::Later(_, asked) => asked.unwrap_or(pause).min(LONGEST),
        };
        tokio::select! {
            () = app.cancel.cancelled() => return false,
            () = sleep(wait) => {}
        }
        pause *= 2;
    }
    true
}

/// `text` is what chats show; the rest is for programs.
fn body(app: &App, fresh: &[&Need]) -> serde_json::Value {
    let clean = |text: &str| {
        // Cut afterwards: half a secret is none that the redactor knows.
        let mut text = text.to_owned();
        gate::clean_text(&app.redactor, &mut text);
        text.chars().take(WORDS).collect::<String>()
    };
    let mut lines = Vec::new();
    let mut list = Vec::new();
    for need in fresh.iter().take(MOST) {
        let (title, why) = (clean(&need.title), clean(&need.why));
        let address = app
            .reached
            .public_url
            .as_ref()
            .and_then(|url| address(url, need));
        let link = address
            .as_ref()
            .map(|at| format!(" {at}"))
            .unwrap_or_default();
        lines.push(format!("#{}: {why} ({title}){link}", need.channel));
        list.push(
            json!({"kind": need.kind, "why": why, "title": title, "channel": need.channel,
            "thread": need.thread, "since_ms": need.since_ms, "url": address}),
        );
    }
    let more = fresh.len().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    json!({"text": lines.join("\n"), "needs": list, "more": more})
}

/// Links only where people can follow them.
fn address(public: &Url, need: &Need) -> Option<String> {
    let path = format!("c/{}/{}", need.thread.channel, need.thread.root);
    Some(public.join(&path).ok()?.to_string())
}

fn known(db: &Db) -> Result<Option<Vec<String>>> {
    let text = db.own_value(KNOWN)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn remember(db: &Db, keys: &[String]) -> Result<()> {
    Ok(db.set_own_value(KNOWN, &serde_json::to_string(keys)?)?)
}
