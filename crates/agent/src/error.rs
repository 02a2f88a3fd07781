//! What can end a worker or the whole process. Each says its causes with it: most of them
//! end in a line of the log, which is all that an operator has.

use std::{error::Error, fmt, iter::successors, sync::Arc};

use butler_journal::JournalError;
use butler_protocol::Refusal;
use butler_slack::SlackError;

/// An error and everything that caused it, in one line.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// What came of something that nothing depends on.
pub(crate) trait OrWarn<T> {
    /// It, or a line of the log that says what is not as it should be, and why.
    fn or_warn(self, trouble: &str) -> Option<T>;
}

impl<T, E: fmt::Display> OrWarn<T> for Result<T, E> {
    fn or_warn(self, trouble: &str) -> Option<T> {
        self.inspect_err(|error| tracing::warn!(%error, "{trouble}"))
            .ok()
    }
}

/// Why an agent, or one of its threads, cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The hub does not answer, or refuses us.
    #[error("the hub: {}", Causes(.0))]
    Hub(SlackError),
    /// The log cannot be read or written: no effect without its record.
    #[error("the conversation log: {}", Causes(.0))]
    Journal(JournalError),
    /// Git or the forge.
    #[error("the repository: {}", Causes(.0))]
    Repo(butler_repo::Error),
    /// The model client could not be made.
    #[error("the model client: {}", Causes(.0))]
    Model(butler_model::ModelError),
    /// Commands cannot be confined.
    #[error("the sandbox: {}", Causes(.0))]
    Sandbox(butler_sandbox::SandboxError),
    /// Commands cannot be confined, found out in the background.
    #[error("the sandbox: {}", Causes(&**.0))]
    NoSandbox(Arc<butler_sandbox::SandboxError>),
    /// The folder of the tools.
    #[error("the worktree's folder: {}", Causes(.0))]
    Place(butler_tools::PlaceError),
    /// Something that should have been there is not.
    #[error("{0}")]
    Missing(String),
    /// A branch stands on another base than the one that it was reviewed on.
    #[error("it stands on another base than the one that its checks ran on")]
    AnotherBase,
}

/// An error and what it comes from, the deepest last.
struct Causes<'a>(&'a dyn Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut deeper = successors(self.0.source(), |cause| (**cause).source());
        deeper.try_for_each(|cause| write!(f, ": {cause}"))
    }
}

/// What is printed with its causes has none to follow, so that nothing is said twice.
macro_rules! comes_from {
    ($($kind:ident($cause:ty),)*) => {
        $(impl From<$cause> for AgentError {
            fn from(cause: $cause) -> Self {
                Self::$kind(cause)
            }
        })*
    };
}

comes_from! {
    Hub(SlackError),
    Journal(JournalError),
    Repo(butler_repo::Error),
    Model(butler_model::ModelError),
    Sandbox(butler_sandbox::SandboxError),
    Place(butler_tools::PlaceError),
}

impl AgentError {
    /// Whether another process of the role has the thread by now.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, AgentError::Hub(error) if error.refusal() == Some(Refusal::ThreadTaken))
    }

    /// Whether this process has to connect again before it can say anything.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, AgentError::Hub(error) if error.refusal() == Some(Refusal::StaleEpoch))
    }

    /// Whether the hub refused what was begun before a person stopped the thread.
    pub fn is_stop(&self) -> bool {
        matches!(self, AgentError::Hub(error) if error.is_stop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_says_why_down_to_the_last_cause() {
        let error = AgentError::from(butler_sandbox::SandboxError::Helper {
            path: "/bin/helper".into(),
            source: std::io::Error::other("no such file"),
        });
        let said = "the sandbox: cannot start the sandbox helper /bin/helper: no such file";
        assert_eq!(error.to_string(), said);
        assert!(error.source().is_none(), "nothing is said twice");
    }
}
