//! When the next request would fill most of the window, the middle of the
//! conversation is replaced by a summary. The prompt, what [pins](crate::fold::pins)
//! keeps and the most recent pieces stay word for word; the log stays whole.

use std::sync::Arc;

use butler_protocol::{ModelMessage, ModelReply, Record, ReserveId};

use crate::{
    Effect, FailureKind, Machine, ModelCall, ModelFailure, Settle,
    asking::money::Purpose,
    fold::{BYTES_PER_TOKEN, label, pins::clip},
    machine::Doing,
    next_step::Step,
    words,
};

/// Bytes of one tool result in the transcript that is summarised.
const RESULT_BYTES: usize = 1500;
/// Bytes of one call's arguments there.
const ARGUMENT_BYTES: usize = 600;
/// Bytes of a summary that are kept.
const SUMMARY_BYTES: usize = 16_000;

impl Machine {
    /// Once per turn: a request that is still too long then has to be tried.
    pub(crate) fn compact(&mut self) -> Step {
        let limit =
            self.setup.models.window_tokens * u64::from(self.setup.limits.compact_percent) / 100;
        if self.state.round.since.summaries > 0 || self.state.talk.tokens() <= limit {
            return Step::Pass;
        }
        match self.covered() {
            Some(upto) => {
                self.reserve(Purpose::Summary { upto });
                Step::Wait
            }
            None => Step::Pass,
        }
    }

    /// The provider says the request is too long, whatever we counted.
    pub(crate) fn too_long(&mut self) {
        match self.covered() {
            Some(upto) if self.state.round.since.summaries == 0 => {
                self.reserve(Purpose::Summary { upto });
            }
            _ => self.fail(words::CONTEXT_TOO_LONG),
        }
    }

    /// The last line that the summary would cover: everything but the newest
    /// pieces, which may fill a quarter of the window (or be half of what there
    /// is, when a provider finds that too much), and nothing the model has not seen.
    fn covered(&self) -> Option<u64> {
        let pieces = self.state.talk.pieces();
        let room = (self.window_bytes() / 4).min(self.state.talk.bytes() / 2);
        let mut size = 0;
        let fitting = pieces.iter().rev().take_while(|piece| {
            size += piece.bytes;
            size <= room
        });
        let least = self.state.inbox.unseen.len() + 1;
        let kept = fitting.count().max(least);
        let (covered, kept) = pieces.split_at(pieces.len().checked_sub(kept)?);
        // What came too late for an answer is covered together with it.
        let first_kept = kept.first()?.last;
        let ends = covered.iter().rev().map(|piece| piece.last);
        ends.into_iter().find(|last| *last < first_kept)
    }

    fn window_bytes(&self) -> u64 {
        self.setup.models.window_tokens * BYTES_PER_TOKEN
    }

    /// Asks the model for the summary, without tools.
    pub(crate) fn summarise(&mut self, upto: u64, call: ModelCall) {
        self.doing = Doing::Summarising(call.reserve.clone(), upto);
        let text = self.transcript(upto);
        let prompt = ModelMessage::System {
            text: words::SUMMARY_PROMPT.to_owned(),
        };
        let transcript = ModelMessage::User {
            text,
            images: Vec::new(),
        };
        let messages = vec![Arc::new(prompt), Arc::new(transcript)];
        self.out.push(Effect::Summarise { call, messages });
    }

    pub(crate) fn on_summarised(
        &mut self,
        reserve: &ReserveId,
        result: Result<ModelReply, ModelFailure>,
    ) {
        let bill = match &result {
            Ok(reply) => Settle::reply(reserve, reply),
            Err(failure) => Settle::failure(reserve, failure),
        };
        let told = self.book(bill).map(Effect::Settle);
        let upto = match &self.doing {
            Doing::Summarising(id, upto) if id == reserve => *upto,
            _ => return self.out.extend(told),
        };
        self.doing = Doing::Nothing;
        if matches!(&result, Err(failure) if failure.kind == FailureKind::Cancelled) {
            return self.out.extend(told);
        }
        let written = result.ok().and_then(|reply| reply.text);
        let text = self.summary_text(upto, written.as_deref());
        self.append(Record::Summary { upto, text });
        self.out.extend(told);
        self.out.push(Effect::Chose {
            what: format!("the conversation up to line {upto} was summarised"),
            why: "the next request would have filled most of the model's window".to_owned(),
        });
        self.advance();
    }

    /// What code kept, then what the model wrote; without the latter, the ends
    /// of the transcript, so that a failed summary does not stop the work.
    fn summary_text(&self, upto: u64, written: Option<&str>) -> String {
        let window = usize::try_from(self.window_bytes()).unwrap_or(usize::MAX);
        let pins = self.state.pins.render(window / 5);
        let rest = match written {
            Some(text) => clip(text, SUMMARY_BYTES.min(window / 10)),
            None => format!(
                "(no summary could be written; this is what is left of the transcript)\n{}",
                clip(&self.transcript(upto), window / 10)
            ),
        };
        format!(
            "{}\n\n{pins}\n\n## What happened so far\n{}",
            words::SUMMARY_OPENING,
            label::escaped(&rest)
        )
    }

    /// The covered part as plain text: providers refuse tool messages in a
    /// request that offers no tools.
    fn transcript(&self, upto: u64) -> String {
        let pieces = self.state.talk.pieces().iter();
        let covered = pieces.take_while(|piece| piece.last <= upto);
        let earlier = self.state.talk.summary().map(str::to_owned);
        let messages = covered.flat_map(|piece| &piece.messages);
        let lines = messages.map(|message| line(message));
        let whole: Vec<String> = earlier.into_iter().chain(lines).collect();
        let room = usize::try_from(self.window_bytes() / 2).unwrap_or(usize::MAX);
        clip(&whole.join("\n"), room)
    }
}

fn line(message: &ModelMessage) -> String {
    match message {
        ModelMessage::System { text } | ModelMessage::User { text, .. } => {
            clip(text, RESULT_BYTES * 4)
        }
        ModelMessage::Tool { text, .. } => format!("result: {}", clip(text, RESULT_BYTES)),
        ModelMessage::Assistant { text, calls, .. } => {
            let said = text
                .as_ref()
                .map(|text| format!("you: {}", clip(text, RESULT_BYTES)));
            let called = calls.iter().map(|call| {
                let arguments = clip(&call.arguments.to_string(), ARGUMENT_BYTES);
                format!("you called {} {arguments}", call.name)
            });
            let lines: Vec<String> = said.into_iter().chain(called).collect();
            lines.join("\n")
        }
    }
}
