//! What the crates agree on about a tool call: how risky it is, what a crash in
//! the middle of it means, what came out, and what the loop does next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Image, Waiting};

/// How far the effect of a call reaches. The order is the order of risk.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tier {
    /// Looks, changes nothing.
    Read,
    /// Changes files of the worktree.
    WriteLocal,
    /// Others see it: a post, a push, a pull request.
    WriteVisible,
    /// Needs a person's click.
    Destructive,
}

crate::words! { Tier {
    Read = "READ",
    WriteLocal = "WRITE_LOCAL",
    WriteVisible = "WRITE_VISIBLE",
    Destructive = "DESTRUCTIVE",
}}

/// What to do with a call whose intent is on disk and whose result is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashClass {
    /// Run it again: it only looks.
    Pure,
    /// Run it again: a repeat costs time and nothing else.
    Rerunnable,
    /// Compare with what should be there, and complete it.
    Convergent,
    /// Ask the other side whether it happened, and complete it.
    Checkable,
    /// Never repeat: tell the model that it was interrupted.
    Opaque,
}

/// How sure the Lead is of a learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Seen often, or stated by a person.
    High,
    /// Seen more than once.
    Medium,
    /// A guess worth keeping for now.
    Low,
}

/// What a tool gave back. A refusal is a normal answer, with `ok` false.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// Whether the tool did what was asked.
    pub ok: bool,
    /// What the model reads: verdict first, then data, then the next step.
    pub text: String,
    /// Pictures that belong to the answer. A tool message carries text only, so
    /// the model gets them in a user message right after the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What the loop does after this call.
    #[serde(default, skip_serializing_if = "Then::is_go_on")]
    pub then: Then,
    /// The number under which the files were saved as they were before this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<u32>,
    /// Set when a gate refused it that a second try passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_for: Option<RefusedFor>,
}

/// A gate that holds once and lets a role through that insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedFor {
    /// The checks have not passed on what is handed over.
    Unverified,
    /// Nothing stands behind an approval.
    Hasty,
    /// Nobody has looked at what people will see.
    Unseen,
    /// People will see it, and nobody has designed it.
    Undesigned,
}

impl ToolOutcome {
    /// A success.
    pub fn ok(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            ..Self::error(text)
        }
    }

    /// A failure or refusal that says what to try.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The refusal of a gate, counted from the log.
    pub fn refused(gate: RefusedFor, text: impl Into<String>) -> Self {
        Self {
            refused_for: Some(gate),
            ..Self::error(text)
        }
    }

    /// The same outcome with a picture.
    #[must_use]
    pub fn showing(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }

    /// The same outcome with another continuation.
    #[must_use]
    pub fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }
}

/// What the loop does after a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Then {
    /// The next turn.
    #[default]
    GoOn,
    /// The activation ends here: the call was a hand-over, or an answer to a person.
    End,
    /// The activation ends here and what was asked for goes on with another role.
    PassOn,
    /// The activation sleeps until a message, a decision or the deadline.
    Park {
        /// Whom or what it waits for.
        waiting: Waiting,
    },
}

impl Then {
    /// Whether the loop simply goes on.
    pub fn is_go_on(&self) -> bool {
        matches!(self, Then::GoOn)
    }
}
