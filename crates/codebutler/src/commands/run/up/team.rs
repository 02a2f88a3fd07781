//! Hub and six agents as child processes, from the first start to the last.

use std::{
    env,
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use butler_config::HOME_VARIABLE;
use butler_hub::HubError;
use butler_protocol::Role;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::commands::run::listen::not_started;
use crate::commands::run::up::{claim::Claim, opening::Opening};
use crate::{
    CliError,
    log::{self, FORMAT_VARIABLE},
    supervise::{Job, LineSink, Status, Supervisor},
};

/// Who has died so often without having been ready cannot start.
const TRIES: u32 = 2;
/// After so long people want to see what those say who are not ready yet.
const SLOW: Duration = Duration::from_secs(10);

/// Where a team runs.
pub(crate) struct Place {
    /// The repo.
    pub root: PathBuf,
    /// The machine's folder.
    pub home: PathBuf,
    /// Where the hub listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether another port will not do when this one is taken.
    pub exact: bool,
    /// Consent to listen where other machines can reach it.
    pub reachable: bool,
}

/// A hub and the agents that were started with it, running.
pub(crate) struct Team {
    supervisor: Supervisor,
    /// Where the hub listens.
    pub url: String,
    /// The agents that could not start; they are tried again.
    pub absent: Vec<Role>,
    /// Let go after the last child.
    claim: Option<Claim>,
}

impl Team {
    /// Starts the hub, then the agents; returns when each of them is connected
    /// or has failed. When the hub or all of them fail everything is ended, and
    /// what they say about it has been told once. A repo that has a team already
    /// is left alone.
    pub(crate) async fn start(
        place: &Place,
        lines: LineSink,
        cancel: CancellationToken,
    ) -> Result<Self, CliError> {
        let claim = Claim::take(&place.home, &place.root)?;
        Self::with(place, &Role::ALL, Some(claim), lines, cancel).await
    }

    /// The same without agents, for any number of repos.
    pub(crate) async fn hub_alone(
        place: &Place,
        lines: LineSink,
        cancel: CancellationToken,
    ) -> Result<Self, CliError> {
        Self::with(place, &[], None, lines, cancel).await
    }

    async fn with(
        place: &Place,
        roles: &[Role],
        claim: Option<Claim>,
        lines: LineSink,
        cancel: CancellationToken,
    ) -> Result<Self, CliError> {
        let opening = Opening::new(lines);
        let supervisor = Supervisor::new(opening.sink(), cancel.clone());
        match start_all(place, roles, &supervisor, &opening, &cancel).await {
            Ok((url, absent)) => Ok(Self {
                supervisor,
                url,
                absent,
                claim,
            }),
            Err(error) => {
                opening.silence();
                cancel.cancel();
                supervisor.ended().await;
                Err(error)
            }
        }
    }

    /// Waits until every child has ended; call after cancelling.
    pub(crate) async fn ended(self) {
        self.supervisor.ended().await;
        drop(self.claim);
    }
}

/// The agents of one repo below a hub that somebody else keeps.
pub(crate) struct Agents {
    supervisor: Supervisor,
    cancel: CancellationToken,
    claim: Claim,
}

impl Agents {
    /// Starts those of these roles. A repo that has a team already is left alone.
    pub(crate) fn start(
        home: &Path,
        root: &Path,
        roles: &[Role],
        lines: LineSink,
        cancel: &CancellationToken,
    ) -> Result<Self, CliError> {
        let claim = Claim::take(home, root)?;
        let cancel = cancel.child_token();
        let supervisor = Supervisor::new(lines, cancel.clone());
        for role in roles {
            supervisor.keep(role_job(home, root, *role)?);
        }
        Ok(Self {
            supervisor,
            cancel,
            claim,
        })
    }

    /// Ends them when they have finished what they are at.
    pub(crate) async fn end(self) {
        self.cancel.cancel();
        self.supervisor.ended().await;
        drop(self.claim);
    }
}

async fn start_hub(
    place: &Place,
    supervisor: &Supervisor,
    opening: &Arc<Opening>,
    cancel: &CancellationToken,
) -> Result<String, CliError> {
    // The port is chosen here, so that a hub that is started again keeps it.
    let listen = if place.exact {
        exactly(place.listen)?
    } else {
        free_address(place.listen)?
    };
    let mut hub = supervisor.keep(hub_job(place, listen)?);
    let Some(url) = settled(&mut hub, "hub", opening, cancel).await? else {
        opening.failed(&["hub"]);
        return Err(CliError::user("the hub cannot start").hint("its own error is above"));
    };
    opening.started(&["hub"]);
    Ok(url)
}

async fn start_all(
    place: &Place,
    roles: &[Role],
    supervisor: &Supervisor,
    opening: &Arc<Opening>,
    cancel: &CancellationToken,
) -> Result<(String, Vec<Role>), CliError> {
    let url = start_hub(place, supervisor, opening, cancel).await?;
    let mut agents = Vec::new();
    for role in roles {
        let job = role_job(&place.home, &place.root, *role)?;
        agents.push((*role, supervisor.keep(job)));
    }
    let mut absent = Vec::new();
    for (role, agent) in &mut agents {
        let name = role.as_str();
        match settled(agent, name, opening, cancel).await? {
            Some(_) => opening.started(&[name]),
            None => absent.push(*role),
        }
    }
    let names: Vec<&str> = absent.iter().map(|role| role.as_str()).collect();
    opening.failed(&names);
    if absent.len() == Role::ALL.len() {
        let error = CliError::user("no agent can start");
        return Err(error.hint("their own errors are above; `codebutler doctor` says more"));
    }
    Ok((url, absent))
}

/// What a child says behind `ready`, or nothing when it cannot start.
async fn settled(
    child: &mut watch::Receiver<Status>,
    name: &str,
    opening: &Opening,
    cancel: &CancellationToken,
) -> Result<Option<String>, CliError> {
    let over = |status: &Status| status.ready.is_some() || status.deaths >= TRIES;
    let slow = tokio::time::sleep(SLOW);
    tokio::pin!(slow);
    let mut shown = false;
    loop {
        tokio::select! {
            () = cancel.cancelled() => return Err(CliError::user("stopped before the team was at work")),
            () = &mut slow, if !shown => {
                shown = true;
                opening.started(&[name]);
            }
            answer = child.wait_for(over) => {
                return Ok(answer.map_err(CliError::internal)?.ready.clone());
            }
        }
    }
}

/// The wanted address, which must be free.
fn exactly(address: SocketAddr) -> Result<SocketAddr, CliError> {
    match std::net::TcpListener::bind(address) {
        Ok(_) => Ok(address),
        Err(source) => Err(not_started(HubError::Listen { address, source })),
    }
}

/// The wanted address, or the next free port when it is taken.
fn free_address(wanted: SocketAddr) -> Result<SocketAddr, CliError> {
    let mut address = wanted;
    for _ in 0..20 {
        match std::net::TcpListener::bind(address) {
            Ok(listener) => return Ok(listener.local_addr()?),
            Err(_) if address.port() != 0 => address.set_port(address.port().wrapping_add(1)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(CliError::user(format!("no free port from {wanted} on"))
        .hint("choose another address with --listen"))
}

/// The hub. Another repo's team may have one already: then that one is joined.
fn hub_job(place: &Place, listen: SocketAddr) -> Result<Job, CliError> {
    let listen = listen.to_string();
    let mut args = vec!["hub", "--listen", &listen, "--stand-by"];
    args.extend(place.reachable.then_some("--listen-anywhere"));
    let args = args.into_iter().map(Into::into).collect();
    job(&place.home, &place.root, "hub", args)
}

/// One agent.
fn role_job(home: &Path, root: &Path, role: Role) -> Result<Job, CliError> {
    let args = vec!["--role".into(), role.as_str().into()];
    job(home, root, role.as_str(), args)
}

fn job(home: &Path, root: &Path, name: &str, args: Vec<OsString>) -> Result<Job, CliError> {
    Ok(Job {
        name: name.to_owned(),
        program: env::current_exe()?,
        args,
        env: vec![
            (HOME_VARIABLE.into(), home.as_os_str().to_owned()),
            // Each arena of the allocator keeps pages that an idle process does not need.
            ("MALLOC_ARENA_MAX".into(), "1".into()),
            (FORMAT_VARIABLE.into(), log::format().as_str().into()),
        ],
        folder: root.to_owned(),
    })
}
