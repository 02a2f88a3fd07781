//! What can go wrong with a call, sorted by what to do about it.
//!
//! The text of an error is for the log, [`ModelError::advice`] is the sentence
//! for the thread. Neither contains the key.

use std::time::Duration;

use butler_protocol::Usd;
use serde::{Deserialize, Serialize};

/// The kinds of failure. Each has its own retry rule ([`ErrorClass::retries`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Too many requests (429).
    RateLimited,
    /// The provider cannot answer now (5xx, an error inside the stream).
    Overloaded,
    /// No answer in time, or the connection was lost.
    Timeout,
    /// An answer that cannot be read.
    Malformed,
    /// The conversation does not fit: compact, then ask again.
    ContextTooLong,
    /// No credit left (402).
    NoCredit,
    /// The key is refused (401).
    Auth,
    /// Not allowed: guardrail, budget of the key, region (403).
    Forbidden,
    /// Stopped by a content filter.
    Filtered,
    /// The request itself is wrong; asking again cannot help.
    Rejected,
    /// We ended it ourselves.
    Cancelled,
    /// Our own configuration is wrong; nothing was sent.
    Setup,
}

/// What is known about one failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The model that was asked.
    pub model: String,
    /// What the other side said, shortened, without the key.
    pub detail: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the other side asked us to wait.
    pub retry_after: Option<Duration>,
    /// What the failed attempts may have cost; a stream that broke was still paid for.
    pub spent: Usd,
}

impl Trouble {
    /// A trouble with nothing but a text.
    #[must_use]
    pub fn new(model: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            detail: detail.into(),
            status: None,
            retry_after: None,
            spent: Usd::ZERO,
        }
    }
}

/// A call that brought no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// See [`ErrorClass::RateLimited`].
    #[error("{} is rate limited: {}", .0.model, .0.detail)]
    RateLimited(Trouble),
    /// See [`ErrorClass::Overloaded`].
    #[error("{} is overloaded or down: {}", .0.model, .0.detail)]
    Overloaded(Trouble),
    /// See [`ErrorClass::Timeout`].
    #[error("no complete answer from {}: {}", .0.model, .0.detail)]
    Timeout(Trouble),
    /// Nobody answers at the endpoint's address; of the class [`ErrorClass::Timeout`].
    #[error("{}: no connection to {}", .0.model, .0.detail)]
    Unreachable(Trouble),
    /// See [`ErrorClass::Malformed`].
    #[error("unreadable answer from {}: {}", .0.model, .0.detail)]
    Malformed(Trouble),
    /// See [`ErrorClass::ContextTooLong`].
    #[error("the conversation is too long for {}: {}", .0.model, .0.detail)]
    ContextTooLong(Trouble),
    /// See [`ErrorClass::NoCredit`].
    #[error("no credit for {}: {}", .0.model, .0.detail)]
    NoCredit(Trouble),
    /// See [`ErrorClass::Auth`].
    #[error("the key for {} was refused: {}", .0.model, .0.detail)]
    Auth(Trouble),
    /// The endpoint wants a key and has none; of the class [`ErrorClass::Auth`].
    #[error("no key was given for {}: {}", .0.model, .0.detail)]
    NoKey(Trouble),
    /// See [`ErrorClass::Forbidden`].
    #[error("{} is forbidden: {}", .0.model, .0.detail)]
    Forbidden(Trouble),
    /// See [`ErrorClass::Filtered`].
    #[error("{} was stopped by a content filter: {}", .0.model, .0.detail)]
    Filtered(Trouble),
    /// See [`ErrorClass::Rejected`].
    #[error("{} rejected the request: {}", .0.model, .0.detail)]
    Rejected(Trouble),
    /// See [`ErrorClass::Cancelled`].
    #[error("the model call was cancelled")]
    Cancelled {
        /// What the interrupted attempt may have cost.
        spent: Usd,
    },
    /// See [`ErrorClass::Setup`].
    #[error("{0}")]
    Setup(String),
}

impl ErrorClass {
    /// The error of this class.
    #[must_use]
    pub fn with(self, trouble: Trouble) -> ModelError {
        match self {
            ErrorClass::RateLimited => ModelError::RateLimited(trouble),
            ErrorClass::Overloaded => ModelError::Overloaded(trouble),
            ErrorClass::Timeout => ModelError::Timeout(trouble),
            ErrorClass::Malformed => ModelError::Malformed(trouble),
            ErrorClass::ContextTooLong => ModelError::ContextTooLong(trouble),
            ErrorClass::NoCredit => ModelError::NoCredit(trouble),
            ErrorClass::Auth => ModelError::Auth(trouble),
            ErrorClass::Forbidden => ModelError::Forbidden(trouble),
            ErrorClass::Filtered => ModelError::Filtered(trouble),
            ErrorClass::Rejected => ModelError::Rejected(trouble),
            ErrorClass::Cancelled => ModelError::Cancelled {
                spent: trouble.spent,
            },
            ErrorClass::Setup => ModelError::Setup(trouble.detail),
        }
    }

    /// Whether a failure says something about the health of the model: our own
    /// mistakes, an empty budget and a refused key do not open its breaker.
    #[must_use]
    pub const fn counts_for_breaker(self) -> bool {
        matches!(
            self,
            ErrorClass::RateLimited
                | ErrorClass::Overloaded
                | ErrorClass::Timeout
                | ErrorClass::Malformed
        )
    }
}

impl ModelError {
    /// Which kind of failure this is.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            ModelError::RateLimited(_) => ErrorClass::RateLimited,
            ModelError::Overloaded(_) => ErrorClass::Overloaded,
            ModelError::Timeout(_) | ModelError::Unreachable(_) => ErrorClass::Timeout,
            ModelError::Malformed(_) => ErrorClass::Malformed,
            ModelError::ContextTooLong(_) => ErrorClass::ContextTooLong,
            ModelError::NoCredit(_) => ErrorClass::NoCredit,
            ModelError::Auth(_) | ModelError::NoKey(_) => ErrorClass::Auth,
            ModelError::Forbidden(_) => ErrorClass::Forbidden,
            ModelError::Filtered(_) => ErrorClass::Filtered,
            ModelError::Rejected(_) => ErrorClass::Rejected,
            ModelError::Cancelled { .. } => ErrorClass::Cancelled,
            ModelError::Setup(_) => ErrorClass::Setup,
        }
    }

    /// What is known about it, unless we ended it or never began.
    #[must_use]
    pub const fn trouble(&self) -> Option<&Trouble> {
        match self {
            ModelError::RateLimited(trouble)
            | ModelError::Overloaded(trouble)
            | ModelError::Timeout(trouble)
            | ModelError::Unreachable(trouble)
            | ModelError::Malformed(trouble)
            | ModelError::ContextTooLong(trouble)
            | ModelError::NoCredit(trouble)
            | ModelError::Auth(trouble)
            | ModelError::NoKey(trouble)
            | ModelError::Forbidden(trouble)
            | ModelError::Filtered(trouble)
            | ModelError::Rejected(trouble) => Some(trouble),
            ModelError::Cancelled { .. } | ModelError::Setup(_) => None,
        }
    }

    /// Whether the same request may succeed later without anybody doing anything.
    #[must_use]
    pub fn retryable(&self) -> bool {
        match self.class() {
            ErrorClass::NoCredit => self.retry_after().is_some(),
            class => class.counts_for_breaker(),
        }
    }

    /// How long the other side asked us to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.trouble().and_then(|trouble| trouble.retry_after)
    }

    /// What the failed attempts may have cost.
    #[must_use]
    pub fn spent(&self) -> Usd {
        match self {
            ModelError::Cancelled { spent } => *spent,
            _ => self.trouble().map_or(Usd::ZERO, |trouble| trouble.spent),
        }
    }

    /// The same error with more money spent before it.
    #[must_use]
    pub fn and_spent(mut self, more: Usd) -> Self {
        if let ModelError::Cancelled { spent } = &mut self {
            *spent += more;
        }
        if let Some(trouble) = self.trouble_mut() {
            trouble.spent += more;
        }
        self
    }

    pub(crate) fn trouble_mut(&mut self) -> Option<&mut Trouble> {
        match self {
            ModelError::RateLimited(trouble)
            | ModelError::Overloaded(trouble)
            | ModelError::Timeout(trouble)
            | ModelError::Unreachable(trouble)
            | ModelError::Malformed(trouble)
            | ModelError::ContextTooLong(trouble)
            | ModelError::NoCredit(trouble)
            | ModelError::Auth(trouble)
            | ModelError::NoKey(trouble)
            | ModelError::Forbidden(trouble)
            | ModelError::Filtered(trouble)
            | ModelError::Rejected(trouble) => Some(trouble),
            ModelError::Cancelled { .. } | ModelError::Setup(_) => None,
        }
    }

    /// One sentence for the thread: what happened and what a person can do.
    #[must_use]
    pub fn advice(&self) -> String {
        let model = self.trouble().map_or("the model", |t| t.model.as_str());
        match self {
            ModelError::RateLimited(_) => format!(
                "{model} is rate limited and stayed so after several tries. Try again in a few minutes, or configure a fallback model."
            ),
            ModelError::Overloaded(_) => format!(
                "{model} could not answer after several tries. Try again later, or configure a fallback model."
            ),
            ModelError::Timeout(_) => format!(
                "{model} did not answer in time. Try again; for a slow local model raise the model timeouts in the configuration."
            ),
            ModelError::Unreachable(trouble) => {
                format!(
                    "{model} cannot be asked: no connection to {}",
                    trouble.detail
                )
            }
            ModelError::Malformed(_) => format!(
                "{model} sent answers that cannot be read. Try again; if it keeps happening choose another model for this role."
            ),
            ModelError::ContextTooLong(_) => format!(
                "This conversation no longer fits into {model}. Go on in a new thread, or choose a model with a larger window."
            ),
            ModelError::NoCredit(_) => format!(
                "The account that pays for {model} has no credit left. Add credit at the provider, then press Retry."
            ),
            ModelError::Auth(_) => format!(
                "The key for {model} was refused. Put a valid key into the machine's configuration; `codebutler doctor` checks it."
            ),
            ModelError::NoKey(trouble) => {
                format!("No key was given for {model}: {}.", trouble.detail)
            }
            ModelError::Forbidden(trouble) => format!(
                "The provider does not allow this call of {model}: {}. Check the limits and guardrails of the key at the provider.",
                trouble.detail
            ),
            ModelError::Filtered(_) => format!(
                "A content filter stopped {model}. Say it differently, or choose another model for this role."
            ),
            ModelError::Rejected(trouble) => format!(
                "{model} rejected the request: {}. `codebutler doctor` checks the model's name and abilities.",
                trouble.detail
            ),
            ModelError::Cancelled { .. } => "The model call was stopped.".to_owned(),
            ModelError::Setup(problem) => {
                format!(
                    "The model cannot be called: {problem}. `codebutler doctor` says what to fix."
                )
            }
        }
    }
}
