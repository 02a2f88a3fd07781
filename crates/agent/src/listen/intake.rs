//! From an envelope to mail for a thread, by string match and stamp alone. No
//! model is asked. What is not for this role is acknowledged at once.

use std::{sync::Arc, time::Duration};

use butler_journal::ThreadDir;
use butler_policy::Duty;
use butler_protocol::{
    BodyRef, Decision, EventId, HandOver, Idem, Record, RequestId, Role, Sha256Hex, Speaker, Stamp,
    StampKind, ThreadId,
};
use butler_slack::{Acker, Envelope, EnvelopeId, Event as SlackEvent, File, Message, mrkdwn};
use butler_turn::{
    Edited, Heard,
    route::{Addressed, Author, Ear, RespondTo, addressed},
};
use tracing::warn;

use crate::{
    Agent, AgentError,
    decide::person_actions::Asked,
    develop::orders,
    listen::{control_words, draft::Notes, drafting::Drafting, voice::Listened, work_key::WorkKey},
    tell::{joining, render},
    upkeep::forge::pull_watch::FromForge,
};

/// The event that gives a process the thread of another one.
const GIVEN: &str = "thread_given";
/// The event that brings a word for the whole team from a thread of another process.
const TOLD: &str = "team_told";
/// How long somebody who was at work may take to say that it stopped.
const CONFIRMS: Duration = Duration::from_secs(5);

/// Something for the worker of a thread.
pub(crate) enum Mail {
    /// Somebody spoke to this role.
    Heard {
        /// What the model will read.
        heard: Heard,
        /// The typed body, when it was a hand-over.
        hand_over: Option<Box<HandOver>>,
        /// What a person attached to it.
        files: Vec<File>,
        /// What it cost to listen to it.
        paid: Vec<Record>,
    },
    /// A card of this role was decided; the hub's record.
    Decided(Box<Decision>),
    /// Another model for this role in this thread.
    Model {
        /// Its full name.
        model: String,
        /// Who wants that.
        by: String,
    },
    /// A draft is whole: make one request of it.
    Draft(Notes),
    /// A person changed or deleted a message of theirs.
    Edited(Box<Edited>),
    /// A person acts on the thread itself.
    Act(Box<Asked>),
    /// Others did something to the thread's pull request on its forge.
    FromForge(Box<FromForge>),
    /// The process that had the thread is lost, and this one has it now.
    Given,
    /// Stop now.
    Stop(Stop),
}

impl Mail {
    /// Words, and nothing that came with them.
    pub(crate) fn words(heard: Heard) -> Self {
        Self::Heard {
            heard,
            hand_over: None,
            files: Vec::new(),
            paid: Vec::new(),
        }
    }
}

/// Whose worker gets what of an envelope; nothing where it is not for this role.
pub(crate) type Routed = Result<Option<(WorkKey, Mail)>, AgentError>;

/// A person stopped the thread.
pub(crate) struct Stop {
    /// The stop itself: a redelivery is recognised by it.
    pub event: EventId,
    /// Who wants that.
    pub by: String,
    /// What the person reads.
    pub answer: Option<String>,
    /// Who was at work.
    pub working: Vec<Role>,
}

impl Stop {
    /// Answers the person, then the hub.
    pub(crate) async fn told(self, agent: Arc<Agent>, thread: ThreadId, ack: Option<Ack>) {
        if let Some(text) = &self.answer {
            let late = self.unconfirmed(&agent, &thread).await;
            let text = &control_words::with_unconfirmed(text, &late);
            let (short, role) = (thread.short(), agent.role());
            let idem = Idem::new(format!("{short}-{role}-{}", self.event));
            // Not acknowledged: the hub delivers it again.
            if let Err(error) = agent.poster.say(&thread, idem, text).await {
                warn!(%error, "a stop could not be answered");
                return;
            }
        }
        if let Some(ack) = ack {
            ack.send().await;
        }
    }

    /// Waits until all who were at work have written the stop down, so that "stopped" is
    /// true when it is said. Returns who has not: one that does not run cannot.
    async fn unconfirmed(&self, agent: &Agent, thread: &ThreadId) -> Vec<Role> {
        let until = tokio::time::Instant::now() + CONFIRMS;
        let others = self.working.iter().filter(|role| **role != agent.role());
        let mut others: Vec<Role> = others.copied().collect();
        loop {
            let kinds = ["activation_started", "stopped"];
            let lines = agent.poster.control.logs(thread, &kinds).await;
            let lines = lines.unwrap_or_default();
            others.retain(|role| {
                let mut own = lines.iter().filter(|line| line.role == *role).peekable();
                let has_begun = own.peek().is_some();
                let wrote = |record: &Record| {
                    matches!(record, Record::Stopped { event, .. } if *event == self.event)
                };
                has_begun && !own.any(|line| wrote(&line.entry.record))
            });
            if others.is_empty() || tokio::time::Instant::now() > until {
                return others;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The acknowledgement of one envelope.
pub(crate) struct Ack {
    acker: Acker,
    id: EnvelopeId,
}

impl Ack {
    /// Tells the hub that the envelope is in the log.
    pub(crate) async fn send(self) {
        // A closed socket means that the hub delivers it again.
        let _ = self.acker.ack(&self.id).await;
    }
}

/// Sorts envelopes.
pub(crate) struct Intake {
    pub(crate) agent: Arc<Agent>,
    acker: Acker,
}

impl Intake {
    /// For one socket.
    pub(crate) fn new(agent: Arc<Agent>, acker: Acker) -> Self {
        Self { agent, acker }
    }

    /// Sorts one envelope: for which worker, its place in the hub's log, and what is told
    /// the hub once it is in the role's. What is for others is acknowledged here.
    ///
    /// # Errors
    /// When the hub cannot be asked for what the envelope points to.
    pub(crate) async fn sort(
        &self,
        listened: Listened,
    ) -> Result<Option<(WorkKey, u64, Mail, Ack)>, AgentError> {
        let Listened { envelope, paid } = listened;
        let ack = Ack {
            acker: self.acker.clone(),
            id: envelope.id.clone(),
        };
        let sorted = match &envelope.stamp {
            None => None,
            Some(stamp) => {
                self.agent.develop.heard(stamp.kind);
                self.by_stamp(&envelope, stamp).await?
            }
        };
        let Some((work_key, mut mail)) = sorted else {
            ack.send().await;
            return Ok(None);
        };
        if let Mail::Heard { paid: cost, .. } = &mut mail {
            *cost = paid;
        }
        let seq = envelope.stamp.as_ref().map_or(0, |stamp| stamp.seq);
        Ok(Some((work_key, seq, mail, ack)))
    }

    async fn by_stamp(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        if envelope.payload["event"]["type"] == GIVEN {
            let thread = stamp.thread.clone().map(WorkKey::thread);
            return Ok(thread.map(|thread| (thread, Mail::Given)));
        }
        if envelope.payload["event"]["type"] == TOLD {
            self.told(envelope, stamp).await?;
            return Ok(None);
        }
        match stamp.kind {
            StampKind::Decision => self.decision(stamp).await,
            StampKind::Stop => self.stop(envelope, stamp).await,
            StampKind::Message | StampKind::HandOver => self.message(envelope, stamp).await,
            StampKind::Other => match self.edited(envelope, stamp).await? {
                None => self.button(envelope, stamp).await,
                edited => Ok(edited),
            },
            StampKind::Act => self.act(envelope, stamp).await,
            StampKind::Activity | StampKind::Reaction => Ok(None),
        }
    }

    async fn decision(&self, stamp: &Stamp) -> Routed {
        let Some(reference) = &stamp.reference else {
            return Ok(None);
        };
        let view = self
            .agent
            .poster
            .control
            .decision(&RequestId::new(reference.clone()))
            .await?;
        if view.asked.from != self.agent.role() {
            return Ok(None);
        }
        let Some(mut decision) = view.decided else {
            return Ok(None);
        };
        let threads = self.agent.threads();
        let (thread, role) = (&view.asked.thread, view.asked.from);
        let work_key = WorkKey::that_asked(&threads, thread, role, &decision.request);
        decision.name = self.agent.poster.web.user_name(&decision.person).await?;
        Ok(Some((work_key, Mail::Decided(Box::new(decision)))))
    }

    /// Anybody in the channel may stop. The PM's process answers them.
    async fn stop(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        let Some(thread) = stamp.thread.clone() else {
            return Ok(None);
        };
        let (user, by_word) = match envelope.event() {
            Some(SlackEvent::Message { message, .. }) => (message.user, true),
            Some(SlackEvent::Reaction(reaction)) => (Some(reaction.user), false),
            _ => (None, false),
        };
        let by = match &user {
            Some(user) => self.agent.poster.web.user_name(user).await?,
            None => "somebody".to_owned(),
        };
        // A sign on something that was never ours is nobody's business.
        let answers =
            Duty::Front.is_of(self.agent.role()) && (by_word || self.has_begun(&thread).await?);
        let of_run = orders::stop(&self.agent, &thread).await?;
        let stop = Stop {
            event: envelope.event_id(),
            answer: of_run
                .or_else(|| answers.then(|| control_words::stopped(&by, &stamp.to, stamp.active))),
            by,
            working: stamp.to.clone(),
        };
        Ok(Some((WorkKey::thread(thread), Mail::Stop(stop))))
    }

    /// Whether anybody has worked in the thread: then a reply needs no mention.
    async fn has_begun(&self, thread: &ThreadId) -> Result<bool, AgentError> {
        let control = &self.agent.poster.control;
        let begun = control.logs(thread, &["activation_started"]).await?;
        Ok(!begun.is_empty())
    }

    /// A thread that was closed long ago and is spoken in again: all of it is
    /// needed. What cannot be unpacked is told in the thread by who works in it.
    fn bring_back(&self, thread: &ThreadId) {
        let threads = self.agent.threads();
        if !ThreadDir::archive(&threads, thread).exists() {
            return;
        }
        let entered = tokio::task::block_in_place(|| ThreadDir::enter(&threads, thread));
        if let Err(error) = entered {
            warn!(%thread, %error, "a packed thread could not be unpacked");
        }
    }

    async fn message(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        let Some(SlackEvent::Message { channel, message }) = envelope.event() else {
            return Ok(None);
        };
        let thread = message.thread(&channel);
        self.bring_back(&thread);
        let rules = self.agent.rules();
        let access = &rules.access;
        let ear = Ear {
            role: self.agent.role(),
            bot: self.agent.bot.as_ref(),
            respond_to: access.respond_to,
        };
        let author = author(&message, stamp, &access.allowed_bots);
        // Only there it matters.
        let begun = ear.respond_to == RespondTo::Mention && self.has_begun(&thread).await?;
        let to = addressed(&ear, stamp, author, &message.text, begun);
        match self
            .drafting(&thread, envelope, &message, stamp, &to)
            .await?
        {
            Drafting::None => {}
            Drafting::Kept => return Ok(None),
            Drafting::Whole(notes) => {
                return Ok(Some((WorkKey::thread(thread), Mail::Draft(notes))));
            }
        }
        if to == Addressed::No {
            return self.lasting(&thread, &message, stamp).await;
        }
        if !self.is_allowed(&thread, &message, stamp).await? {
            return Ok(None);
        }
        if author == Author::Ours
            && stamp.from.is_none()
            && orders::obey(&self.agent, &thread, &message).await?
        {
            return Ok(None);
        }
        if let Addressed::Command(command) = to {
            return self.command(thread, &message, command).await;
        }
        if self.asks_which(&thread, &message, stamp).await? {
            return Ok(None);
        }
        let hand_over = self.body(stamp, &message).await?;
        let work_key = WorkKey {
            thread,
            research: match &hand_over {
                Some(HandOver::Research { request, .. }) => Some(request.clone()),
                _ => None,
            },
        };
        let text = match &hand_over {
            Some(body) => render::briefing(body),
            None => mrkdwn::plain(&self.agent.poster.named(&message.text).await),
        };
        let files = joining::files_of(&message).to_vec();
        let text = match text.trim().is_empty() && !files.is_empty() {
            true => "(sent files without a word)".to_owned(),
            false => text,
        };
        let heard = Heard {
            event: envelope.event_id(),
            ts: Some(message.ts.clone()),
            speaker: match &hand_over {
                Some(HandOver::FromForge {
                    outside: true, pr, ..
                }) => Speaker::Outside {
                    origin: format!("a comment on {pr}"),
                },
                _ => self.speaker(&message, stamp).await?,
            },
            text,
            images: Vec::new(),
        };
        let mail = Mail::Heard {
            heard,
            hand_over: hand_over.map(Box::new),
            files,
            paid: Vec::new(),
        };
        Ok(Some((work_key, mail)))
    }

    /// The body of a hand-over, checked against the hash in the message.
    async fn body(&self, stamp: &Stamp, message: &Message) -> Result<Option<HandOver>, AgentError> {
        let (StampKind::HandOver, Some(reference)) = (stamp.kind, &stamp.reference) else {
            return Ok(None);
        };
        let bytes = self
            .agent
            .poster
            .control
            .get_body(&BodyRef::new(reference.clone()))
            .await?;
        let promised = message.tag().and_then(|tag| tag.hand_over);
        if promised.is_some_and(|tag| tag.sha256 != Sha256Hex::of(&bytes)) {
            warn!(
                reference,
                "a hand-over's body is not what its message promised"
            );
            return Ok(None);
        }
        Ok(serde_json::from_slice(&bytes).ok())
    }

    async fn speaker(&self, message: &Message, stamp: &Stamp) -> Result<Speaker, AgentError> {
        match (stamp.from, &message.user) {
            (Some(role), _) => Ok(Speaker::Agent { role }),
            (None, Some(user)) => Ok(Speaker::Person {
                user: user.clone(),
                name: self.agent.poster.web.user_name(user).await?,
            }),
            (None, None) => Ok(Speaker::Outside {
                origin: "another app of the workspace".to_owned(),
            }),
        }
    }

    pub(crate) async fn speaker_name(&self, message: &Message) -> Result<String, AgentError> {
        match &message.user {
            Some(user) => Ok(self.agent.poster.web.user_name(user).await?),
            None => Ok("somebody".to_owned()),
        }
    }
}

pub(crate) fn author(message: &Message, stamp: &Stamp, bots: &[String]) -> Author {
    match (stamp.from, &message.user, &message.bot_id) {
        (Some(_), _, _) | (None, Some(_), None) => Author::Ours,
        (None, _, bot) => Author::ForeignBot {
            allowed: bot.as_ref().is_some_and(|bot| bots.contains(bot)),
        },
    }
}
