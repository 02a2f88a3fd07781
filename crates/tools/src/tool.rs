//! What a tool is: a name, what the model is told, and a run function that
//! needs a permit.

use std::time::Duration;

use butler_policy::Permit;
use butler_protocol::{CrashClass, Tier, ToolOutcome, ToolSpec};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::ToolContext;

/// How long a call may take when its tool does not say otherwise.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// One tool of an agent.
///
/// `input` has passed the tool's own schema before any method sees it: required
/// fields are there, types are right, aliases are resolved.
pub trait Tool: Send + Sync {
    /// As the model calls it.
    fn name(&self) -> &str;

    /// What the model is told: at most 120 words (what, when, when not, result,
    /// one example) and a flat schema.
    fn spec(&self) -> ToolSpec;

    /// An item of a list as the schema has it, made from what models send for it:
    /// a line of text, or an object with other fields. What it cannot read it
    /// gives back as it came.
    fn item(&self, _field: &str, given: Value) -> Value {
        given
    }

    /// How far a call reaches; Bash is judged by its command instead.
    fn tier(&self) -> Tier;

    /// How far this call reaches, where its input decides that.
    fn tier_of(&self, _input: &Value) -> Tier {
        self.tier()
    }

    /// What a crash in the middle of a call means.
    fn crash(&self) -> CrashClass;

    /// How long this call may take.
    fn deadline(&self, _input: &Value) -> Duration {
        DEFAULT_DEADLINE
    }

    /// Called before the intent is written: what a later recovery needs.
    fn trace(&self, _input: &Value, _context: &ToolContext) -> Option<Value> {
        None
    }

    /// Does it.
    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome>;

    /// The intent is on disk and no result is: finish the call, or report.
    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        _trace: Option<&'a Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        match self.crash() {
            CrashClass::Pure | CrashClass::Rerunnable => self.run(permit, input, context),
            CrashClass::Convergent | CrashClass::Checkable | CrashClass::Opaque => {
                let text = interrupted(self.name());
                Box::pin(async move { ToolOutcome::error(text) })
            }
        }
    }
}

/// What the model reads about a call that is never repeated by itself.
pub fn interrupted(name: &str) -> String {
    format!(
        "interrupted: CodeButler was restarted while {name} ran; whether it finished is unknown and it was not repeated. Look at the files and at git before you try again."
    )
}
