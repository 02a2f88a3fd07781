//! What one agent process is told by the binary; nothing of the rest of the
//! configuration reaches this crate.

use std::path::PathBuf;

use butler_model::ClientConfig;
use butler_protocol::{ChannelId, Clock, Role, Secret, UserId};
use butler_repo::ForgeHosts;
use butler_slack::Workspace;
use tokio_util::sync::CancellationToken;

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
    /// The channel of the repo.
    pub channel: ChannelId,
    /// Who may have the team started anew; empty means everybody.
    pub approvers: Vec<UserId>,
    /// Where the hub is, and whom to trust there.
    pub hub: Workspace,
    /// What the hub knows this role by.
    pub bot_token: Secret,
    /// What opens the socket.
    pub app_token: Secret,
    /// How to reach the model.
    pub client: ClientConfig,
    /// What this machine knows of forges.
    pub forges: ForgeHosts,
    /// What time it is.
    pub clock: Clock,
    /// The executable that is started again as `__sandbox`.
    pub sandbox_helper: PathBuf,
    /// Of which build it is.
    pub version: String,
    /// Cancelled when the process is to end once its running turns are over.
    pub renewal: CancellationToken,
    /// Whether somebody starts the process again when it ends.
    pub is_kept: bool,
}
