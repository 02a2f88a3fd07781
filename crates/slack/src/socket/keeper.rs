//! Keeps at least one link open and passes envelopes on. All decisions about
//! reconnecting are made here, in one place, from the links' reports.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, OnceLock},
    time::Duration,
};

use butler_protocol::{Refusal, Secret};
use serde_json::json;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Ended, Hearing, Standing,
    dial::Trust,
    link::{self, Hello, Line, LinkNumber, Report, What},
};
use crate::{Envelope, EnvelopeId, SharedEpoch, SlackError, Web, Workspace, http::jittered};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that has not said hello by then is given up.
const HELLO_LIMIT: Duration = Duration::from_secs(20);
/// Acknowledgements that are remembered, in case they were lost on the way.
const REMEMBERED: usize = 4096;
/// Envelopes that wait for the reader before the links have to.
const BACKLOG: usize = 256;

pub(super) struct Ends {
    pub(super) workspace: Workspace,
    pub(super) process: Option<String>,
    pub(super) trust: Trust,
    pub(super) app_token: Secret,
    pub(super) given_out: mpsc::Sender<Envelope>,
    pub(super) acked: mpsc::Receiver<EnvelopeId>,
    pub(super) epoch: SharedEpoch,
    pub(super) gaps: watch::Sender<u64>,
    pub(super) hearing: watch::Sender<Hearing>,
    pub(super) standing: watch::Sender<Standing>,
    pub(super) ended: Arc<OnceLock<Ended>>,
    pub(super) cancel: CancellationToken,
}

/// Starts the keeper.
pub(super) fn start(ends: Ends) -> Result<JoinHandle<()>, SlackError> {
    // Opening carries no epoch: it is how a process gets one.
    let web = Web::at(&ends.workspace, ends.app_token.clone())?.with_patience(Duration::ZERO);
    Ok(tokio::spawn(Keeper::new(ends, web).run()))
}

type Opening = JoinHandle<Result<String, SlackError>>;

struct Keeper {
    ends: Ends,
    web: Web,
    /// Tries in a row that led to no connection.
    tries: u32,
    reports: mpsc::Sender<Report>,
    inbox: mpsc::Receiver<Report>,
    lines: HashMap<LinkNumber, Line>,
    /// The link that said hello last; acknowledgements go there by default.
    current: Option<LinkNumber>,
    /// The links that have said hello and are open.
    greeted: HashSet<LinkNumber>,
    /// The link that has not said hello yet, and until when it may.
    dialing: Option<(LinkNumber, Instant)>,
    opening: Option<Opening>,
    last_number: LinkNumber,
    came_by: HashMap<EnvelopeId, LinkNumber>,
    done: Remembered,
    backlog: VecDeque<Envelope>,
    pause: Duration,
    dial_at: Option<Instant>,
}

enum Step {
    GoOn,
    End(Ended),
}

enum Happening {
    ReaderGone,
    Room(mpsc::OwnedPermit<Envelope>),
    Acked(EnvelopeId),
    Report(Report),
    Opened(Result<String, SlackError>),
    TimeToDial,
    NoHello,
}

/// Resolves at `when`, or never.
async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

impl Keeper {
    fn new(ends: Ends, web: Web) -> Self {
        let (reports, inbox) = mpsc::channel(64);
        Self {
            ends,
            web,
            tries: 0,
            reports,
            inbox,
            lines: HashMap::new(),
            current: None,
            greeted: HashSet::new(),
            dialing: None,
            opening: None,
            last_number: 0,
            came_by: HashMap::new(),
            done: Remembered::default(),
            backlog: VecDeque::new(),
            pause: FIRST_PAUSE,
            dial_at: Some(Instant::now()),
        }
    }

    /// Works until it is told to stop or there is no use in going on; why is known
    /// before anybody can see that it has ended.
    async fn run(mut self) {
        let cancel = self.ends.cancel.clone();
        let ended = loop {
            let step = tokio::select! {
                () = cancel.cancelled() => break Ended::Cancelled,
                step = self.step() => step,
            };
            if let Step::End(ended) = step {
                break ended;
            }
        };
        self.inbox.close();
        for (_, line) in self.lines.drain() {
            line.stop.cancel();
            // A panic in there was already reported by the runtime.
            let _ = line.task.await;
        }
        if let Some(opening) = self.opening.take() {
            opening.abort();
            let _ = opening.await;
        }
        info!(reason = %ended, "socket ended");
        let _ = self.ends.ended.set(ended.clone());
        self.ends.hearing.send_replace(Hearing::Ended(ended));
    }

    /// A try led to nothing. With another connection open nobody needs to know.
    fn unheard(&mut self, why: Option<String>) {
        if !self.greeted.is_empty() {
            return;
        }
        self.tries += 1;
        let tries = self.tries;
        self.ends
            .hearing
            .send_replace(Hearing::Reconnecting { why, tries });
    }

    /// Waits for one thing to happen. Everything awaited here can be dropped
    /// and awaited again without a loss.
    async fn happening(&mut self) -> Happening {
        let dial_at = self.dial_at;
        let hello_by = self.dialing.map(|(_, limit)| limit);
        let opening = async {
            match &mut self.opening {
                Some(opening) => opening.await.unwrap_or_else(|error| {
                    Err(SlackError::answer("apps.connections.open", &error))
                }),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            permit = self.ends.given_out.clone().reserve_owned(), if !self.backlog.is_empty() => {
                permit.map_or(Happening::ReaderGone, Happening::Room)
            }
            id = self.ends.acked.recv() => id.map_or(Happening::ReaderGone, Happening::Acked),
            // Full backlog: the links wait, and with them the workspace.
            Some(report) = self.inbox.recv(), if self.backlog.len() < BACKLOG => {
                Happening::Report(report)
            }
            opened = opening => Happening::Opened(opened),
            () = at(dial_at) => Happening::TimeToDial,
            () = at(hello_by) => Happening::NoHello,
        }
    }

    async fn step(&mut self) -> Step {
        match self.happening().await {
            Happening::ReaderGone => return Step::End(Ended::Cancelled),
            Happening::Room(permit) => {
                if let Some(envelope) = self.backlog.pop_front() {
                    permit.send(envelope);
                }
            }
            Happening::Acked(id) => self.acknowledge(id).await,
            Happening::Report(report) => return self.hear(report).await,
            Happening::Opened(opened) => {
                self.opening = None;
                return self.opened(opened);
            }
            Happening::TimeToDial => {
                self.dial_at = None;
                self.dial();
            }
            Happening::NoHello => {
                if let Some((link, _)) = self.dialing.take() {
                    debug!(link, "no hello in time");
                    self.unheard(Some(format!(
                        "nothing came over the WebSocket for {} s",
                        HELLO_LIMIT.as_secs()
                    )));
                    self.hang_up(link);
                    self.dial_later();
                }
            }
        }
        Step::GoOn
    }

    /// Asks for the address of a new connection.
    fn dial(&mut self) {
        if self.opening.is_some() || self.dialing.is_some() {
            return;
        }
        let web = self.web.clone();
        let encrypted = self.ends.workspace.base.scheme() == "https";
        self.opening = Some(tokio::spawn(async move {
            let method = "apps.connections.open";
            let answer = web.call(method, json!({})).await?;
            let url = answer["url"].as_str().unwrap_or_default().to_owned();
            if encrypted && !url.starts_with("wss://") {
                return Err(SlackError::Answer {
                    method: method.to_owned(),
                    detail: "an address without TLS; a hub behind a proxy with TLS needs \
                             `hub.publicUrl`"
                        .to_owned(),
                });
            }
            Ok(url)
        }));
    }

    fn opened(&mut self, opened: Result<String, SlackError>) -> Step {
        match opened {
            Ok(url) => {
                // Tells the hub that this client understands its words, and which of them;
                // Slack ignores it.
                let us = super::this_build();
                let (speaks, oldest, version) = (us.exchange, us.oldest, us.version);
                let mut url =
                    format!("{url}&codebutler={speaks}&oldest={oldest}&version={version}");
                if let Some(process) = &self.ends.process {
                    let name = url::form_urlencoded::byte_serialize(process.as_bytes());
                    url.extend(["&process="].into_iter().chain(name));
                }
                self.last_number += 1;
                let link = self.last_number;
                let line = link::start(
                    link,
                    url,
                    Arc::clone(&self.ends.trust),
                    self.reports.clone(),
                    self.ends.cancel.child_token(),
                );
                self.lines.insert(link, line);
                self.dialing = Some((link, Instant::now() + HELLO_LIMIT));
            }
            Err(error) => match error.refusal() {
                Some(refusal) if refusal.is_final() || refusal == Refusal::MissingScope => {
                    return Step::End(Ended::Refused(refusal.code().to_owned()));
                }
                _ => {
                    debug!(%error, "cannot open a socket yet");
                    self.unheard(Some(error.whole()));
                    self.dial_later();
                }
            },
        }
        Step::GoOn
    }

    fn dial_later(&mut self) {
        self.dial_at = Some(Instant::now() + jittered(self.pause));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    async fn hear(&mut self, Report { link, what }: Report) -> Step {
        match what {
            What::Hello(hello) => self.greeted(link, hello),
            What::Envelope(envelope) => self.received(link, *envelope).await,
            What::Disconnect(reason) => return self.warned(link, &reason),
            What::TooOld(words) => return Step::End(Ended::TooOld(words)),
            What::Closed(why) => self.closed(link, why).await,
        }
        Step::GoOn
    }

    fn greeted(&mut self, link: LinkNumber, hello: Hello) {
        if let Some(epoch) = hello.epoch {
            self.ends.epoch.raise(epoch);
        }
        self.ends.standing.send_replace(hello.standing);
        if self.dialing.is_some_and(|(dialed, _)| dialed == link) {
            self.dialing = None;
        }
        if self.greeted.is_empty() {
            self.ends.gaps.send_modify(|gaps| *gaps += 1);
        }
        self.greeted.insert(link);
        self.current = Some(link);
        self.pause = FIRST_PAUSE;
        self.tries = 0;
        let ours = u32::try_from(self.greeted.len()).unwrap_or(u32::MAX);
        let others = hello.connections.unwrap_or(ours).saturating_sub(ours);
        if others > 0 {
            warn!(others, "other connections of this app are open");
        }
        self.ends
            .hearing
            .send_replace(Hearing::Connected { others });
    }

    async fn received(&mut self, link: LinkNumber, envelope: Envelope) {
        self.came_by.insert(envelope.id.clone(), link);
        if self.done.contains(&envelope.id) {
            // The acknowledgement was lost with its connection: say it again.
            self.acknowledge(envelope.id).await;
        } else {
            self.backlog.push_back(envelope);
        }
    }

    async fn acknowledge(&mut self, id: EnvelopeId) {
        self.done.insert(id.clone());
        let came_by = self.came_by.remove(&id);
        let line = came_by
            .and_then(|link| self.lines.get(&link))
            .or_else(|| self.lines.get(&self.current?));
        if let Some(line) = line {
            // A link that just died loses it; the redelivery is answered above.
            let _ = line.acks.send(id).await;
        }
    }

    fn warned(&mut self, link: LinkNumber, reason: &str) -> Step {
        info!(link, reason, "the workspace announces a disconnect");
        match reason {
            "link_disabled" => return Step::End(Ended::Disabled),
            // On a link that we replaced ourselves this is only its end.
            "stale_epoch" if self.current == Some(link) && self.dialing.is_none() => {
                return Step::End(Ended::Displaced);
            }
            "stale_epoch" => self.hang_up(link),
            "too_many_websockets" => {
                warn!("too many connections of this app are open");
                self.pause = LONGEST_PAUSE;
                self.hang_up(link);
                self.dial_later();
            }
            // A refresh: the next connection opens while this one is still read.
            _ => self.dial(),
        }
        Step::GoOn
    }

    async fn closed(&mut self, link: LinkNumber, why: Option<String>) {
        if let Some(line) = self.lines.remove(&link) {
            let _ = line.task.await;
        }
        // What was on its way over this link may be lost although another is open.
        if self.greeted.remove(&link) && !self.greeted.is_empty() {
            self.ends.gaps.send_modify(|gaps| *gaps += 1);
        }
        self.came_by.retain(|_, by| *by != link);
        let was_dialing = self.dialing.is_some_and(|(dialed, _)| dialed == link);
        if was_dialing {
            self.dialing = None;
        }
        if was_dialing || self.current == Some(link) {
            self.unheard(why);
        }
        if self.current == Some(link) {
            self.current = None;
        }
        let another = self.dialing.is_some() || self.opening.is_some();
        if (was_dialing || self.current.is_none()) && !another && self.dial_at.is_none() {
            self.dial_later();
        }
    }

    fn hang_up(&mut self, link: LinkNumber) {
        if let Some(line) = self.lines.get(&link) {
            line.stop.cancel();
        }
    }
}

/// The last acknowledged ids, oldest forgotten first.
#[derive(Default)]
struct Remembered {
    known: HashSet<EnvelopeId>,
    order: VecDeque<EnvelopeId>,
}

impl Remembered {
    fn contains(&self, id: &EnvelopeId) -> bool {
        self.known.contains(id)
    }

    fn insert(&mut self, id: EnvelopeId) {
        if self.known.insert(id.clone()) {
            self.order.push_back(id);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
