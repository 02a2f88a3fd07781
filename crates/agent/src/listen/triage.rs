//! What a message of a person means before any model reads it: a word for the
//! runtime, a press of a button that decides nothing, somebody who may not ask.

use butler_policy::{Duty, Word, is_lasting, meanings, without_mentions};
use butler_protocol::{MessageTs, PersonAct, Speaker, Stamp, StampKind, ThreadId, UserId};
use butler_slack::{Envelope, Event, Message, mrkdwn};
use butler_turn::{
    Edited, Heard,
    route::{Addressed, Command, Ear, addressed},
};
use serde::Deserialize;

use crate::{
    Agent, AgentError,
    decide::person_actions::{self, Asked},
    listen::{
        buttons, control_words,
        intake::{Intake, Mail, Routed, author},
        restart,
        work_key::WorkKey,
    },
    tell::{offers, thread_logs, thread_status},
    upkeep::garbage,
};

const NOT_ALLOWED: &str = "I may work only for the people named in `limits.allowedUsers` of this repository. Ask one of them, or have yourself added.";

/// A press that says something.
pub(crate) fn spoken(envelope: &Envelope, speaker: Speaker, text: String) -> Mail {
    Mail::words(Heard {
        event: envelope.event_id(),
        ts: None,
        speaker,
        text,
        images: Vec::new(),
    })
}

/// Whether a person may ask for work; who may not is told so.
pub(crate) async fn may_ask(
    agent: &Agent,
    thread: &ThreadId,
    user: &UserId,
    said: &MessageTs,
) -> Result<bool, AgentError> {
    let may = agent.rules().access.allows(user);
    if !may {
        control_words::answer(agent, thread, said, "not-allowed", NOT_ALLOWED).await?;
    }
    Ok(may)
}

impl Intake {
    /// A word for the runtime.
    pub(crate) async fn command(
        &self,
        thread: ThreadId,
        message: &Message,
        command: Command,
    ) -> Routed {
        let by = self.speaker_name(message).await?;
        let agent = &self.agent;
        match command {
            Command::Model { name, .. } => match control_words::model(agent, &name) {
                Ok(model) => {
                    let mail = Mail::Model { model, by };
                    Ok(Some((WorkKey::thread(thread), mail)))
                }
                Err(problem) => {
                    control_words::answer(agent, &thread, &message.ts, "model", &problem).await?;
                    Ok(None)
                }
            },
            Command::Restart => {
                restart::asked(agent, &thread, message).await?;
                Ok(None)
            }
            other => {
                control_words::obey(agent, &thread, &message.ts, &other, &by).await?;
                Ok(None)
            }
        }
    }

    /// A word for the whole team, said in a thread of another process, which answers it.
    pub(crate) async fn told(&self, envelope: &Envelope, stamp: &Stamp) -> Result<(), AgentError> {
        let told = &envelope.payload["event"]["message"];
        let Ok(message) = Message::deserialize(told) else {
            return Ok(());
        };
        let rules = self.agent.rules();
        let access = &rules.access;
        let ear = Ear {
            role: self.agent.role(),
            bot: self.agent.bot.as_ref(),
            respond_to: access.respond_to,
        };
        let author = author(&message, stamp, &access.allowed_bots);
        let may = |user| access.allows(user);
        match addressed(&ear, stamp, author, &message.text, false) {
            Addressed::Command(_) if !message.user.as_ref().is_none_or(may) => Ok(()),
            Addressed::Command(Command::Restart) => {
                restart::obey(&self.agent, &message);
                Ok(())
            }
            Addressed::Command(command) => {
                let by = self.speaker_name(&message).await?;
                control_words::rest(&self.agent, &command, &by)
            }
            _ => Ok(()),
        }
    }

    /// A button that decides nothing says something instead.
    pub(crate) async fn button(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        let Some(action) = envelope.action() else {
            return Ok(None);
        };
        if !self.agent.rules().access.allows(&action.user) {
            if stamp.to.contains(&self.agent.role()) {
                let what = format!("not-allowed-{}", action.user);
                control_words::answer(
                    &self.agent,
                    &action.thread,
                    &action.message,
                    &what,
                    NOT_ALLOWED,
                )
                .await?;
            }
            return Ok(None);
        }
        if let Some((verb, done)) = buttons::drafted(&action.action_id) {
            return self.draft_pressed(envelope, &action, verb, &done).await;
        }
        if !stamp.to.contains(&self.agent.role()) {
            return Ok(None);
        }
        if let Some((keep, last)) = buttons::about_silence(&action.action_id) {
            let who = self.agent.poster.web.user_name(&action.user).await?;
            let question = (&action.thread, &last);
            garbage::pressed(&self.agent, question, keep, &who).await?;
            offers::used(&self.agent.poster, &action, &who).await?;
            return Ok(None);
        }
        if let Some(what) = person_actions::pressed(&action.action_id) {
            let name = self.agent.poster.web.user_name(&action.user).await?;
            let key = envelope.event_id().to_string();
            let words = String::new();
            let asked = Box::new(Asked {
                what,
                name,
                key,
                words,
            });
            let mail = Mail::Act(asked);
            return Ok(Some((WorkKey::thread(action.thread), mail)));
        }
        let Some(text) = buttons::words(&action.action_id) else {
            return Ok(None);
        };
        let name = self.agent.poster.web.user_name(&action.user).await?;
        offers::used(&self.agent.poster, &action, &name).await?;
        let speaker = Speaker::Person {
            user: action.user,
            name,
        };
        let mail = spoken(envelope, speaker, text);
        Ok(Some((WorkKey::thread(action.thread), mail)))
    }

    /// A word that the hub has stamped as an act on the thread.
    pub(crate) async fn act(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        let act = stamp.reference.as_deref().map(str::parse);
        let (Some(Ok(what)), Some(Event::Message { channel, message })) = (act, envelope.event())
        else {
            return Ok(None);
        };
        let thread = message.thread(&channel);
        let ours = stamp.to.contains(&self.agent.role()) && stamp.from.is_none();
        if !ours || !self.is_allowed(&thread, &message, stamp).await? {
            return Ok(None);
        }
        let name = self.speaker_name(&message).await?;
        let key = message.ts.to_string();
        let bot = self.agent.bot.as_ref();
        let words = mrkdwn::plain(&message.text);
        let words = without_mentions(&words, bot).to_owned();
        let asked = Box::new(Asked {
            what,
            name,
            key,
            words,
        });
        Ok(Some((WorkKey::thread(thread), Mail::Act(asked))))
    }

    /// A rule that a person gives somebody at work is not lost with the thread: the
    /// role that keeps what is remembered puts it before them, while the other heeds it.
    pub(crate) async fn lasting(
        &self,
        thread: &ThreadId,
        message: &Message,
        stamp: &Stamp,
    ) -> Routed {
        let persons = stamp.from.is_none() && message.user.is_some() && message.bot_id.is_none();
        let keeps = Duty::Remember.is_of(self.agent.role()) && stamp.kind == StampKind::Message;
        let (Some(active), true) = (stamp.active, persons && keeps) else {
            return Ok(None);
        };
        let text = mrkdwn::plain(&message.text);
        let said = without_mentions(&text, self.agent.bot.as_ref());
        if !is_lasting(said) || !self.is_allowed(thread, message, stamp).await? {
            return Ok(None);
        }
        let asked = Box::new(Asked {
            what: PersonAct::Remember,
            name: self.speaker_name(message).await?,
            key: message.ts.to_string(),
            words: format!("remember for {active}: {said}"),
        });
        let mail = Mail::Act(asked);
        Ok(Some((WorkKey::thread(thread.clone()), mail)))
    }

    /// A person changed or deleted a message. It fires on unfurls, on replies and
    /// on our own updates too; only other words of a person count, and only where
    /// this role has a log.
    pub(crate) async fn edited(&self, envelope: &Envelope, stamp: &Stamp) -> Routed {
        let (channel, ts, was, now) = match envelope.event() {
            Some(Event::Changed {
                channel,
                message,
                previous,
            }) => (channel, message.ts.clone(), previous, Some(message)),
            Some(Event::Deleted {
                channel,
                ts,
                previous,
            }) => (channel, ts, previous, None),
            _ => return Ok(None),
        };
        let Some(was) = was.filter(|was| stamp.from.is_none() && was.bot_id.is_none()) else {
            return Ok(None);
        };
        let same = now.as_ref().is_some_and(|now| now.text == was.text);
        let work_key = WorkKey::thread(was.thread(&channel));
        let log = work_key.log(&self.agent.threads(), self.agent.role());
        let Some(user) = was.user.filter(|_| !same && log.exists()) else {
            return Ok(None);
        };
        let name = self.agent.poster.web.user_name(&user).await?;
        let change = Edited {
            event: envelope.event_id(),
            ts,
            speaker: Speaker::Person { user, name },
            text: now.map(|now| mrkdwn::plain(&now.text)),
        };
        Ok(Some((work_key, Mail::Edited(Box::new(change)))))
    }

    /// People who may not ask for work are told so, by whoever they spoke to.
    pub(crate) async fn is_allowed(
        &self,
        thread: &ThreadId,
        message: &Message,
        stamp: &Stamp,
    ) -> Result<bool, AgentError> {
        match message.user.as_ref().filter(|_| stamp.from.is_none()) {
            Some(user) => may_ask(&self.agent, thread, user, &message.ts).await,
            None => Ok(true),
        }
    }

    /// A bare word while several cards are open: the person is asked which.
    pub(crate) async fn asks_which(
        &self,
        thread: &ThreadId,
        message: &Message,
        stamp: &Stamp,
    ) -> Result<bool, AgentError> {
        let answers = [Word::Yes, Word::No, Word::Merge];
        let said = meanings(&mrkdwn::plain(&message.text));
        if stamp.from.is_some() || !said.iter().any(|word| answers.contains(word)) {
            return Ok(false);
        }
        let cards = thread_status::open_cards(&thread_logs::of_thread(&self.agent, thread).await?);
        if cards.len() < 2 {
            return Ok(false);
        }
        let text = thread_status::which(&cards);
        control_words::answer(&self.agent, thread, &message.ts, "which", &text).await?;
        Ok(true)
    }
}
