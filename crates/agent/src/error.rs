//! What can end a worker or the whole process.

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

/// Why an agent, or one of its threads, cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The hub does not answer, or refuses us.
    #[error("the hub")]
    Hub(#[from] SlackError),
    /// The log cannot be read or written: no effect without its record.
    #[error("the conversation log")]
    Journal(#[from] JournalError),
    /// Git or the forge.
    #[error("the repository")]
    Repo(#[from] butler_repo::Error),
    /// The model client could not be made.
    #[error("the model client")]
    Model(#[from] butler_model::ModelError),
    /// Commands cannot be confined.
    #[error("the sandbox")]
    Sandbox(#[from] butler_sandbox::SandboxError),
    /// Commands cannot be confined, found out in the background.
    #[error("the sandbox")]
    NoSandbox(#[source] std::sync::Arc<butler_sandbox::SandboxError>),
    /// The folder of the tools.
    #[error("the worktree's folder")]
    Place(#[from] butler_tools::PlaceError),
    /// Something that should have been there is not.
    #[error("{0}")]
    Missing(String),
    /// A branch stands on another base than the one that it was reviewed on.
    #[error("it stands on another base than the one that its checks ran on")]
    AnotherBase,
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
