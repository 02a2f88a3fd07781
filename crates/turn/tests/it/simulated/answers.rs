//! What is in flight comes back: money, models, tools, posts, cards.

use butler_protocol::{
    CallId, Choice, CrashClass, DecisionKind, Record, Then, ToolCall, ToolOutcome, Usd, Waiting,
};
use butler_turn::{Effect, Event, FailureKind, Interrupted, ModelCall, Order};

use super::{
    driver::{Op, World},
    people,
};

impl World {
    pub(crate) fn finish_any(&mut self) -> bool {
        match self.ops.pop() {
            Some(op) => {
                self.finish(op);
                true
            }
            None => false,
        }
    }

    pub(crate) fn finish(&mut self, op: Op) {
        match op {
            Op::Reserved(reserve, answer) => self.feed(Event::Reserved { reserve, answer }),
            Op::Model(call) => self.answer(call),
            Op::Summary(call) => {
                let cost = self.charged[&call.reserve];
                let result = if self.dice.percent(80) {
                    let mut reply = crate::harness::text("a summary");
                    reply.cost = Usd::from_nanos(cost);
                    Ok(reply)
                } else {
                    Err(people::failure(FailureKind::Unavailable, cost))
                };
                let reserve = call.reserve;
                self.feed(Event::Summarised { reserve, result });
            }
            Op::Tool { call, ran: None } => {
                let outcome = self.run(&call);
                self.ops.push(Op::Tool {
                    call,
                    ran: Some(outcome),
                });
            }
            Op::Tool {
                call,
                ran: Some(outcome),
            } => self.tool_done(call.id, outcome),
            Op::Recover(interrupted) => self.recover(interrupted),
            Op::Posted(idem) => {
                let ts = "1700000000.000900".parse().unwrap();
                self.feed(Event::Posted { idem, ts });
            }
            Op::Asked(request) => self.feed(Event::Asked { request }),
            Op::CarriedOut(order) => self.carried_out(order),
        }
    }

    fn answer(&mut self, call: ModelCall) {
        self.replies += 1;
        let cost = self.charged[&call.reserve];
        let reserve = call.reserve;
        // After a stop the driver hears that its call was cancelled.
        let stopped = self.machine.activation().is_none();
        match people::reply(&mut self.dice, self.replies, cost) {
            _ if stopped => {
                let failure = people::failure(FailureKind::Cancelled, cost);
                self.feed(Event::ModelFailed { reserve, failure });
            }
            Ok(reply) => {
                self.feed(Event::Replied { reserve, reply });
                // The answer of a call that was stopped is not taken.
                let taken =
                    |effect: &Effect| matches!(effect, Effect::Append(Record::Assistant { .. }));
                if self.effects.iter().any(taken) {
                    self.answered = Some(std::mem::take(&mut self.asked));
                }
            }
            Err(failure) => {
                self.feed(Event::ModelFailed { reserve, failure });
            }
        }
    }

    fn run(&mut self, call: &ToolCall) -> ToolOutcome {
        let count = self.started.entry(call.id.clone()).or_default();
        *count += 1;
        assert!(
            *count == 1 || call.name != "Bash",
            "an opaque command started twice"
        );
        let outcome = people::outcome(&mut self.dice, call, self.now_ms);
        let asked = people::asks(call).filter(|kind| match kind {
            DecisionKind::Learning => outcome.ok,
            _ => outcome.then != Then::GoOn,
        });
        if let Some(kind) = asked {
            self.ask(&people::card(call), kind, None);
        }
        self.results.insert(call.id.clone(), outcome.clone());
        outcome
    }

    fn recover(&mut self, interrupted: Interrupted) {
        let known = self.results.get(interrupted.id()).cloned();
        let outcome = match (interrupted.crash, known) {
            (CrashClass::Opaque, _) => ToolOutcome::error("interrupted: look before you try again"),
            (CrashClass::Checkable, Some(outcome)) => outcome,
            _ => self.run(&interrupted.call),
        };
        self.tool_done(interrupted.call.id, outcome);
    }

    fn tool_done(&mut self, call: CallId, outcome: ToolOutcome) {
        let event = Event::ToolDone {
            call,
            outcome,
            receipt: None,
        };
        if self.dice.percent(10) {
            self.feed(event.clone());
            self.drain();
        }
        self.feed(event);
    }

    fn carried_out(&mut self, order: Order) {
        let asks_back = order.kind == DecisionKind::Plan && order.choice != Choice::Approve;
        // Whoever rejects a call is asked why, and waited for a moment.
        let rejected = order.kind == DecisionKind::Command && order.choice == Choice::Reject;
        let deadline_ms = self.now_ms + 10_000;
        let outcome = match self.dice.below(4) {
            0 => ToolOutcome::error("it did not work"),
            _ if order.runs_a_call() => ToolOutcome::ok("it ran"),
            _ if rejected => ToolOutcome::ok("not run").then(Then::Park {
                waiting: Waiting::Reply { deadline_ms },
            }),
            _ if asks_back => ToolOutcome::ok("they say why").then(Then::Park {
                waiting: Waiting::Person,
            }),
            _ => ToolOutcome::ok("done").then(Then::End),
        };
        let request = order.request;
        self.feed(Event::CarriedOut { request, outcome });
    }
}
