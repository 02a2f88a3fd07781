//! What a message of a person means before any model reads it: a word for the
//! runtime, a press of a button that decides nothing, somebody who may not ask.

use butler_policy::{Word, meanings};
use butler_slack::{Envelope, Message, mrkdwn};
use butler_turn::{Heard, route::Command};
use butler_vocab::{Speaker, Stamp, ThreadId};

use crate::{
    TeamError, buttons,
    intake::{Intake, Mail},
    matter::Matter,
    standing, words,
};

/// A press that says something.
pub fn spoken(envelope: &Envelope, speaker: Speaker, text: String) -> Mail {
    Mail::Heard {
        heard: Heard {
            event: envelope.event_id(),
            ts: None,
            speaker,
            text,
            images: Vec::new(),
        },
        hand_over: None,
        ack: None,
    }
}

impl Intake {
    /// A word for the runtime.
    pub(crate) async fn command(
        &self,
        thread: ThreadId,
        message: &Message,
        command: Command,
    ) -> Result<Option<(Matter, Mail)>, TeamError> {
        let by = self.speaker_name(message).await?;
        let office = &self.office;
        let ack = None;
        match command {
            Command::Stop => Ok(Some((Matter::thread(thread), Mail::Stop { by, ack }))),
            Command::Model { name, .. } => match words::model(office, &name) {
                Ok(model) => {
                    let mail = Mail::Model { model, by, ack };
                    Ok(Some((Matter::thread(thread), mail)))
                }
                Err(problem) => {
                    words::answer(office, &thread, &message.ts, "model", &problem).await?;
                    Ok(None)
                }
            },
            other => {
                words::obey(office, &thread, &message.ts, &other, &by).await?;
                Ok(None)
            }
        }
    }

    /// A button that decides nothing says something instead.
    pub(crate) async fn button(
        &self,
        envelope: &Envelope,
        stamp: &Stamp,
    ) -> Result<Option<(Matter, Mail)>, TeamError> {
        let Some(action) = envelope.action() else {
            return Ok(None);
        };
        if let Some((verb, done)) = buttons::drafted(&action.action_id) {
            return self.draft_pressed(envelope, &action, verb, &done).await;
        }
        let Some(text) = buttons::words(&action.action_id) else {
            return Ok(None);
        };
        if !stamp.to.contains(&self.office.role()) {
            return Ok(None);
        }
        let name = self.office.line.web.user_name(&action.user).await?;
        let speaker = Speaker::Person {
            user: action.user,
            name,
        };
        let mail = spoken(envelope, speaker, text);
        Ok(Some((Matter::thread(action.thread), mail)))
    }

    /// People who may not ask for work are told so, by whoever they spoke to.
    pub(crate) async fn is_allowed(
        &self,
        thread: &ThreadId,
        message: &Message,
        stamp: &Stamp,
    ) -> Result<bool, TeamError> {
        let allowed = &self.office.config.allowed;
        let Some(user) = message.user.as_ref().filter(|_| stamp.from.is_none()) else {
            return Ok(true);
        };
        if allowed.is_empty() || allowed.contains(user) {
            return Ok(true);
        }
        let text = "I may work only for the people named in `limits.allowedUsers` of this repository. Ask one of them, or have yourself added.";
        words::answer(&self.office, thread, &message.ts, "not-allowed", text).await?;
        Ok(false)
    }

    /// A bare word while several cards are open: the person is asked which.
    pub(crate) async fn asks_which(
        &self,
        thread: &ThreadId,
        message: &Message,
        stamp: &Stamp,
    ) -> Result<bool, TeamError> {
        let answers = [Word::Yes, Word::No, Word::Merge];
        let said = meanings(&mrkdwn::plain(&message.text));
        if stamp.from.is_some() || !said.iter().any(|word| answers.contains(word)) {
            return Ok(false);
        }
        let cards = standing::open_cards(&standing::of_thread(&self.office.threads(), thread));
        if cards.len() < 2 {
            return Ok(false);
        }
        let text = standing::which(&cards);
        words::answer(&self.office, thread, &message.ts, "which", &text).await?;
        Ok(true)
    }
}
