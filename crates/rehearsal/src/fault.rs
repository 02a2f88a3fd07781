//! What can go wrong on request.

use schemars::JsonSchema;
use serde::Deserialize;

/// A fault, and how often it happens at the same place of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Written")]
#[schemars(with = "Written")]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// How often before the step is answered properly.
    pub times: u32,
    /// `Retry-After` of a refusal, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// The kinds of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// HTTP 429.
    RateLimited,
    /// HTTP 503.
    Overloaded,
    /// HTTP 502.
    BadGateway,
    /// HTTP 400: the conversation is too long.
    ContextTooLong,
    /// HTTP 402.
    NoCredit,
    /// HTTP 401.
    Auth,
    /// HTTP 403.
    Forbidden,
    /// The answer ends with `content_filter`.
    Filtered,
    /// HTTP 400: a bad request.
    Rejected,
    /// HTTP 500 for a request that can never pass, as llama.cpp does.
    BadArguments500,
    /// No byte ever comes.
    Silence,
    /// The answer begins and then stalls.
    Stall,
    /// The connection ends in the middle of a chunk.
    HalfChunk,
    /// The stream ends without an end.
    Cut,
    /// An error object inside the stream.
    MidStreamError,
    /// A chunk, or the body, that is not JSON.
    BadJson,
    /// An answer without choices.
    NoChoices,
    /// An answer with neither text nor calls.
    Empty,
    /// Arguments that are almost JSON and can be repaired.
    NearJson,
    /// Arguments that cannot be read.
    BrokenArguments,
    /// Arguments that end in the middle because of the output limit.
    OutputLimit,
    /// The calls are written as text.
    ToolAsText,
}

impl FaultKind {
    /// Whether the answer arrives all the same, in a form that the client repairs
    /// or reports: such a fault is part of its step, and does not come once more.
    pub const fn is_in_answer(self) -> bool {
        matches!(
            self,
            FaultKind::NearJson
                | FaultKind::BrokenArguments
                | FaultKind::OutputLimit
                | FaultKind::ToolAsText
        )
    }
}

/// `fault: stall`, or `fault: {kind: rate_limited, times: 2}`.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Kind(FaultKind),
    Full(Full),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Full {
    kind: FaultKind,
    #[serde(default = "once")]
    times: u32,
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

fn once() -> u32 {
    1
}

impl From<Written> for Fault {
    fn from(written: Written) -> Self {
        match written {
            Written::Kind(kind) => Self {
                kind,
                times: 1,
                retry_after_ms: None,
            },
            Written::Full(full) => Self {
                kind: full.kind,
                times: full.times,
                retry_after_ms: full.retry_after_ms,
            },
        }
    }
}
