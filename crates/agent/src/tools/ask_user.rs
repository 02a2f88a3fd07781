//! AskUser: a question that only a person can answer. No deadline: nothing is
//! held while they think.

use butler_protocol::Waiting;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, cards::park};

pub(crate) struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// At most three numbered questions, each with the answer you would take.
    question: String,
}

impl ChatTool for AskUser {
    type Input = Input;

    const NAME: &'static str = "AskUser";
    const TOLD: &'static str = "Asks the people in the thread and sleeps until one answers. For what the code cannot \
             tell and what changes the result; not for another role, nor for the approval of a \
             plan. Example: {\"question\": \"1. Should an empty list print [] or nothing? I would \
             print [].\"}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        // Whoever took part may know the answer; the starter is among them.
        let people = context.poster.people(&context.thread).await;
        let people = people.or_failed("the thread could not be read")?;
        let (poster, idem) = (&context.poster, context.idem(context.id()));
        let asked = poster.ask_people(&context.thread, idem, &people, &input.question);
        asked.await.or_failed("the question was not posted")?;
        Ok(park(
            "asked; the answer will be the next message",
            Waiting::Person,
        ))
    }
}
