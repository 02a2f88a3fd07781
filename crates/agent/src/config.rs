//! What one agent process is told by the binary; nothing of the rest of the
//! configuration reaches this crate.

use std::path::PathBuf;

use butler_model::ClientConfig;
use butler_protocol::{Clock, Role, Secret};
use url::Url;

/// Everything an agent process needs to work.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Who it is.
    pub role: Role,
    /// The person's clone of the repo.
    pub repo: PathBuf,
    /// `~/.codebutler`: hidden from every command.
    pub home: PathBuf,
    /// The home of the person who runs it: where credentials lie.
    pub person_home: PathBuf,
    /// Where the hub listens.
    pub hub: Url,
    /// What the hub knows this role by.
    pub bot_token: Secret,
    /// What opens the socket.
    pub app_token: Secret,
    /// How to reach the model.
    pub client: ClientConfig,
    /// What time it is.
    pub clock: Clock,
    /// The executable that is started again as `__sandbox`.
    pub sandbox_helper: PathBuf,
}
