//! `codebutler up`: hub and agents as child processes in the foreground.

use std::{env, ffi::OsString, net::SocketAddr, path::PathBuf, sync::Arc};

use butler_hub::Tokens;
use butler_settings::{HOME_VARIABLE, Settings};
use butler_vocab::Role;
use owo_colors::OwoColorize;
use tokio_util::sync::CancellationToken;

use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    log::{self, FORMAT_VARIABLE},
    process,
    supervise::{Job, LineSink, Supervisor},
    ui::Ui,
    wiring,
};

/// Run hub and agents in the foreground; Ctrl-C stops all
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the hub listens, instead of the configured address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

pub fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let settings = Settings::load(&root, &environment)?;
    let listen = args.listen.unwrap_or(settings.machine.hub.listen);
    process::run(async move |cancel| {
        let lines: LineSink = Arc::new(|name, line| {
            Ui::new().note(format_args!("{} {line}", format!("{name:>10} │").dimmed()));
        });
        let place = Place {
            root,
            home: settings.home.clone(),
            listen,
        };
        let team = Team::start(&place, lines, cancel.clone()).await?;
        let link = login_link(&settings, &team.url)?;
        ui.line(format_args!("the team is at work: {link}"))?;
        cancel.cancelled().await;
        ui.note("stopping…");
        team.ended().await;
        Ok(Exit::Done)
    })
}

/// A link that opens the page, once.
pub fn login_link(settings: &Settings, url: &str) -> Result<String, CliError> {
    let mut tokens = Tokens::open(&wiring::hub_folder(settings)).map_err(CliError::internal)?;
    let code = tokens.login_link().map_err(CliError::internal)?;
    Ok(format!("{url}login?code={}", code.expose()))
}

/// Where a team runs.
pub struct Place {
    /// The repo.
    pub root: PathBuf,
    /// The machine's folder.
    pub home: PathBuf,
    /// Where the hub listens; port 0 takes a free one.
    pub listen: SocketAddr,
}

/// Hub and six agents, running.
pub struct Team {
    supervisor: Supervisor,
    /// Where the hub listens.
    pub url: String,
}

impl Team {
    /// Starts the hub, then the agents; returns when all of them are ready.
    pub async fn start(
        place: &Place,
        lines: LineSink,
        cancel: CancellationToken,
    ) -> Result<Self, CliError> {
        let supervisor = Supervisor::new(place.home.join("run"), lines, cancel.clone());
        let url = start_hub(place, &supervisor, &cancel).await?;
        let mut agents = Vec::new();
        for role in Role::ALL {
            let args = vec!["--role".into(), role.as_str().into()];
            agents.push(supervisor.keep(job(place, role.as_str(), args)?));
        }
        for mut ready in agents {
            tokio::select! {
                () = cancel.cancelled() => break,
                answer = ready.wait_for(Option::is_some) => {
                    answer.map_err(CliError::internal)?;
                }
            }
        }
        Ok(Self { supervisor, url })
    }

    /// Waits until every child has ended; call after cancelling.
    pub async fn ended(self) {
        self.supervisor.ended().await;
    }
}

async fn start_hub(
    place: &Place,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
) -> Result<String, CliError> {
    // The port is chosen here, so that a hub that is started again keeps it.
    let listen = free_address(place.listen)?;
    let args = vec!["hub".into(), "--listen".into(), listen.to_string().into()];
    let mut ready = supervisor.keep(job(place, "hub", args)?);
    tokio::select! {
        () = cancel.cancelled() => Err(CliError::user("stopped before the hub was ready")),
        answer = ready.wait_for(Option::is_some) => {
            let url = answer.map_err(CliError::internal)?.clone();
            Ok(url.unwrap_or_default())
        }
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

fn job(place: &Place, name: &str, args: Vec<OsString>) -> Result<Job, CliError> {
    Ok(Job {
        name: name.to_owned(),
        program: env::current_exe()?,
        args,
        env: vec![
            (HOME_VARIABLE.into(), place.home.clone().into_os_string()),
            // Each arena of the allocator keeps pages that an idle process does not need.
            ("MALLOC_ARENA_MAX".into(), "1".into()),
            (FORMAT_VARIABLE.into(), log::format().as_str().into()),
        ],
        folder: place.root.clone(),
    })
}
