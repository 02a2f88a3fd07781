//! Who we are on a clone's forge and what we lack there, for whoever sets a machine up.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{ForgeHosts, ForgeKind, gitea, gitlab, host, http::Http};
use crate::{Git, Result, repo::choose_remote};

/// What answers at a clone's remote, and who it takes us for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub host: String,
    pub kind: ForgeKind,
    /// Our name there, where we ask it ourselves.
    pub name: Option<String>,
    /// What is missing for our work.
    pub lacks: Vec<&'static str>,
}

/// Our account on the forge of a clone; nothing for a plain repository.
/// Fails when nobody knows the forge, it cannot be reached, or it does not let us in.
pub async fn account(
    root: &Path,
    hosts: &ForgeHosts,
    cancel: &CancellationToken,
) -> Result<Option<Account>> {
    let git = Git::at(root);
    let Some(remote) = choose_remote(&git).await? else {
        return Ok(None);
    };
    let Some(found) = host::of_remote(git.settings(), &remote.url, hosts).await? else {
        return Ok(None);
    };
    let address = &found.address;
    let http = |manner| Http::new(&found.host, address, manner, hosts.ca_file.as_deref());
    let asked = match found.host.kind {
        ForgeKind::GitLab => {
            Some(gitlab::account(http(gitlab::manner(address))?.until(cancel)).await?)
        }
        ForgeKind::Gitea => {
            Some(gitea::account(http(gitea::manner(address))?.until(cancel)).await?)
        }
        ForgeKind::GitHub | ForgeKind::Plain => None,
    };
    let (name, lacks) = asked.map_or((None, Vec::new()), |(name, lacks)| (Some(name), lacks));
    Ok(Some(Account {
        host: found.host.host,
        kind: found.host.kind,
        name,
        lacks,
    }))
}
