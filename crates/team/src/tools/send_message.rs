//! SendMessage: a word in the thread, to people or to another role.

use butler_policy::Permit;
use butler_toolbox::{Desk, Tool};
use butler_vocab::{CrashClass, Then, Tier, ToolOutcome, ToolSpec, Waiting, mentions};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{failed, spec};
use crate::{office::now_ms, seat::Seat};

/// How long a role waits for another.
const WAIT_MINUTES: i64 = 10;

const NAME: &str = "SendMessage";

pub struct SendMessage(pub Seat);

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// What to say, in Markdown. Mention a role as @codebutler.pm to wake it.
    message: String,
    /// Sleep until somebody answers. Default false.
    #[serde(default)]
    wait_for_reply: bool,
}

/// What a model is told.
pub fn told() -> ToolSpec {
    spec::<Input>(
        NAME,
        "Posts a message to the thread: progress worth knowing, or a word to another role, \
         which wakes only if you mention it (@codebutler.coder). For a question that a person \
         must answer use AskUser; to pass work on use HandOver; your final answer needs no \
         tool at all. Returns when it is posted; with wait_for_reply you sleep until an answer \
         comes or ten minutes pass. Example: {\"message\": \"@codebutler.pm is the order of \
         the list part of the contract?\", \"wait_for_reply\": true}",
    )
}

impl Tool for SendMessage {
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
            let to = mentions(&input.message, None)
                .into_iter()
                .filter(|role| *role != seat.role())
                .collect();
            let posted = seat
                .office
                .line
                .say(&seat.thread, seat.idem(permit.call()), &input.message, to)
                .await;
            match posted {
                Err(error) => failed("the message was not posted", &error),
                Ok(_) if input.wait_for_reply => {
                    let deadline_ms = now_ms() + WAIT_MINUTES * 60_000;
                    ToolOutcome::ok("posted; waiting for an answer").then(Then::Park {
                        waiting: Waiting::Reply { deadline_ms },
                    })
                }
                Ok(_) => ToolOutcome::ok("posted"),
            }
        })
    }

    /// The hub knows the key: posting again is asking whether it was posted.
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
