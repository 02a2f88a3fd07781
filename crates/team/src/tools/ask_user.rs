//! AskUser: a question that only a person can answer. No deadline: nothing is
//! held while they think.

use butler_policy::Permit;
use butler_toolbox::{Desk, Tool};
use butler_vocab::{CrashClass, Then, Tier, ToolOutcome, ToolSpec, Waiting};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{failed, spec};
use crate::{context, seat::Seat};

const NAME: &str = "AskUser";

pub struct AskUser(pub Seat);

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The question or numbered questions, each with the answer you would suggest.
    question: String,
}

/// What a model is told.
pub fn told() -> ToolSpec {
    spec::<Input>(
        NAME,
        "Asks the people in the thread and sleeps until one answers. For what the code cannot \
         tell and what changes the result: at most three numbered questions, each with a \
         suggested answer. Not for another role (HandOver), nor for approval of a plan \
         (ProposePlan). Returns the answer as a message. Example: {\"question\": \"1. Should \
         an empty list print [] or nothing? I would print [].\"}",
    )
}

impl Tool for AskUser {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        told()
    }

    fn tier(&self) -> Tier {
        Tier::WriteVisible
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Checkable
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        _desk: &'a Desk,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let input: Input = match Input::deserialize(input) {
                Ok(input) => input,
                Err(error) => return ToolOutcome::error(format!("bad input: {error}")),
            };
            let seat = &self.0;
            // Whoever took part may know the answer; the starter is among them.
            let people = match seat.office.line.web.replies(&seat.thread).await {
                Ok(messages) => context::people(&messages),
                Err(error) => return failed("the thread could not be read", &error),
            };
            let idem = seat.idem(permit.call());
            let line = &seat.office.line;
            let posted = line
                .ask_people(&seat.thread, idem, &people, &input.question)
                .await;
            match posted {
                Err(error) => failed("the question was not posted", &error),
                Ok(_) => {
                    ToolOutcome::ok("asked; the answer will be the next message").then(Then::Park {
                        waiting: Waiting::Person,
                    })
                }
            }
        })
    }

    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        _trace: Option<&'a Value>,
        desk: &'a Desk,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.run(permit, input, desk)
    }
}
