//! What a message or a press means for a thread's draft, before anybody else
//! hears of it. All roles keep the same lines; only the PM speaks.

use butler_policy::Duty;
use butler_protocol::{EventId, MessageTs, Speaker, Stamp, ThreadId, UserId};
use butler_slack::{BlockAction, Envelope, Message, mrkdwn};
use butler_turn::route::{Addressed, Command};

use crate::{
    AgentError,
    listen::{
        control_words,
        draft::{self, Line, Notes, Verb},
        intake::{Intake, Routed},
        triage,
        work_key::WorkKey,
    },
    tell::offers,
};

const OPENED: &str = "I collect what you write in this thread and do nothing with it. `!done` makes \
    one request of it, which you can then send, refine or discard.";

/// What came of a message.
pub(crate) enum Drafting {
    /// It has nothing to do with a draft.
    None,
    /// It belongs to one, and to nobody else.
    Kept,
    /// The draft is whole.
    Whole(Notes),
}

impl Intake {
    /// Looks whether a person's message belongs to a draft.
    pub(crate) async fn drafting(
        &self,
        thread: &ThreadId,
        envelope: &Envelope,
        message: &Message,
        stamp: &Stamp,
        to: &Addressed,
    ) -> Result<Drafting, AgentError> {
        let Some(user) = message.user.as_ref().filter(|_| stamp.from.is_none()) else {
            return Ok(Drafting::None);
        };
        let event = envelope.event_id();
        let known = draft::read(&self.agent.threads(), thread, self.agent.role());
        match to {
            Addressed::Command(Command::Draft(text)) => {
                if !self.is_allowed(thread, message, stamp).await? {
                    return Ok(Drafting::Kept);
                }
                if !known.knows(&event) {
                    self.open(thread, user, &event, text)?;
                }
                if Duty::Front.is_of(self.agent.role()) {
                    let poster = &self.agent.poster;
                    offers::void(poster, thread, &message.ts, offers::is_draft).await?;
                }
                self.speak(thread, message, OPENED).await?;
                Ok(Drafting::Kept)
            }
            Addressed::Command(Command::Done) => self.done(thread, message, user, &event).await,
            // Stop, help and the like are never notes.
            Addressed::Command(_) => Ok(Drafting::None),
            _ if known.knows(&event) => Ok(Drafting::Kept),
            _ if known.collects(user) => {
                let text = mrkdwn::plain(&message.text);
                self.keep(thread, &Line::Said { event, text })?;
                Ok(Drafting::Kept)
            }
            _ => Ok(Drafting::None),
        }
    }

    fn open(
        &self,
        thread: &ThreadId,
        user: &UserId,
        event: &EventId,
        text: &str,
    ) -> Result<(), AgentError> {
        let user = user.clone();
        let opened = Line::Opened {
            user,
            event: event.clone(),
        };
        self.keep(thread, &opened)?;
        if text.is_empty() {
            return Ok(());
        }
        let said = Line::Said {
            event: EventId::new(format!("{event}-text")),
            text: mrkdwn::plain(text),
        };
        self.keep(thread, &said)
    }

    async fn done(
        &self,
        thread: &ThreadId,
        message: &Message,
        user: &UserId,
        event: &EventId,
    ) -> Result<Drafting, AgentError> {
        let known = || draft::read(&self.agent.threads(), thread, self.agent.role());
        let mut draft = known();
        let ts = message.ts.clone();
        if !draft.knows(event) {
            if !draft.collects(user) {
                let text = "You have no draft open in this thread; `!draft` begins one.";
                self.speak(thread, message, text).await?;
                return Ok(Drafting::Kept);
            }
            if Duty::Front.is_of(self.agent.role()) && draft.parts.is_empty() {
                let text = "There is nothing in the draft yet: write what you want, then `!done`.";
                self.speak(thread, message, text).await?;
                return Ok(Drafting::Kept);
            }
            let event = event.clone();
            self.keep(
                thread,
                &Line::Done {
                    event,
                    ts: ts.clone(),
                },
            )?;
            draft = known();
        }
        // The same message again is the same request, as long as nothing came of it.
        if Duty::Front.is_of(self.agent.role()) && draft.done.as_ref() == Some(&ts) {
            let parts = draft.parts;
            return Ok(Drafting::Whole(Notes { ts, parts }));
        }
        Ok(Drafting::Kept)
    }

    /// Send, Refine or Discard under the request.
    pub(crate) async fn draft_pressed(
        &self,
        envelope: &Envelope,
        action: &BlockAction,
        verb: Verb,
        done: &MessageTs,
    ) -> Routed {
        let agent = &self.agent;
        let thread = &action.thread;
        let event = envelope.event_id();
        let known = draft::read(&agent.threads(), thread, agent.role());
        let takes = known.takes(done, &action.user, &event);
        if takes && !known.knows(&event) {
            let event = event.clone();
            self.keep(thread, &Line::Pressed { event, verb })?;
        }
        if !Duty::Front.is_of(agent.role()) {
            return Ok(None);
        }
        let name = agent.poster.web.user_name(&action.user).await?;
        // Somebody else's press does not end it.
        if takes || !known.is_open(done) {
            offers::used(&agent.poster, action, &name).await?;
        }
        let text = match (takes, verb, known.request.clone()) {
            (true, Verb::Send, Some(request)) => {
                let user = action.user.clone();
                let mail = triage::spoken(envelope, Speaker::Person { user, name }, request);
                return Ok(Some((WorkKey::thread(thread.clone()), mail)));
            }
            (true, Verb::Discard, _) => "Discarded; nothing was started.",
            (true, _, _) => "Go on: write what should be different, then `!done`.",
            (false, ..) if known.knows(&event) => return Ok(None),
            (false, ..) => "That draft is over, or somebody else's. `!draft` begins a new one.",
        };
        control_words::answer(agent, thread, done, &format!("draft-{event}"), text).await?;
        Ok(None)
    }

    fn keep(&self, thread: &ThreadId, line: &Line) -> Result<(), AgentError> {
        let agent = &self.agent;
        draft::write(&agent.threads(), thread, agent.role(), line)
    }

    async fn speak(&self, thread: &ThreadId, to: &Message, text: &str) -> Result<(), AgentError> {
        if Duty::Front.is_of(self.agent.role()) {
            control_words::answer(&self.agent, thread, &to.ts, "draft", text).await?;
        }
        Ok(())
    }
}
