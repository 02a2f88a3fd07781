//! `codebutler hub`: the hub alone; `hub tokens`, `invite` and the like: who may speak to
//! it. In a repository it serves that one first; outside of any it serves whoever joins.

mod machines;

use std::{env, net::SocketAddr, time::Duration};

use butler_config::{RepoFiles, Settings, machine_folder, set_up_root, write_private};
use butler_hub::{Hub, HubConfig, HubError, runs_in};
use butler_protocol::Secret;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::commands::run::{
    agent,
    listen::{Listen, not_started},
};
use crate::{
    CliError, Exit, Ui,
    commands::{environment, setup::config_file::ConfigFile},
    hub_access::{self, address},
    log,
    process::{self, renewal, running},
    supervise::READY,
    wiring,
};

/// Between two looks whether another hub still runs.
const GLANCE: Duration = Duration::from_millis(500);

/// Run the hub alone
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    listen: Listen,

    /// Wait while another hub has the folder, and take its place when it ends
    #[arg(long, hide = true)]
    stand_by: bool,

    #[command(subcommand)]
    command: Option<HubCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum HubCommand {
    /// Show the tokens of this repo's agents, and yours
    Tokens {
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    Invite(machines::Invite),
    /// List the machines that joined, and invitations that nobody has used yet
    Machines {
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Send a machine away, or take an invitation back
    Revoke {
        /// Its id in `codebutler hub machines`
        id: String,
    },
    /// Print the certificate that the hub made for itself, for programs that want a file of it
    Certificate,
    /// Move the workspace into a PostgreSQL database, for more than one hub; the hub may run
    Migrate {
        /// Its address: postgres://user:password@host/name
        #[arg(long, value_name = "ADDRESS")]
        to: String,
    },
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings()?;
    hub_access::beside_hub(&settings)?;
    match &args.command {
        Some(HubCommand::Invite(args)) => machines::invite(args, &settings, ui),
        Some(HubCommand::Machines { json }) => machines::list(&settings, *json, ui),
        Some(HubCommand::Revoke { id }) => machines::revoke(&settings, id, ui),
        Some(HubCommand::Certificate) => machines::certificate(&settings, ui),
        Some(HubCommand::Tokens { json }) => tokens(&settings, *json, ui),
        Some(HubCommand::Migrate { to }) => migrate(&settings, to, ui),
        None => agent::told(serve(&settings, args, ui)),
    }
}

/// Those of the repo here; outside of any the machine's alone, with its folder in the
/// place of a repo.
fn settings() -> Result<Settings, CliError> {
    let home = machine_folder(&environment);
    if let Some(root) = set_up_root(&env::current_dir()?, home.as_deref()) {
        return Ok(Settings::load(&root, &environment)?);
    }
    let nowhere = home.unwrap_or_default();
    let files = RepoFiles::default();
    Ok(Settings::load_from(&nowhere, &files, &environment)?)
}

fn serve(settings: &Settings, args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let mut config = wiring::hub_config(settings)?;
    config.listen = args.listen.address(settings)?;
    config.reach.anywhere = args.listen.listen_anywhere;
    // `up` has chosen a free port for the hub that it keeps; if that is taken by
    // now, or when a hub that was shared ends, any port is better than none.
    config.reach.exact = args.listen.is_exact() && !args.stand_by;
    let repo = wiring::own_repo(settings)?.unwrap_or_else(|| running::HUB.to_owned());
    let mut lines = log::start_process("hub", &settings.home, &repo);
    log::know(config.redactor.clone());
    let note = running::hold(&settings.home, &repo, running::HUB);
    if let Err(error) = &note {
        warn!(%error, "`codebutler status` will not see this process");
    }
    process::allow_many_files();
    process::run(async move |cancel| {
        let ending = cancel.child_token();
        let serving = until_ended(settings, config, args.stand_by, &mut lines, &ending, ui);
        let renewed = async {
            renewal::another_binary().await;
            ending.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            served = serving => served?,
            () = renewed => {}
        }
        let comes_back = ending.is_cancelled() && !cancel.is_cancelled();
        Ok(if comes_back {
            Exit::ComeBack
        } else {
            Exit::Done
        })
    })
}

/// Serves, or waits for its turn to, until cancelled.
async fn until_ended(
    settings: &Settings,
    mut config: HubConfig,
    waits: bool,
    lines: &mut log::Lines,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<(), CliError> {
    let hub = loop {
        match Hub::start(config.clone(), cancel.clone()).await {
            Err(HubError::Running(_)) if waits => {
                let Some(listen) = stand_by(settings, config.listen, cancel, ui).await? else {
                    return Ok(());
                };
                config.listen = listen;
            }
            started => break started.map_err(not_started)?,
        }
    };
    let scheme = if hub.fingerprint().is_some() {
        "https"
    } else {
        "http"
    };
    let url = format!("{scheme}://{}/", hub.address());
    wiring::remember_hub(settings, &address::written(&url, hub.fingerprint()))?;
    let note = hub.noter();
    ui.line(format_args!("{READY} {url}"))?;
    butler_sandbox::let_go_of_start();
    let noting = async {
        while let Some(line) = lines.recv().await {
            note(line);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = hub.wait() => {}
        () = noting => {}
    }
    Ok(())
}

/// Another hub of this machine serves this repo too. Says where it is, waits for
/// its end, and gives the address at which everybody looks for a hub: its own, or
/// the wanted one when nobody has met it.
async fn stand_by(
    settings: &Settings,
    wanted: SocketAddr,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Option<SocketAddr>, CliError> {
    let folder = wiring::hub_folder(settings);
    let mut joined = None;
    while runs_in(&folder).map_err(CliError::internal)? {
        // It may be starting itself; what an earlier one left behind is silent.
        if joined.is_none()
            && let Some(hub) = wiring::remembered_hub(settings)
            && let Ok(health) = hub.base.join("healthz")
            && let Ok(client) = hub_access::client(&hub)
            && client.get(health).timeout(GLANCE * 4).send().await.is_ok()
        {
            let url = hub.base;
            ui.line(format_args!("{READY} {url}"))?;
            joined = Some(url);
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(None),
            () = tokio::time::sleep(GLANCE) => {}
        }
    }
    info!("the hub that was shared has ended; taking its place");
    let place = joined.and_then(|url| url.socket_addrs(|| None).ok());
    let place = place.and_then(|all| all.first().copied());
    Ok(Some(place.unwrap_or(wanted)))
}

fn migrate(settings: &Settings, to: &str, ui: &Ui) -> Result<Exit, CliError> {
    if settings.machine.hub.database.is_some() {
        let error = CliError::user("the workspace is in a database already (hub.database)");
        return Err(error.hint("back into a file: `codebutler backup --with-secrets`, take hub.database out, `codebutler restore`"));
    }
    let place = wiring::store_in(settings, Some(Secret::new(to)));
    let to = place.database().unwrap_or_else(|| Secret::new(to));
    let mut file = ConfigFile::open(settings.home.join("config.json"), "{}\n")?;
    // Before anything is moved: where this fails, nothing was.
    file.set(&["hub", "database"], json!(to.expose()))?;
    let moved = butler_hub::migrate(&wiring::hub_folder(settings), to.clone());
    let moved = moved.map_err(CliError::because)?;
    write_private(file.path(), file.text())?;
    ui.line(format_args!(
        "moved {} rows of {} tables; {} names the database now (`hub.database`)",
        moved.rows,
        moved.tables,
        file.path().display()
    ))?;
    ui.note("a hub that ran ends by itself; its supervisor, or you, starts the next one on the database");
    Ok(Exit::Done)
}

fn tokens(settings: &Settings, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let repo = hub_access::repo_tokens(settings)?;
    let mut tokens = hub_access::store(settings)?;
    let person = tokens.ensure_person("you").map_err(CliError::internal)?;
    if as_json {
        let agents: serde_json::Map<_, _> = repo
            .agents
            .iter()
            .map(|(role, own)| {
                let pair = json!({"bot": own.bot.expose(), "app": own.app.expose()});
                (role.to_string(), pair)
            })
            .collect();
        return ui.done_json(json!({
            "channel": repo.channel,
            "agents": agents,
            "people": {"you": {"user": person.user, "token": person.token.expose()}},
        }));
    }
    ui.line(format_args!("channel  {}", repo.channel))?;
    for (role, own) in &repo.agents {
        ui.line(format_args!(
            "{role:<11}{}  {}",
            own.bot.expose(),
            own.app.expose()
        ))?;
    }
    ui.done(format_args!("{:<11}{}", "you", person.token.expose()))
}
