//! The base of a thread, made ready like every other place where checks run: a
//! receipt that compares must compare like with like. Nobody is told of it; where
//! it does not work, the receipt says that nothing was compared.

use std::path::PathBuf;

use butler_protocol::{CommitSha, Sha256Hex};
use butler_repo::Trial;
use butler_sandbox::Network;
use tokio_util::sync::CancellationToken;

use super::{
    folder::{Folder, Outcome},
    marker::{Marker, State, keep},
};
use crate::{Agent, AgentError};

/// A failed one is tried again after this long; each attempt may take minutes.
const PAUSE_MS: i64 = 10 * 60 * 1000;

/// Lays a commit of the default branch out, ready for its checks.
pub(crate) async fn lay_out(
    agent: &Agent,
    commit: &CommitSha,
    cancel: &CancellationToken,
) -> Result<Trial, AgentError> {
    let trial = agent.repo.lay_out(commit, cancel).await?;
    let rules = agent.rules();
    let folder = Folder::of(agent, &trial.path, &rules.prepare, cancel).await?;
    let Some(folder) = folder else {
        return Ok(trial);
    };
    let path = marker_path(agent)?;
    let key = Sha256Hex::of(format!("{} {}", folder.needs(), trial.path.display()));
    let mut marker = Marker::of(&path, key);
    match &marker.state {
        State::Done => return Ok(trial),
        State::Failed(why) if agent.now_ms() - marker.at_ms < PAUSE_MS => {
            return Err(AgentError::Missing(why.clone()));
        }
        State::Failed(_) | State::Running => {}
    }
    // Only commits of the default branch come here, so the network is open.
    let network = if folder.as_default() {
        Network::Host
    } else {
        Network::Loopback
    };
    let _heavy = agent
        .repo
        .one_of("prepare-heavy", super::run::HEAVY, cancel)
        .await?;
    marker.at_ms = agent.now_ms();
    let outcome = folder.make(network).await?;
    marker.state = match outcome {
        Outcome::Ready => State::Done,
        Outcome::Failed { command, end } => State::Failed(format!(
            "the base could not be prepared: `{command}`, {}: {}",
            end.verdict,
            end.last_line()
        )),
        Outcome::Stopped => return Err(AgentError::Missing("stopped".to_owned())),
    };
    keep(&path, &marker)?;
    match marker.state {
        State::Failed(why) => Err(AgentError::Missing(why)),
        _ => Ok(trial),
    }
}

/// Beside the refs, where no command can write.
fn marker_path(agent: &Agent) -> Result<PathBuf, AgentError> {
    let common = agent.repo.git().common_dir()?;
    Ok(common.join("codebutler/prepared-base.json"))
}
