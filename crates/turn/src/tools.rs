//! The calls of an answer: which run, which are recovered after a crash, and
//! which are answered on the spot.

use butler_protocol::{ActivityState, CallId, Receipt, Record, RequestId, ToolCall, ToolOutcome};

use crate::{Effect, Interrupted, Machine, machine::Doing, next_step::Step, words};

impl Machine {
    /// Result there: used. Intent without result: recovered. Neither: run.
    pub(crate) fn run_tools(&mut self) -> Step {
        if self.state.round.open_calls().next().is_none() {
            return Step::Pass;
        }
        self.answer_on_the_spot();
        let mut run = Vec::new();
        let mut recover = Vec::new();
        for called in self.state.round.calls() {
            let call = called.call.clone();
            match (&called.outcome, &called.intent) {
                (Some(_), _) => {}
                (None, None) => run.push(call),
                (None, Some((crash, trace))) => recover.push(Interrupted {
                    call,
                    crash: *crash,
                    trace: trace.clone(),
                }),
            }
        }
        if run.is_empty() && recover.is_empty() {
            return Step::Again;
        }
        self.doing = Doing::Tools;
        self.out.push(Effect::Activity {
            state: ActivityState::Working,
            step: Some(step_text(
                run.iter().chain(recover.iter().map(|one| &one.call)),
            )),
        });
        if !recover.is_empty() {
            self.out.push(Effect::RecoverTools(recover));
        }
        if !run.is_empty() {
            self.out.push(Effect::RunTools(run));
        }
        Step::Wait
    }

    /// A call that could not be read, or that goes in circles, never reaches a
    /// tool. The tools on offer stay as they are, for the provider's cache.
    fn answer_on_the_spot(&mut self) {
        for call in self.state.open_calls() {
            let refused = self.state.round.stuck.refuses(&call);
            let text = match call.problem {
                Some(problem) => problem,
                None if refused => words::REFUSED.to_owned(),
                None => continue,
            };
            let outcome = ToolOutcome::error(text);
            let call = call.id;
            self.append(Record::ToolResult { call, outcome });
        }
    }

    pub(crate) fn on_tool_done(
        &mut self,
        call: &CallId,
        outcome: ToolOutcome,
        receipt: Option<Receipt>,
    ) {
        let approved = match &self.doing {
            Doing::CarryingOut(request) => Some(request.clone()),
            _ => None,
        };
        let approved = approved.filter(|request| RequestId::of(call) == *request);
        let open = self.state.round.open_calls().any(|open| open.id == *call);
        if !open && approved.is_none() {
            return;
        }
        if let Some(receipt) = receipt {
            self.append(Record::Checked { receipt });
        }
        if let Some(request) = approved {
            return self.on_carried_out(&request, outcome);
        }
        let call = call.clone();
        self.append(Record::ToolResult { call, outcome });
        if self.state.round.open_calls().next().is_none() && self.doing == Doing::Tools {
            self.doing = Doing::Nothing;
            self.advance();
        }
    }
}

fn step_text<'a>(calls: impl Iterator<Item = &'a ToolCall>) -> String {
    let names: Vec<&str> = calls.map(|call| call.name.as_str()).collect();
    format!("running {}", names.join(", "))
}
