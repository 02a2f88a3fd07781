//! One connection of one subscriber, from hello to close.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::extract::ws::{Message as Frame, WebSocket};
use butler_protocol::Epoch;
use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};
use tracing::{debug, info};

use super::{answers, holding::Holding, queue::Queue, rich_text, sharing::Part};
use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    identity::{APP, Agent, Fence},
    log::{
        self, LoggedEvent, Notice, Shake,
        listeners::Listener,
        processes::{self, Standing},
    },
    presence,
    workspace::gate,
};

const PING_EVERY: Duration = Duration::from_secs(10);
/// How long a connection is said to live, and lives when refreshes are asked for.
const LIFE: Duration = Duration::from_secs(18_060);
const SHORT_LIFE: Duration = Duration::from_secs(360);
/// Between the announcement of a disconnect and the close.
const FAREWELL: Duration = Duration::from_secs(10);
/// How much of a long queue is taken up at once; the rest stays in the store.
const PAGE: usize = 10_000;
/// Events kept in memory for a thread that is waiting; the rest is read again.
const KEPT: usize = 512;

/// Why a connection is not kept: one of the two ends is to be updated.
const TOO_OLD: &str = "too_old";

/// What the client at the other end is like.
pub(super) struct Client {
    /// It understands our words beside Slack's.
    pub(super) knows_us: bool,
    /// Which of several processes of its role it is.
    pub(super) process: Option<String>,
    /// It asked for frequent refreshes.
    pub(super) refreshes: bool,
}

type Acks = FuturesUnordered<std::pin::Pin<Box<dyn Future<Output = Result<u64>> + Send>>>;

struct Subscriber {
    app: Arc<App>,
    agent: Agent,
    epoch: Epoch,
    client: Client,
    socket: WebSocket,
    queue: Queue,
    /// The store has more than was taken up.
    more: bool,
    kept: HashMap<u64, Arc<LoggedEvent>>,
    acks: Acks,
    close_at: Option<Instant>,
    /// What an app of others shares between its connections.
    part: Option<Part>,
    holding: Holding,
}

/// Why a connection ends.
enum End {
    Gone,
    Stale,
    Stopped,
}

/// Serves a connection until it ends; never fails loudly, the client comes back.
pub(super) async fn serve(app: Arc<App>, agent: Agent, client: Client, mut socket: WebSocket) {
    // Heard before read: an event between the two is found twice, not never.
    let notices = app.sockets.listeners.join(agent.key);
    let (caller, foreign) = (agent.clone(), !client.knows_us);
    let part = foreign.then(|| Part::join(&app, agent.key));
    if matches!(part, Some(None)) {
        let goodbye = goodbye("too_many_websockets").to_string();
        let _ = socket.send(Frame::Text(goodbye.into())).await;
        return;
    }
    let (process, hub) = (client.process.clone(), app.store.hub());
    let raising = app.write(move |tx| {
        // Connections of one app of others stand beside each other.
        if foreign && log::is_foreign(tx.db(), caller.key)? {
            return Ok((caller.current_epoch(tx.db())?, Standing::default()));
        }
        let epoch = caller.raise_epoch(tx.db(), tx.db().now_ms())?;
        log::spoken_for(tx.db(), caller.key, foreign)?;
        let standing = match &process {
            Some(process) => processes::enter(tx, caller.key, process, &hub, epoch)?,
            None => {
                processes::forget(tx.db(), caller.key)?;
                let first = true;
                let shared = false;
                Standing { first, shared }
            }
        };
        tx.say(Notice::Epoch {
            agent: caller.key,
            epoch,
            process,
        });
        Ok((epoch, standing))
    });
    let raised = tokio::select! {
        raised = raising => raised,
        () = app.sockets.cut_off.begins() => return,
    };
    let Ok((epoch, standing)) = raised else {
        return;
    };
    let role = agent.role;
    info!(%role, %epoch, "subscriber connected");
    let _here = presence::enter(&app, agent.key);
    let holding = Holding::new(&app, (agent.key, epoch), client.process.clone(), standing);
    let mut subscriber = Subscriber {
        app,
        agent,
        epoch,
        client,
        socket,
        queue: if foreign {
            Queue::of_stranger()
        } else {
            Queue::default()
        },
        more: false,
        kept: HashMap::new(),
        acks: FuturesUnordered::new(),
        close_at: None,
        part: part.flatten(),
        holding,
    };
    let away = Arc::clone(&subscriber.app);
    let end = tokio::select! {
        end = subscriber.run(notices) => end,
        () = away.sockets.cut_off.begins() => End::Gone,
    };
    let queued = subscriber.queue.len();
    debug!(%role, %epoch, queued, "subscriber gone");
    match end {
        End::Gone => {}
        End::Stale if subscriber.client.knows_us => {
            let _ = subscriber.say(&goodbye(Refusal::StaleEpoch.code())).await;
        }
        // A stranger would take the frame for an invitation to reconnect.
        End::Stale | End::Stopped => {
            let _ = subscriber.socket.send(Frame::Close(None)).await;
        }
    }
    // The client need not wait for the store to hear of it.
    let Subscriber {
        socket, holding, ..
    } = subscriber;
    drop(socket);
    holding.end().await;
}

/// Says why nothing comes over this connection, and ends it.
pub(super) async fn turn_away(words: String, mut socket: WebSocket) {
    let mut farewell = goodbye(TOO_OLD);
    farewell["codebutler"] = json!({"words": words});
    // A client that is gone already needs no telling.
    let _ = socket.send(Frame::Text(farewell.to_string().into())).await;
    let _ = socket.send(Frame::Close(None)).await;
}

impl Subscriber {
    async fn run(&mut self, mut notices: Listener) -> End {
        if self.greet().await.is_err() || self.reload().await.is_err() {
            return End::Gone;
        }
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut checks = interval(Duration::from_secs(1));
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let life = if self.client.refreshes {
            SHORT_LIFE
        } else {
            LIFE
        };
        let old_at = Instant::now() + life;
        let cancel = self.app.cancel.clone();
        loop {
            if self.send_ready().await.is_err() {
                return End::Gone;
            }
            let close_at = self.close_at;
            let step = tokio::select! {
                () = cancel.cancelled() => return End::Stopped,
                frame = self.socket.recv() => match frame {
                    Some(Ok(frame)) => {
                        self.holding.heard();
                        self.heard(&frame)
                    }
                    Some(Err(_)) | None => return End::Gone,
                },
                notice = notices.recv() => match self.noticed(notice).await {
                    Ok(()) => Ok(()),
                    Err(end) => return end,
                },
                Some(acked) = self.acks.next() => match acked {
                    Ok(seq) => {
                        self.forget(seq);
                        if let Some(part) = &self.part {
                            part.done(seq);
                        }
                        let refill = self.more && self.queue.len() < PAGE / 2;
                        if refill && self.reload().await.is_err() {
                            return End::Gone;
                        }
                        Ok(())
                    }
                    Err(Trouble::Refused(Refusal::StaleEpoch)) => {
                        return match self.holding.is_lost().await {
                            // It connects again, as a process without threads.
                            Ok(true) => End::Gone,
                            _ => End::Stale,
                        };
                    }
                    Err(_) => return End::Gone,
                },
                _ = pings.tick() => self.socket.send(Frame::Ping("codebutler".into())).await,
                // A thousand that wait for nothing look for nothing.
                _ = checks.tick(), if self.holding.standing.shared || self.queue.len() > 0 => match self.holding.is_silent() {
                    true => return End::Gone,
                    false => self.send_overdue().await,
                },
                () = sleep_until(old_at), if close_at.is_none() => {
                    self.announce("refresh_requested").await
                }
                () = sleep_until(close_at.unwrap_or(old_at)), if close_at.is_some() => {
                    return End::Stopped;
                }
            };
            if step.is_err() {
                return End::Gone;
            }
        }
    }

    async fn greet(&mut self) -> Result<(), axum::Error> {
        let connections = self.part.as_ref().map_or(1, |part| part.connections);
        let (hub, standing) = (self.app.speaks(), self.holding.standing);
        let hello = json!({
            "type": "hello", "num_connections": connections, "connection_info": {"app_id": APP},
            "debug_info": {"host": "codebutler", "build_number": 1,
                "approximate_connection_time": LIFE.as_secs()},
            "codebutler": {"epoch": self.epoch, "role": self.agent.role, "version": hub.version,
                "protocol": hub.exchange, "oldest": hub.oldest, "first": standing.first,
                "shared": standing.shared},
        });
        self.say(&hello).await
    }

    /// Nothing is to be done about this event any more, here.
    fn forget(&mut self, seq: u64) {
        self.queue.acknowledged(seq);
        self.kept.remove(&seq);
    }

    /// Takes up what the store has queued and we have not, a page of it. What another
    /// connection gave back may be older than what we have.
    async fn reload(&mut self) -> Result<()> {
        let after = match self.part {
            Some(_) => 0,
            None => self.queue.highest(),
        };
        self.reload_after(after).await
    }

    async fn reload_after(&mut self, after: u64) -> Result<()> {
        let (agent, process) = (self.agent.key, self.holding.process.clone());
        let waiting = self
            .app
            .read(move |db| log::undelivered(db, agent, process.as_deref(), after, PAGE))
            .await?;
        self.more = waiting.len() == PAGE;
        for (seq, thread) in waiting {
            self.queue.push(seq, &thread);
        }
        Ok(())
    }

    fn heard(&mut self, frame: &Frame) -> Result<(), axum::Error> {
        let Frame::Text(text) = frame else {
            return Ok(());
        };
        let Ok(ack) = serde_json::from_str::<Value>(text.as_str()) else {
            return Ok(());
        };
        let id = ack["envelope_id"].as_str().unwrap_or_default();
        if let Some(seq) = log::acknowledged(self.agent.key, id) {
            // Whoever waited has been told that no answer came; a late one is too late.
            let wanted = !self.client.knows_us && !self.queue.is_late(seq);
            if wanted {
                self.app.sockets.options.answer(seq, &ack["payload"]);
            }
            self.settle(seq, wanted.then(|| ack["payload"].clone()));
        }
        Ok(())
    }

    /// Forgets a delivery, and does what the app answered with its acknowledgement.
    fn settle(&mut self, seq: u64, answer: Option<Value>) {
        let (app, agent, epoch) = (Arc::clone(&self.app), self.agent.clone(), self.epoch);
        let process = self.holding.process.clone();
        self.acks.push(Box::pin(async move {
            let Some(mut answer) = answer else {
                return app
                    .sockets
                    .acks
                    .write(agent.key, epoch, process, seq)
                    .await
                    .map(|()| seq);
            };
            gate::clean_value(&app.redactor, &mut answer);
            app.write(move |tx| {
                let fence = Fence {
                    epoch,
                    thread: None,
                };
                agent.check_fence(tx.db(), Some(&fence))?;
                if log::acknowledge(tx.db(), agent.key, process.as_deref(), seq)? {
                    let event = log::event(tx.db(), seq)?;
                    answers::take(tx, &agent, &event, answer)?;
                }
                Ok(seq)
            })
            .await
        }));
    }

    async fn noticed(&mut self, notice: Result<Arc<Notice>, RecvError>) -> Result<(), End> {
        let notice = match notice {
            Ok(notice) => notice,
            Err(RecvError::Lagged(_)) => return self.reload().await.map_err(|_| End::Gone),
            Err(RecvError::Closed) => return Err(End::Stopped),
        };
        match &*notice {
            // In its turn, behind what has not been taken up yet.
            Notice::Event(_) if self.more => {}
            Notice::Event(event) if event.targets.contains(&self.agent.key) => {
                let thread = format!("{}/{}", event.channel, event.root);
                if !self.holding.is_mine(&thread).await.map_err(|_| End::Gone)? {
                    return Ok(());
                }
                if self.kept.len() < KEPT {
                    self.kept.insert(event.seq, Arc::clone(event));
                }
                self.queue.push(event.seq, &thread);
            }
            Notice::Epoch {
                agent,
                epoch,
                process,
            } if *agent == self.agent.key
                && self.holding.is_displaced_by(process.as_ref(), *epoch) =>
            {
                return Err(End::Stale);
            }
            Notice::Shared { agent } if *agent == self.agent.key => {
                return self.shared().await.map_err(|_| End::Gone);
            }
            Notice::Freed { agent } if *agent == self.agent.key && self.part.is_some() => {
                return self.reload().await.map_err(|_| End::Gone);
            }
            Notice::Missed => return self.reload().await.map_err(|_| End::Gone),
            Notice::Shake(Shake::Drop) => return Err(End::Gone),
            Notice::Shake(shake) => {
                let reason = match shake {
                    Shake::LinkDisabled => "link_disabled",
                    _ => "refresh_requested",
                };
                self.announce(reason).await.map_err(|_| End::Gone)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Threads have other holders. What the process was told at its hello and is not true
    /// any more it is told at the next one, which follows at once.
    async fn shared(&mut self) -> Result<()> {
        if self.holding.has_changed().await? && self.close_at.is_none() {
            // A client that is gone is noticed elsewhere.
            let _ = self.announce("refresh_requested").await;
        }
        self.reload_after(0).await
    }

    async fn send_ready(&mut self) -> Result<(), axum::Error> {
        while let Some(seq) = self.queue.next(std::time::Instant::now()) {
            if self.part.as_ref().is_some_and(|part| !part.takes(seq)) {
                self.forget(seq);
                continue;
            }
            self.send_event(seq, 0).await?;
        }
        Ok(())
    }

    async fn send_overdue(&mut self) -> Result<(), axum::Error> {
        if self.holding.standing.shared {
            let ping = Frame::Ping("codebutler".into());
            self.socket.send(ping).await?;
        }
        let overdue = self.queue.overdue(std::time::Instant::now());
        for seq in overdue.given_up {
            self.settle(seq, None);
        }
        for (seq, attempt) in overdue.again {
            self.send_event(seq, attempt).await?;
        }
        Ok(())
    }

    async fn send_event(&mut self, seq: u64, attempt: u32) -> Result<(), axum::Error> {
        let event = match self.kept.get(&seq) {
            Some(event) => Arc::clone(event),
            None => match self.app.read(move |db| log::event(db, seq)).await {
                Ok(event) => Arc::new(event),
                Err(error) => return Err(axum::Error::new(error)),
            },
        };
        // Slack sends events again; who misses a click or a command has missed it.
        let once = !self.client.knows_us && event.frame["type"] != "events_api";
        if once && attempt > 0 {
            if attempt == 1 {
                tell_of_silence(&self.app, &event).await;
            }
            return Ok(());
        }
        let mut envelope = event.envelope(self.agent.key, attempt);
        if let Some(relay) = &self.app.relay {
            relay.with_own_ids(&mut envelope["payload"]);
        }
        if !self.client.knows_us {
            rich_text::add(&mut envelope["payload"]);
        }
        self.say(&envelope).await
    }

    /// Says that the connection will end soon.
    async fn announce(&mut self, reason: &str) -> Result<(), axum::Error> {
        self.close_at = Some(Instant::now() + FAREWELL);
        self.say(&goodbye(reason)).await
    }

    async fn say(&mut self, frame: &Value) -> Result<(), axum::Error> {
        self.socket
            .send(Frame::Text(frame.to_string().into()))
            .await
    }
}

/// The person who waits for an answer is told that none came in time.
async fn tell_of_silence(app: &App, event: &Arc<LoggedEvent>) {
    let event = Arc::clone(event);
    let told = app.write(move |tx| answers::missed(tx, &event));
    if let Err(error) = told.await {
        debug!(%error, "nobody could be told that an app did not answer");
    }
}

fn goodbye(reason: &str) -> Value {
    json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "codebutler"}})
}
