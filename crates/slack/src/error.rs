//! What can go wrong between us and the workspace.

use butler_protocol::Refusal;

/// A call or a connection that failed.
#[derive(Debug, thiserror::Error)]
pub enum SlackError {
    /// The workspace answered `ok: false` with one of Slack's error names.
    #[error("{method}: {code}")]
    Api {
        method: String,
        /// Slack's name of the error, as in `channel_not_found`.
        code: String,
    },
    /// The workspace wants us to wait; given only where a call is tried once.
    #[error("{method}: asked to wait {} s", after.as_secs())]
    RateLimited {
        method: String,
        after: std::time::Duration,
    },
    /// The app was installed without a scope.
    #[error("{method}: the app lacks the scope {needed}; add it and install the app again")]
    MissingScope {
        method: String,
        /// What it needs, as Slack names it.
        needed: String,
    },
    /// A newer process speaks for this role; this one must stop.
    #[error("{method}: another process speaks for this role now")]
    StaleEpoch { method: String },
    /// No answer within our patience.
    #[error("{method}: no answer from the workspace")]
    Unreachable {
        method: String,
        /// The last failure.
        #[source]
        source: reqwest::Error,
    },
    /// The answer was not what the method promises.
    #[error("{method}: answer not understood: {detail}")]
    Answer { method: String, detail: String },
    /// The address cannot be used.
    #[error("{base} is not an address of a workspace")]
    Address {
        /// The address as it was given.
        base: String,
    },
    /// The file of certificates cannot be used.
    #[error(transparent)]
    Trust(#[from] butler_tls::BadFile),
    /// The connection is over for good, see [`crate::Ended`].
    #[error("the socket has ended: {0}")]
    Ended(crate::Ended),
}

impl SlackError {
    /// Something odd in an answer.
    pub(crate) fn answer(method: &str, detail: &dyn ToString) -> Self {
        SlackError::Answer {
            method: method.to_owned(),
            detail: detail.to_string(),
        }
    }

    /// A refusal by its name.
    pub(crate) fn api(method: &str, code: &str) -> Self {
        SlackError::Api {
            method: method.to_owned(),
            code: code.to_owned(),
        }
    }

    /// No answer; the address, which may hold a secret, is left out.
    pub(crate) fn unreachable(method: &str, source: reqwest::Error) -> Self {
        SlackError::Unreachable {
            method: method.to_owned(),
            source: source.without_url(),
        }
    }

    /// Slack's name of the error, when the workspace gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            SlackError::Api { code, .. } => Some(code),
            SlackError::StaleEpoch { .. } => Some("stale_epoch"),
            SlackError::MissingScope { .. } => Some("missing_scope"),
            SlackError::RateLimited { .. } => Some("ratelimited"),
            _ => None,
        }
    }

    /// What went wrong with its cause, for a person.
    pub fn whole(&self) -> String {
        let mut said = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            said = format!("{said}: {error}");
            cause = error.source();
        }
        said
    }

    /// The kind of refusal, where it is one that we know.
    pub fn refusal(&self) -> Option<Refusal> {
        self.code().and_then(Refusal::named)
    }

    /// Whether the call may have been carried out although it failed: before it
    /// is made again, one has to look.
    pub fn is_unclear(&self) -> bool {
        match self {
            SlackError::Unreachable { source, .. } => !source.is_connect(),
            SlackError::Answer { .. } => true,
            SlackError::Api { .. } => matches!(
                self.refusal(),
                Some(
                    Refusal::InternalError
                        | Refusal::FatalError
                        | Refusal::ServiceUnavailable
                        | Refusal::RequestTimeout
                )
            ),
            _ => false,
        }
    }

    /// Whether a person stopped the thread after this was begun.
    pub fn is_stop(&self) -> bool {
        self.refusal() == Some(Refusal::ThreadStopped)
    }

    /// Whether the token itself is refused: no later call can succeed.
    pub fn is_final(&self) -> bool {
        self.refusal().is_some_and(Refusal::is_final)
    }
}
