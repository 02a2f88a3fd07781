//! What all chat tools have in common. A tool says its name, what models are
//! told, and what it does with a readable input; reading the input, naming what
//! is wrong with it and taking up an interrupted call are the same for all.

use std::{future::Future, time::Duration};

use butler_policy::Permit;
use butler_protocol::{CrashClass, Tier, ToolOutcome, ToolSpec};
use butler_tools::{DEFAULT_DEADLINE, Tool, ToolContext};
use futures_util::future::BoxFuture;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// Fetching, pushing and forges may be slow.
pub(crate) const SLOW: Duration = Duration::from_secs(300);

/// A tool that needs chat, git hosting or a person.
///
/// Everything it does recognises its own repeat: posts have a key made from the
/// call, so that running an interrupted call again is asking what became of it.
pub(crate) trait ChatTool: Send + Sync {
    /// What it is called with.
    type Input: DeserializeOwned + Send;

    /// As the model calls it.
    const NAME: &'static str;
    /// How far it reaches.
    const TIER: Tier = Tier::WriteVisible;
    /// How long a call may take.
    const DEADLINE: Duration = DEFAULT_DEADLINE;

    /// How far a call with this input reaches.
    fn tier_of(_input: &Value) -> Tier {
        Self::TIER
    }

    /// What models are told: all there is to it.
    fn told() -> ToolSpec;

    /// What the model of this role is told, where that is less.
    fn told_here(&self) -> ToolSpec {
        Self::told()
    }

    /// An item of a list, see [`Tool::item`].
    fn item(_field: &str, given: Value) -> Value {
        given
    }

    /// Does it.
    fn act(
        &self,
        permit: &Permit,
        input: Self::Input,
        tool_context: &ToolContext,
    ) -> impl Future<Output = ToolOutcome> + Send;
}

/// A chat tool as the registry takes it.
pub(crate) struct Chat<T>(pub T);

impl<T: ChatTool> Tool for Chat<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        self.0.told_here()
    }

    fn item(&self, field: &str, given: Value) -> Value {
        T::item(field, given)
    }

    fn tier(&self) -> Tier {
        T::TIER
    }

    fn tier_of(&self, input: &Value) -> Tier {
        T::tier_of(input)
    }

    fn crash(&self) -> CrashClass {
        if T::TIER == Tier::Read {
            CrashClass::Pure
        } else {
            CrashClass::Checkable
        }
    }

    fn deadline(&self, _input: &Value) -> Duration {
        T::DEADLINE
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        tool_context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            match T::Input::deserialize(input) {
                Ok(input) => self.0.act(permit, input, tool_context).await,
                Err(error) => ToolOutcome::error(format!("bad input: {error}")),
            }
        })
    }

    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        _trace: Option<&'a Value>,
        tool_context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.run(permit, input, tool_context)
    }
}
