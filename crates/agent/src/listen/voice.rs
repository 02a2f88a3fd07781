//! Voice notes: written down before it is decided whom a message is for, so that spoken
//! words route, steer and go into drafts like typed ones. The words are posted under the
//! note with what they cost. A recording that is not for this role costs nothing.
//!
//! The loop goes on meanwhile: the hub holds back the rest of the thread until the
//! message is acknowledged, and delivers it again if this process dies.

mod note;

use std::{collections::HashSet, sync::Arc};

use butler_policy::Duty;
use butler_protocol::{EventId, Record, Stamp, StampKind, ThreadId, UserId};
use butler_slack::{Envelope, Event, File, Message, mrkdwn};
use butler_turn::route::{Addressed, Ear, addressed};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use self::note::Note;
use crate::{
    Agent, AgentError,
    listen::{draft, intake},
    tell::joining,
};

/// A message whose recordings were listened to, and what that cost.
pub(crate) struct Listened {
    pub(crate) envelope: Envelope,
    pub(crate) paid: Vec<Record>,
}

impl Listened {
    /// A message without a recording.
    pub(crate) const fn unspoken(envelope: Envelope) -> Self {
        let paid = Vec::new();
        Self { envelope, paid }
    }
}

/// Listens to recordings, each in a task of its own.
pub(crate) struct Voices {
    agent: Arc<Agent>,
    back: mpsc::Sender<Listened>,
    under_way: HashSet<EventId>,
    tasks: JoinSet<EventId>,
    life: CancellationToken,
}

impl Voices {
    /// What was listened to comes back through `back`.
    pub(crate) fn new(
        agent: Arc<Agent>,
        back: mpsc::Sender<Listened>,
        life: CancellationToken,
    ) -> Self {
        Self {
            agent,
            back,
            under_way: HashSet::new(),
            tasks: JoinSet::new(),
            life,
        }
    }

    /// Takes a person's message with a recording; gives every other one back.
    pub(crate) fn take(&mut self, mut envelope: Envelope) -> Option<Envelope> {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(event) => self.under_way.remove(&event),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            };
        }
        let Some((message, thread)) = spoken(&envelope) else {
            return Some(envelope);
        };
        let event = envelope.event_id();
        // Delivered again while we listen.
        if !self.under_way.insert(event.clone()) {
            return None;
        }
        let (agent, back, life) = (
            Arc::clone(&self.agent),
            self.back.clone(),
            self.life.clone(),
        );
        self.tasks.spawn(async move {
            let listened = listen(&agent, &envelope, &message, &thread, &life).await;
            match listened {
                Ok((words, paid)) => {
                    let text = [message.text, mrkdwn::escape(&words)].join("\n");
                    envelope.payload["event"]["text"] = text.trim().into();
                    // Nobody is there any more when the process ends.
                    let _ = back.send(Listened { envelope, paid }).await;
                }
                // Not acknowledged: the hub delivers it again.
                Err(error) => warn!(%error, "a voice note could not be taken in"),
            }
            event
        });
        None
    }
}

/// The message of an envelope, when a person spoke in it.
fn spoken(envelope: &Envelope) -> Option<(Message, ThreadId)> {
    let stamp = envelope.stamp.as_ref()?;
    let Some(Event::Message { channel, message }) = envelope.event() else {
        return None;
    };
    let speaks = stamp.kind == StampKind::Message
        && stamp.from.is_none()
        && joining::files_of(&message).iter().any(may_be_recording);
    let thread = message.thread(&channel);
    speaks.then_some((*message, thread))
}

/// By what Slack and its name say; its bytes are looked at before they are sent anywhere.
fn may_be_recording(file: &File) -> bool {
    let ending = file.name.rsplit_once('.').map_or("", |(_, end)| end);
    let sounds = ["wav", "mp3", "m4a", "ogg", "oga", "flac", "webm", "mpga"];
    file.mimetype.starts_with("audio/")
        || file
            .extra
            .get("subtype")
            .is_some_and(|kind| kind == "slack_audio")
        || sounds.contains(&ending.to_ascii_lowercase().as_str())
}

/// All that was said in a message, and what it cost to know.
async fn listen(
    agent: &Agent,
    envelope: &Envelope,
    message: &Message,
    thread: &ThreadId,
    life: &CancellationToken,
) -> Result<(String, Vec<Record>), AgentError> {
    let (Some(stamp), Some(user)) = (&envelope.stamp, &message.user) else {
        return Ok(Default::default());
    };
    if !concerns(agent, stamp, message, thread, user).await? {
        return Ok(Default::default());
    }
    let mut words = Vec::new();
    let mut paid = Vec::new();
    for file in joining::files_of(message)
        .iter()
        .filter(|one| may_be_recording(one))
    {
        let note = Note {
            agent,
            thread,
            user,
            file,
        };
        if let Some((said, cost)) = note.written_down(life).await? {
            words.push(said);
            paid.extend(cost);
        }
    }
    Ok((words.join("\n"), paid))
}

/// Whether this role is to hear it: it is spoken to, or collects this person's draft.
async fn concerns(
    agent: &Agent,
    stamp: &Stamp,
    message: &Message,
    thread: &ThreadId,
    user: &UserId,
) -> Result<bool, AgentError> {
    let rules = agent.rules();
    if !rules.access.allows(user) {
        return Ok(false);
    }
    let ear = Ear {
        role: agent.role(),
        bot: agent.bot.as_ref(),
        respond_to: rules.access.respond_to,
    };
    let author = intake::author(message, stamp, &rules.access.allowed_bots);
    let begun = agent
        .poster
        .control
        .logs(thread, &["activation_started"])
        .await?;
    let to = addressed(&ear, stamp, author, &message.text, !begun.is_empty());
    let collects = || draft::read(&agent.threads(), thread, agent.role()).collects(user);
    Ok(match to {
        Addressed::Me | Addressed::Steers => true,
        Addressed::No => Duty::Front.is_of(agent.role()) && collects(),
        Addressed::Command(_) => false,
    })
}
