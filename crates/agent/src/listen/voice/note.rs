//! One recording to words: set aside, asked, kept, settled, told, in this order. What was
//! heard is kept with the thread's files before it is settled, so that it is paid once; a
//! process that died afterwards settles and tells again, which changes nothing.

use butler_model::{ModelClient, ModelError, Recording, Transcript};
use butler_protocol::{
    Idem, Record, Reservation, ReserveId, Settlement, ThreadId, TokenUsage, Usd, UserId,
};
use butler_slack::File;
use butler_tools::{Attached, recording_ending};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, AgentError, Transcription,
    thread::{
        side_call::{self, record, set_aside},
        worker::attached,
    },
};

const NOT_SET_UP: &str = "I cannot listen to voice notes here: no model is set up for that \
    (`models.transcription` in `.codebutler/config.json`). Please write it.";

/// A recording that somebody sent.
pub(super) struct Note<'a> {
    pub(super) agent: &'a Agent,
    pub(super) thread: &'a ThreadId,
    pub(super) user: &'a UserId,
    pub(super) file: &'a File,
}

/// What was said in it, and the bill.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Said {
    text: String,
    paid: Settlement,
}

impl Note<'_> {
    /// The words, and what this role paid for them; nothing when there are none to be had.
    pub(super) async fn written_down(
        &self,
        life: &CancellationToken,
    ) -> Result<Option<(String, Option<Record>)>, AgentError> {
        if let Some(said) = self.kept().await {
            // Another role of this machine has listened, paid and told.
            if said.paid.id != self.id() {
                return Ok(Some((said.text, None)));
            }
            return self.done(said).await.map(Some);
        }
        let bytes = match self.agent.poster.web.file(&self.file.id).await {
            Ok(bytes) => bytes,
            // Gone or too large: the role is told of the file itself.
            Err(error) if error.refusal().is_some() && !error.is_unclear() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(ending) = recording_ending(&bytes) else {
            return Ok(None);
        };
        let rules = self.agent.rules();
        let Some(with) = &rules.models.transcription else {
            let key = format!("{}-no-voice-{}", self.agent.role(), self.user);
            self.tell(Idem::new(key), NOT_SET_UP).await?;
            return Ok(None);
        };
        let worst = with.worst_case(bytes.len());
        if let Err(reason) = set_aside(&self.agent.poster, &self.reservation(worst)).await? {
            let text = format!("I did not listen to `{}`: {reason}.", self.file.name);
            self.tell(self.key(), &text).await?;
            return Ok(None);
        }
        let recording = Recording {
            model: &with.model,
            ending,
            bytes: &bytes,
        };
        let asked = match ModelClient::new(with.client.clone()) {
            Ok(client) => client.transcribe(recording, life).await,
            Err(error) => Err(error),
        };
        match asked {
            // Not settled: the message is delivered again, and it is asked again.
            Err(error @ ModelError::Cancelled { .. }) => Err(error.into()),
            Err(error) => {
                let paid = self.bill(with, may_cost(&error, worst), TokenUsage::default());
                self.agent.poster.control.settle(&paid).await?;
                let text = format!("I could not listen to `{}`: {error}", self.file.name);
                self.tell(self.key(), &text).await?;
                Ok(Some((String::new(), Some(record(paid)))))
            }
            Ok(said) => {
                let paid = self.bill(with, cost(&said, with), said.usage);
                let text = said.text;
                let said = Said { text, paid };
                self.keep(&said).await;
                self.done(said).await.map(Some)
            }
        }
    }

    /// Settled at the hub and told in the thread.
    async fn done(&self, said: Said) -> Result<(String, Option<Record>), AgentError> {
        let Said { text, paid } = said;
        self.agent.poster.control.settle(&paid).await?;
        let by = format!("_written down by `{}`, {}_", paid.model, paid.cost);
        if text.is_empty() {
            let told = format!("I heard no words in `{}`. {by}", self.file.name);
            self.tell(self.key(), &told).await?;
        } else {
            let told = format!("Heard:\n> {}\n\n{by}", text.replace('\n', "\n> "));
            let poster = &self.agent.poster;
            poster
                .say_heard(self.thread, self.key(), &told, &self.file.id)
                .await?;
        }
        Ok((text, Some(record(paid))))
    }

    async fn tell(&self, key: Idem, text: &str) -> Result<(), AgentError> {
        let poster = &self.agent.poster;
        poster.say(self.thread, key, text).await?;
        Ok(())
    }

    /// The same note for the same role has the same name after a crash.
    fn id(&self) -> ReserveId {
        let (short, role) = (self.thread.short(), self.agent.role());
        ReserveId::new(format!("{short}-{role}-heard-{}", self.file.id))
    }

    fn key(&self) -> Idem {
        Idem::new(self.id().to_string())
    }

    fn reservation(&self, amount: Usd) -> Reservation {
        Reservation {
            id: self.id(),
            thread: self.thread.clone(),
            person: Some(self.user.clone()),
            amount,
            heard: None,
        }
    }

    fn bill(&self, with: &Transcription, cost: Usd, usage: TokenUsage) -> Settlement {
        Settlement {
            id: self.id(),
            cost,
            usage,
            model: with.model.clone(),
        }
    }

    fn folder(&self) -> (Attached, String) {
        let folder = attached::folder_of(self.agent, &self.thread.short());
        (folder, format!("{}.json", self.file.id))
    }

    async fn kept(&self) -> Option<Said> {
        let (folder, name) = self.folder();
        side_call::kept(&folder, "heard", &name).await
    }

    async fn keep(&self, said: &Said) {
        let (folder, name) = self.folder();
        side_call::keep(folder, "heard", &name, said).await;
    }
}

/// What the endpoint says it charged, else by length, else by tokens.
fn cost(said: &Transcript, with: &Transcription) -> Usd {
    let counted = said.usage != TokenUsage::default();
    match (said.billed, said.seconds) {
        (Some(billed), _) => billed,
        (None, Some(seconds)) => with.for_seconds(seconds),
        (None, None) if counted => {
            let upper = &with.client.upper_price;
            with.client
                .prices
                .cost(&with.model, &said.usage, None, upper)
        }
        (None, None) => Usd::ZERO,
    }
}

/// What a failed call may have cost. An answer that was on its way or cannot be read may
/// have been charged for: the worst case is booked, so that a cap stays a cap.
fn may_cost(error: &ModelError, worst: Usd) -> Usd {
    match error {
        ModelError::Timeout(_) | ModelError::Malformed(_) => worst,
        _ => Usd::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use butler_model::{ErrorClass, Trouble};

    use super::*;

    #[test]
    fn an_answer_that_was_lost_may_have_been_charged_for() {
        let worst = Usd::from_cents(3);
        let failed = |class: ErrorClass| class.with(Trouble::new("whisper", "no"));
        for class in [ErrorClass::Timeout, ErrorClass::Malformed] {
            assert_eq!(may_cost(&failed(class), worst), worst, "{class:?}");
        }
        for class in [
            ErrorClass::Overloaded,
            ErrorClass::RateLimited,
            ErrorClass::Auth,
            ErrorClass::Rejected,
        ] {
            assert_eq!(may_cost(&failed(class), worst), Usd::ZERO, "{class:?}");
        }
        let nobody = ModelError::Unreachable(Trouble::new("whisper", "refused"));
        assert_eq!(may_cost(&nobody, worst), Usd::ZERO);
    }
}
