//! What the model answered, or why it did not.

pub(crate) mod money;
pub(crate) mod reply;
pub(crate) mod stuck;

use butler_protocol::{ModelReply, Record, RepliedCall, ReserveId, ToolCall};

use crate::{
    Effect, FailureKind, Machine, ModelFailure, Settle,
    asking::{reply::marked_as_cut, stuck::Escape},
    machine::Doing,
    next_step::Step,
};

/// Red runs of the checks in a row before a stronger model takes over.
const RED_CHECKS: u32 = 3;

impl Machine {
    /// The bill is written before the answer: if a crash keeps only one of
    /// them, the answer is asked for again and nothing is paid twice unseen.
    pub(crate) fn on_replied(&mut self, reserve: &ReserveId, reply: ModelReply) {
        let mine = self.doing == Doing::Calling(reserve.clone());
        let told = self
            .book(Settle::reply(reserve, &reply))
            .map(Effect::Settle);
        if !mine {
            self.out.extend(told);
            return;
        }
        self.doing = Doing::Nothing;
        let turn = self.state.round.turn + 1;
        let calls = self.named(reply.calls);
        let only_text = calls.is_empty();
        let progress = reply.text.clone().filter(|_| !only_text);
        let text = match reply.text {
            text if only_text && reply.cut => Some(marked_as_cut(text.as_deref())),
            text => text,
        };
        let record = Record::Assistant {
            turn,
            text,
            calls,
            reasoning: reply.reasoning,
            model: reply.model,
            usage: reply.usage,
        };
        self.append(record);
        self.out.extend(told);
        self.out.extend(progress.map(Effect::Progress));
        self.advance();
    }

    /// Gives each call our own id, made from its place.
    fn named(&self, calls: Vec<RepliedCall>) -> Vec<ToolCall> {
        let with_index = (0u32..).zip(calls);
        with_index
            .map(|(index, call)| ToolCall {
                id: self.next_origin(index).call(),
                name: call.name,
                arguments: call.arguments,
                problem: call.problem,
            })
            .collect()
    }

    pub(crate) fn on_model_failed(&mut self, reserve: &ReserveId, failure: &ModelFailure) {
        let mine = self.doing == Doing::Calling(reserve.clone());
        self.settle(Settle::failure(reserve, failure));
        if !mine {
            return;
        }
        self.doing = Doing::Nothing;
        match failure.kind {
            FailureKind::Cancelled => {}
            FailureKind::ContextTooLong => self.too_long(),
            FailureKind::Unavailable if self.fall_back(&failure.text) => self.advance(),
            FailureKind::Unavailable | FailureKind::Refused => self.fail(&failure.text),
        }
    }

    /// Lets the fallback model answer from here on; false when there is none left.
    pub(crate) fn fall_back(&mut self, why: &str) -> bool {
        let Some(model) = self.setup.models.fallback.clone() else {
            return false;
        };
        if self.model() == model || self.state.round.models.contains(&model) {
            return false;
        }
        self.switch(model, why);
        true
    }

    /// Moves up to the stronger model, once, when the usual one does not get on.
    pub(crate) fn raise_model(&mut self) -> Step {
        let Some(model) = self.setup.models.stronger.clone() else {
            return Step::Pass;
        };
        let round = &self.state.round;
        if self.model() == model || round.models.contains(&model) {
            return Step::Pass;
        }
        let why = if round.stuck.escape() >= Escape::Refuse {
            "going in circles, and two hints did not help"
        } else if round.red_checks >= RED_CHECKS {
            "the checks keep failing"
        } else if round.turn > 0 && round.turn * 2 >= self.setup.limits.max_turns {
            "half of the turns are used"
        } else {
            return Step::Pass;
        };
        self.switch(model, why);
        Step::Again
    }

    pub(crate) fn switch(&mut self, model: String, why: &str) {
        self.out.push(Effect::Chose {
            what: format!("{model} answers from here on"),
            why: why.to_owned(),
        });
        let record = Record::Model {
            model,
            reason: why.to_owned(),
            asked_for: false,
        };
        self.append(record);
    }
}
