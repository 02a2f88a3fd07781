//! Posting to Slack, once. Slack has no key of its own for that: every part is
//! noted before it is sent, carries our key in its metadata, and is looked for
//! in the channel before it is sent a second time. Whoever asked may go away and
//! ask again; the post goes on, and the same key gets the same answer.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use butler_protocol::{ChannelId, Idem, MessageTs, PostTag, ThreadId, fault};
use butler_slack::SlackError;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    identity::{Agent, Fence, tokens::random_text},
    relay::{
        Relay, add,
        receive::{
            echoes::{self, OwnPart},
            forms,
        },
        send::{
            fallback, files,
            upstream::{jittered, messages, reader_of, repeatable},
        },
    },
    store::{Tx, params},
    workspace::{
        AgentPost, message, outbox,
        parts::{self, Part},
        runs, stops,
    },
};

/// Below the patience of an agent's client for one answer.
const CALLER_PATIENCE: Duration = Duration::from_secs(45);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A post may take a moment to show up where it can be read.
const LOOKS: u32 = 3;

/// A post with its caller.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) agent: Agent,
    pub(crate) fence: Option<Fence>,
    pub(crate) post: AgentPost,
    /// Files that the agent has put into the hub, by id.
    pub(crate) files: Vec<String>,
}

/// Posts, or gives the first answer again.
pub(crate) async fn post(relay: Arc<Relay>, app: Arc<App>, mut order: Order) -> Result<Value> {
    let given = outbox::tag_of(&order.agent, &order.post)?;
    let idem = match (&given, &order.post.metadata) {
        (Some(tag), _) => tag.idem.clone(),
        (None, _) => Idem::new(format!("hub:{}", random_text())),
    };
    order.post.metadata = match (given, order.post.metadata.take()) {
        (Some(tag), _) => Some(tag.to_metadata()),
        (None, Some(foreign)) => Some(foreign),
        (None, None) => {
            let tag = PostTag::message(idem.clone(), Vec::new());
            let from = Some(order.agent.role);
            Some(PostTag { from, ..tag }.to_metadata())
        }
    };
    let tasks = relay.tasks.clone();
    let work = tasks.spawn(async move {
        let cancel = relay.cancel.clone();
        tokio::select! {
            () = cancel.cancelled() => Err(Trouble::Closed),
            outcome = deliver(&relay, &app, &order, &idem) => outcome,
        }
    });
    match timeout(CALLER_PATIENCE, work).await {
        Ok(outcome) => outcome.map_err(|_| Trouble::Closed)?,
        Err(_) => Err(Trouble::Away),
    }
}

async fn deliver(relay: &Arc<Relay>, app: &Arc<App>, order: &Order, idem: &Idem) -> Result<Value> {
    let _alone = relay.flights.alone(order.agent.key, idem.as_str()).await;
    let (asked, key) = (order.clone(), idem.clone());
    let begun = app
        .write_as_owner(move |tx| begin(tx, &asked, &key))
        .await?;
    let root = match begun {
        Begun::Answered(answer) => return Ok(answer),
        Begun::Goes(root) => root,
    };
    let flight = relay.flights.begin(&order.post.channel);
    let outcome = send_parts(relay, app, order, idem, root).await;
    drop(flight);
    relay.wake.notify_one();
    if matches!(outcome, Err(Trouble::Refused(_))) {
        forget(app, order, idem).await?;
    }
    outcome
}

enum Begun {
    /// It was posted before.
    Answered(Value),
    /// It is to be posted, in this thread.
    Goes(Option<MessageTs>),
}

/// Checks a post and notes it; one that was begun before goes on.
fn begin(tx: &mut Tx<'_>, order: &Order, idem: &Idem) -> Result<Begun> {
    let (agent, post) = (&order.agent, &order.post);
    agent.check_fence(tx.db(), order.fence.as_ref())?;
    agent.may_use(tx.db(), &post.channel)?;
    let root = match &post.thread_ts {
        Some(ts) => Some(match message::find(tx.db(), &post.channel, ts)? {
            Some(found) => found.root,
            // Older than the mirror; Slack will know.
            None => ts.clone(),
        }),
        None => None,
    };
    let known: Option<Option<String>> = tx.db().first(
        "SELECT answer FROM outbox WHERE agent = ?1 AND idem = ?2",
        params![agent.key, idem],
    )?;
    if let Some(Some(answer)) = known {
        return Ok(Begun::Answered(serde_json::from_str(&answer)?));
    }
    not_late(tx, order, root.as_ref())?;
    if known.is_some() {
        return Ok(Begun::Goes(root));
    }
    outbox::check_name(agent, post.username.as_deref())?;
    outbox::check_tag(tx, agent, post, outbox::tag_of(agent, post)?.as_ref())?;
    fault("relay.before-outbox");
    tx.db().execute(
        "INSERT INTO outbox (agent, idem, state, parts) VALUES (?1, ?2, 'pending', '[]')",
        params![agent.key, idem],
    )?;
    fault("relay.after-outbox");
    Ok(Begun::Goes(root))
}

/// A stop may have come before what this post belongs to, or while it was on its
/// way to Slack: there it stands then, and wakes nobody.
fn not_late(tx: &Tx<'_>, order: &Order, root: Option<&MessageTs>) -> Result<()> {
    let Some(root) = root else { return Ok(()) };
    let thread = ThreadId::new(order.post.channel.clone(), root.clone());
    let tag = outbox::tag_of(&order.agent, &order.post)?;
    stops::check(tx.db(), &thread, tag.as_ref().and_then(|tag| tag.heard))
}

/// Slack refused it: nothing of it stands, unless a part had landed before.
async fn forget(app: &Arc<App>, order: &Order, idem: &Idem) -> Result<()> {
    let (order, idem) = (order.clone(), idem.clone());
    app.write_as_owner(move |tx| {
        let agent = &order.agent;
        let key = params![agent.key, idem];
        let landed: bool = tx.db().one(
            "SELECT EXISTS (SELECT 1 FROM upstream_parts
                 WHERE agent = ?1 AND idem = ?2 AND ts IS NOT NULL)",
            key,
        )?;
        if !landed {
            for sql in [
                "DELETE FROM upstream_parts WHERE agent = ?1 AND idem = ?2",
                "DELETE FROM outbox WHERE agent = ?1 AND idem = ?2 AND answer IS NULL",
            ] {
                tx.db().execute(sql, key)?;
            }
            if let Some(item) = outbox::tag_of(agent, &order.post)?.and_then(|tag| tag.item) {
                runs::item_fell_through(tx, agent, &item)?;
            }
        }
        Ok(())
    })
    .await
}

/// What one message of a post carries.
enum Piece {
    Text(String),
    Snippet { name: String, bytes: Vec<u8> },
    File { id: String, comment: String },
}

fn pieces(order: &Order) -> Vec<Piece> {
    let post = &order.post;
    if !order.files.is_empty() {
        let mut comment = post.text.clone();
        let files = order.files.iter();
        return files
            .map(|id| Piece::File {
                id: id.clone(),
                comment: std::mem::take(&mut comment),
            })
            .collect();
    }
    if post.blocks.is_some() || post.attachments.is_some() {
        // What a card has no room for stands above it.
        let attached = post.attached.iter().map(|(name, text)| Piece::Snippet {
            name: name.clone(),
            bytes: text.clone().into_bytes(),
        });
        return attached.chain([Piece::Text(post.text.clone())]).collect();
    }
    let parts = parts::of(&post.text).into_iter();
    parts
        .map(|part| match part {
            Part::Text(text) => Piece::Text(text),
            Part::Snippet { name, code } => Piece::Snippet {
                name,
                bytes: code.into_bytes(),
            },
        })
        .collect()
}

async fn send_parts(
    relay: &Arc<Relay>,
    app: &Arc<App>,
    order: &Order,
    idem: &Idem,
    mut root: Option<MessageTs>,
) -> Result<Value> {
    let metadata = order.post.metadata.clone().unwrap_or_default();
    let mut first: Option<(MessageTs, Value)> = None;
    let mut written = Vec::new();
    for (part, piece) in pieces(order).into_iter().enumerate() {
        let own = OwnPart {
            agent: order.agent.clone(),
            idem: idem.clone(),
            part,
            metadata: metadata.clone(),
        };
        let sending = Sending {
            relay,
            app,
            order,
            own,
            root: root.clone(),
        };
        let sent = sending.send(piece).await?;
        written.push(sent.0.clone());
        // The parts of a new thread's root reply to the first.
        root.get_or_insert_with(|| sent.0.clone());
        // A card is where its buttons are, not where its file is.
        if order.post.attached.is_some() {
            first = None;
        }
        first.get_or_insert(sent);
    }
    let (ts, message) = first.ok_or(Refusal::NoText)?;
    let answer = json!({"ok": true, "channel": order.post.channel, "ts": ts, "message": message,
        "codebutler": {"parts": written}});
    let (agent, idem, kept) = (order.agent.key, idem.clone(), answer.clone());
    let (asked, thread) = (order.clone(), order.post.thread_ts.clone().and(root));
    app.write_as_owner(move |tx| {
        not_late(tx, &asked, thread.as_ref())?;
        fault("relay.before-answer");
        tx.db().execute(
            "UPDATE outbox SET state = 'done', parts = ?3, answer = ?4
                     WHERE agent = ?1 AND idem = ?2",
            params![
                agent,
                idem,
                kept["codebutler"]["parts"].to_string(),
                kept.to_string()
            ],
        )?;
        fault("relay.after-answer");
        Ok(())
    })
    .await?;
    Ok(answer)
}

/// One part on its way.
pub(crate) struct Sending<'a> {
    pub(crate) relay: &'a Arc<Relay>,
    pub(crate) app: &'a Arc<App>,
    pub(crate) order: &'a Order,
    pub(crate) own: OwnPart,
    pub(crate) root: Option<MessageTs>,
}

/// What is known of a part before it is sent.
pub(crate) enum Noted {
    /// It is there.
    Landed(MessageTs),
    /// It was begun and may be there.
    Begun { file: Option<String> },
    /// Nobody has tried.
    New,
}

impl Sending<'_> {
    async fn send(&self, piece: Piece) -> Result<(MessageTs, Value)> {
        let noted = self.note(None).await?;
        if let Noted::Landed(ts) = &noted {
            return self.landed(ts.clone()).await;
        }
        match piece {
            Piece::Text(text) => self.text(&text, noted).await,
            Piece::Snippet { name, bytes } => files::share(self, &name, bytes, "", noted).await,
            Piece::File { id, comment } => {
                let (name, bytes) = files::of_hub(self.app, id).await?;
                files::share(self, &name, bytes, &comment, noted).await
            }
        }
    }

    /// Notes that the part is about to be sent, with the id of its file.
    pub(crate) async fn note(&self, file: Option<String>) -> Result<Noted> {
        let own = self.own.clone();
        self.app
            .write_as_owner(move |tx| {
                fault("relay.before-part");
                let noted = note(tx, &own, file.as_deref())?;
                fault("relay.after-part");
                Ok(noted)
            })
            .await
    }

    async fn landed(&self, ts: MessageTs) -> Result<(MessageTs, Value)> {
        let channel = self.channel().clone();
        let wanted = ts.clone();
        let found = self
            .app
            .read(move |db| message::find(db, &channel, &wanted))
            .await?;
        // A part that a person has deleted since was posted all the same.
        let body = found.map_or_else(|| json!({"type": "message", "ts": ts}), |found| found.body);
        Ok((ts, body))
    }

    pub(crate) fn channel(&self) -> &ChannelId {
        &self.order.post.channel
    }

    /// Keeps what is in Slack now.
    pub(crate) async fn keep(&self, message: Value) -> Result<(MessageTs, Value)> {
        let (own, us, rules) = (
            self.own.clone(),
            self.relay.us.clone(),
            self.app.rules.clone(),
        );
        let channel = self.channel().clone();
        self.app
            .write_as_owner(move |tx| echoes::keep(tx, &rules, &us, &own, &channel, &message))
            .await
    }

    async fn text(&self, text: &str, noted: Noted) -> Result<(MessageTs, Value)> {
        let mut args = self.args(text);
        if self.relay.plain.load(Ordering::Relaxed) {
            fallback::role_in_text(&mut args);
        }
        let mut look = matches!(noted, Noted::Begun { .. });
        let mut pause = FIRST_PAUSE;
        loop {
            if look {
                match self.find().await {
                    Ok(Some(message)) => return self.keep(message).await,
                    Ok(None) => look = false,
                    Err(error) if repeatable(&error) => {
                        sleep(jittered(pause)).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            let sending = self.relay.upstream.once("chat.postMessage", &args);
            fault("relay.before-send");
            match sending.await {
                Ok(answered) => {
                    fault("relay.after-send");
                    let mut message = answered.body["message"].clone();
                    message["ts"] = answered.body["ts"].clone();
                    return self.keep(message).await;
                }
                Err(error) if repeatable(&error) => {
                    debug!(%error, "a post has no answer yet");
                    look |= error.is_unclear();
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) if fallback::otherwise(self.relay, &error, &mut args) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn args(&self, text: &str) -> Value {
        let post = &self.order.post;
        let mut args = json!({"channel": post.channel, "text": text,
            "metadata": self.own.marked(), "unfurl_links": false, "unfurl_media": false});
        let blocks = post.blocks.clone().or_else(|| forms::with_button(text));
        add(&mut args, "thread_ts", &self.root);
        add(&mut args, "blocks", &blocks);
        add(&mut args, "attachments", &post.attachments);
        add(&mut args, "username", &post.username);
        add(&mut args, "icon_emoji", &post.icon_emoji);
        add(&mut args, "icon_url", &post.icon_url);
        if post.broadcast {
            args["reply_broadcast"] = json!(true);
        }
        args
    }

    /// Looks for this part where it would be, a few times. Slack's clock is not ours, so
    /// no window is asked for: a thread is read whole, of a channel its newest page.
    async fn find(&self) -> Result<Option<Value>, SlackError> {
        for look in 0..LOOKS {
            if look > 0 {
                sleep(FIRST_PAUSE * look).await;
            }
            let mut args = json!({"channel": self.channel(), "include_all_metadata": true,
                "limit": 900});
            let root = self.root.as_ref().map(MessageTs::as_str);
            let method = reader_of(root, &mut args);
            loop {
                let page = self.relay.upstream.once(method, &args).await?.body;
                let us = &self.relay.us;
                if let Some(found) = messages(&page).find(|one| self.own.is(us, one)) {
                    return Ok(Some(found.clone()));
                }
                match page["response_metadata"]["next_cursor"].as_str() {
                    Some(next) if !next.is_empty() && self.root.is_some() => {
                        args["cursor"] = json!(next);
                    }
                    _ => break,
                }
            }
        }
        Ok(None)
    }
}

fn note(tx: &mut Tx<'_>, own: &OwnPart, file: Option<&str>) -> Result<Noted> {
    let part = i64::try_from(own.part).unwrap_or(0);
    let known: Option<(Option<String>, Option<String>)> = tx.db().first(
        "SELECT ts, file FROM upstream_parts
             WHERE agent = ?1 AND idem = ?2 AND part = ?3",
        params![own.agent.key, own.idem, part],
    )?;
    if let Some((Some(ts), _)) = &known {
        let ts = ts.parse().map_err(|_| Refusal::InternalError)?;
        return Ok(Noted::Landed(ts));
    }
    tx.db().execute(
        "INSERT INTO upstream_parts (agent, idem, part, tag, file, begun_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (agent, idem, part)
             DO UPDATE SET file = coalesce(excluded.file, upstream_parts.file)",
        params![
            own.agent.key,
            own.idem,
            part,
            own.metadata.to_string(),
            file,
            tx.db().now_ms()
        ],
    )?;
    Ok(match known {
        Some((_, file)) => Noted::Begun { file },
        None => Noted::New,
    })
}
