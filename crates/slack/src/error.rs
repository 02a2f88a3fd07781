//! What can go wrong between us and the workspace.

/// A call or a connection that failed.
#[derive(Debug, thiserror::Error)]
pub enum SlackError {
    /// The workspace answered `ok: false` with one of Slack's error names.
    #[error("{method}: {code}")]
    Api {
        /// The method that was called.
        method: String,
        /// Slack's name of the error, as in `channel_not_found`.
        code: String,
    },
    /// A newer process speaks for this role; this one must stop.
    #[error("{method}: another process speaks for this role now")]
    StaleEpoch {
        /// The method that was called.
        method: String,
    },
    /// No answer within our patience.
    #[error("{method}: no answer from the workspace")]
    Unreachable {
        /// The method that was called.
        method: String,
        /// The last failure.
        #[source]
        source: reqwest::Error,
    },
    /// The answer was not what the method promises.
    #[error("{method}: answer not understood: {detail}")]
    Answer {
        /// The method that was called.
        method: String,
        /// What was odd about it.
        detail: String,
    },
    /// The address cannot be used.
    #[error("{base} is not an address of a workspace")]
    Address {
        /// The address as it was given.
        base: String,
    },
    /// The connection is over for good, see [`crate::Ended`].
    #[error("the socket has ended: {0}")]
    Ended(crate::Ended),
}

impl SlackError {
    /// Slack's name of the error, when the workspace gave one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            SlackError::Api { code, .. } => Some(code),
            SlackError::StaleEpoch { .. } => Some("stale_epoch"),
            _ => None,
        }
    }
}
