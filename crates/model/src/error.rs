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

macro_rules! model_errors {
    ($($(#[$doc:meta])* $kind:ident of $class:ident: $text:literal,)*) => {
        /// A call that brought no reply. [`ErrorClass`] says what each kind means.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[expect(missing_docs, reason = "each is what its class says")]
        pub enum ModelError {
            $(
                $(#[$doc])*
                #[error($text, .0.model, .0.detail)]
                $kind(Trouble),
            )*
            #[error("the model call was cancelled")]
            Cancelled {
                /// What the interrupted attempt may have cost.
                spent: Usd,
            },
            #[error("{0}")]
            Setup(String),
        }

        impl ModelError {
            /// Which kind of failure this is.
            pub const fn class(&self) -> ErrorClass {
                match self {
                    $(ModelError::$kind(_) => ErrorClass::$class,)*
                    ModelError::Cancelled { .. } => ErrorClass::Cancelled,
                    ModelError::Setup(_) => ErrorClass::Setup,
                }
            }

            /// What is known about it, unless we ended it or never began.
            pub const fn trouble(&self) -> Option<&Trouble> {
                match self {
                    $(ModelError::$kind(trouble))|* => Some(trouble),
                    ModelError::Cancelled { .. } | ModelError::Setup(_) => None,
                }
            }

            pub(crate) fn trouble_mut(&mut self) -> Option<&mut Trouble> {
                match self {
                    $(ModelError::$kind(trouble))|* => Some(trouble),
                    ModelError::Cancelled { .. } | ModelError::Setup(_) => None,
                }
            }
        }
    };
}

model_errors! {
    RateLimited of RateLimited: "{} is rate limited: {}",
    Overloaded of Overloaded: "{} is overloaded or down: {}",
    Timeout of Timeout: "no complete answer from {}: {}",
    /// Nobody answers at the endpoint's address.
    Unreachable of Timeout: "{}: no connection to {}",
    Malformed of Malformed: "unreadable answer from {}: {}",
    ContextTooLong of ContextTooLong: "the conversation is too long for {}: {}",
    NoCredit of NoCredit: "no credit for {}: {}",
    Auth of Auth: "the key for {} was refused: {}",
    /// The endpoint wants a key and has none.
    NoKey of Auth: "no key was given for {}: {}",
    Forbidden of Forbidden: "{} is forbidden: {}",
    Filtered of Filtered: "{} was stopped by a content filter: {}",
    Rejected of Rejected: "{} rejected the request: {}",
}

impl ErrorClass {
    /// The error of this class.
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
    /// Whether the same request may succeed later without anybody doing anything.
    pub fn retryable(&self) -> bool {
        match self.class() {
            ErrorClass::NoCredit => self.retry_after().is_some(),
            class => class.counts_for_breaker(),
        }
    }

    /// How long the other side asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.trouble().and_then(|trouble| trouble.retry_after)
    }

    /// What the failed attempts may have cost.
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

    /// One sentence for the thread: what happened and what a person can do.
    pub fn advice(&self) -> String {
        let known = self
            .trouble()
            .map(|t| (t.model.as_str(), t.detail.as_str()));
        let (model, detail) = known.unwrap_or(("the model", ""));
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
            ModelError::Unreachable(_) => {
                format!("{model} cannot be asked: no connection to {detail}")
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
            ModelError::NoKey(_) => format!("No key was given for {model}: {detail}."),
            ModelError::Forbidden(_) => format!(
                "The provider does not allow this call of {model}: {detail}. Check the limits and guardrails of the key at the provider."
            ),
            ModelError::Filtered(_) => format!(
                "A content filter stopped {model}. Say it differently, or choose another model for this role."
            ),
            ModelError::Rejected(_) => format!(
                "{model} rejected the request: {detail}. `codebutler doctor` checks the model's name and abilities."
            ),
            ModelError::Cancelled { .. } => "The model call was stopped.".to_owned(),
            ModelError::Setup(problem) => format!(
                "The model cannot be called: {problem}. `codebutler doctor` says what to fix."
            ),
        }
    }
}
