//! What all chat tools have in common. A tool says its name, what models are
//! told, and what it does with a readable input; reading the input, naming what
//! is wrong with it and taking up an interrupted call are the same for all.

use std::{
    error::Error,
    future::Future,
    marker::PhantomData,
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use butler_policy::Permit;
use butler_protocol::{CallId, CrashClass, Role, Tier, ToolOutcome, ToolSpec};
use butler_tools::{DEFAULT_DEADLINE, Tool, ToolContext, flat_schema};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{ThreadContext, whole};

/// Fetching, pushing and forges may be slow.
pub(crate) const SLOW: Duration = Duration::from_secs(300);

/// What a call comes to: both sides are for the model, and a refusal ends it early.
pub(crate) type Answer = Result<ToolOutcome, ToolOutcome>;

/// A role's place in its thread, for the time of one call.
pub(crate) struct CallContext<'a> {
    thread: ThreadContext,
    pub(crate) permit: &'a Permit,
    pub(crate) tools: &'a ToolContext,
    /// What was seen when the intent was written, see [`ChatTool::trace`].
    pub(crate) trace: Option<Value>,
}

impl<'a> CallContext<'a> {
    /// What is done for the call ends with it.
    fn new(
        thread: &ThreadContext,
        permit: &'a Permit,
        tools: &'a ToolContext,
        trace: Option<Value>,
    ) -> Self {
        let thread = thread.until(tools.cancel());
        Self {
            thread,
            permit,
            tools,
            trace,
        }
    }

    /// Which call it is.
    pub(crate) fn id(&self) -> &CallId {
        self.permit.call()
    }
}

impl Deref for CallContext<'_> {
    type Target = ThreadContext;

    fn deref(&self) -> &ThreadContext {
        &self.thread
    }
}

/// A tool that needs chat, git hosting or a person.
///
/// Everything it does recognises its own repeat: posts have a key made from the
/// call, so that running an interrupted call again is asking what became of it.
pub(crate) trait ChatTool: Send + Sync + 'static {
    /// What it is called with.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// As the model calls it.
    const NAME: &'static str;
    /// What models are told: all there is to it.
    const TOLD: &'static str;
    /// How far it reaches.
    const TIER: Tier = Tier::WriteVisible;
    /// How long a call may take.
    const DEADLINE: Duration = DEFAULT_DEADLINE;

    /// How far a call with this input reaches.
    fn tier_of(_input: &Value) -> Tier {
        Self::TIER
    }

    /// The whole of it.
    fn told() -> ToolSpec {
        spec::<Self::Input>(Self::NAME, Self::TOLD)
    }

    /// What the model of a role is told, where that is less.
    fn told_to(_role: Role) -> ToolSpec {
        Self::told()
    }

    /// The same at this moment of a thread.
    fn told_here(context: &ThreadContext) -> ToolSpec {
        Self::told_to(context.role())
    }

    /// An item of a list, see [`Tool::item`].
    fn item(_field: &str, given: Value) -> Value {
        given
    }

    /// What a repeat after a crash must see as it was, written down with the intent.
    fn trace(_context: &ThreadContext, _input: Self::Input) -> Option<Value> {
        None
    }

    /// Does it.
    fn act(context: &CallContext<'_>, input: Self::Input) -> impl Future<Output = Answer> + Send;
}

/// A chat tool of one thread, as the registry takes it.
pub(crate) struct Chat<T> {
    context: ThreadContext,
    /// What was traced last, and of which input.
    traced: Mutex<Option<(Value, Value)>>,
    tool: PhantomData<T>,
}

impl<T> Chat<T> {
    pub(super) fn new(context: &ThreadContext) -> Self {
        Self {
            context: context.clone(),
            traced: Mutex::default(),
            tool: PhantomData,
        }
    }

    fn act<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        trace: Option<Value>,
        tools: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome>
    where
        T: ChatTool,
    {
        let context = CallContext::new(&self.context, permit, tools, trace);
        Box::pin(async move {
            match T::Input::deserialize(input) {
                Ok(input) => T::act(&context, input)
                    .await
                    .unwrap_or_else(|refusal| refusal),
                Err(error) => ToolOutcome::error(format!("bad input: {error}")),
            }
        })
    }

    fn traced(&self) -> MutexGuard<'_, Option<(Value, Value)>> {
        self.traced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ChatTool> Tool for Chat<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        T::told_here(&self.context)
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

    fn trace(&self, input: &Value, _tools: &ToolContext) -> Option<Value> {
        let trace = T::trace(&self.context, T::Input::deserialize(input).ok()?)?;
        *self.traced() = Some((input.clone(), trace.clone()));
        Some(trace)
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        tools: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        let traced = self.traced().clone().filter(|(of, _)| of == input);
        self.act(permit, input, traced.map(|(_, trace)| trace), tools)
    }

    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        trace: Option<&'a Value>,
        tools: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.act(permit, input, trace.cloned(), tools)
    }
}

pub(super) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        parameters: flat_schema::<T>(),
    }
}

/// Nothing was done, and the model is told why.
pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T, ToolOutcome> {
    Err(ToolOutcome::error(why))
}

/// Something outside did not work; the model may try again.
pub(crate) fn failed(what: &str, error: &dyn Error) -> ToolOutcome {
    ToolOutcome::error(format!("failed: {what}: {}", whole(error)))
}

pub(crate) trait OrFailed<T> {
    /// What came of it, or what the model is told did not work.
    fn or_failed(self, what: &str) -> Result<T, ToolOutcome>;
}

impl<T, E: Error> OrFailed<T> for Result<T, E> {
    fn or_failed(self, what: &str) -> Result<T, ToolOutcome> {
        self.map_err(|error| failed(what, &error))
    }
}
