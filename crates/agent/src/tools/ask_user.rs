//! AskUser: a question that only a person can answer. No deadline: nothing is
//! held while they think.

use butler_policy::Permit;
use butler_protocol::{Then, ToolOutcome, ToolSpec, Waiting};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChatTool, failed, spec};
use crate::thread::context::ThreadContext;

pub(crate) struct AskUser(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// At most three numbered questions, each with the answer you would take.
    question: String,
}

impl ChatTool for AskUser {
    type Input = Input;

    const NAME: &'static str = "AskUser";

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Asks the people in the thread and sleeps until one answers. For what the code cannot \
             tell and what changes the result; not for another role, nor for the approval of a \
             plan. Example: {\"question\": \"1. Should an empty list print [] or nothing? I would \
             print [].\"}",
        )
    }

    async fn act(&self, permit: &Permit, input: Input, _context: &ToolContext) -> ToolOutcome {
        let context = &self.0;
        // Whoever took part may know the answer; the starter is among them.
        let people = match context.poster.people(&context.thread).await {
            Ok(people) => people,
            Err(error) => return failed("the thread could not be read", &error),
        };
        let idem = context.idem(permit.call());
        let poster = &context.poster;
        let posted = poster
            .ask_people(&context.thread, idem, &people, &input.question)
            .await;
        match posted {
            Err(error) => failed("the question was not posted", &error),
            Ok(_) => {
                ToolOutcome::ok("asked; the answer will be the next message").then(Then::Park {
                    waiting: Waiting::Person,
                })
            }
        }
    }
}
