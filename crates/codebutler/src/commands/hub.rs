//! `codebutler hub`: the hub alone; `hub tokens`: who may speak to it.

use std::net::SocketAddr;

use butler_hub::{Hub, HubError, Tokens};
use butler_settings::Settings;
use serde_json::json;

use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    log, process,
    supervise::READY,
    ui::Ui,
    wiring,
};

/// Run the hub alone
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to listen, instead of the configured address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

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
}

pub fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = Settings::load(&set_up_here()?, &environment)?;
    match args.command {
        Some(HubCommand::Tokens { json }) => tokens(&settings, json, ui),
        None => serve(&settings, args.listen, ui),
    }
}

fn serve(settings: &Settings, listen: Option<SocketAddr>, ui: &Ui) -> Result<Exit, CliError> {
    let mut config = wiring::hub_config(settings)?;
    config.listen = listen.unwrap_or(config.listen);
    let repo = wiring::repo_name(&settings.root);
    let mut lines = log::start_process("hub", &settings.home, &repo);
    log::know(config.redactor.clone());
    process::run(async move |cancel| {
        let hub = Hub::start(config, cancel).await.map_err(not_started)?;
        let url = format!("http://{}/", hub.address());
        wiring::remember_hub(settings, &url)?;
        let note = hub.noter();
        let noting = tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                note(line);
            }
        });
        ui.line(format_args!("{READY} {url}"))?;
        hub.wait().await;
        noting.abort();
        Ok(Exit::Done)
    })
}

fn not_started(error: HubError) -> CliError {
    match error {
        HubError::Slack(_) => {
            CliError::user(error).hint("`codebutler doctor` says what is wrong with the Slack app")
        }
        other => CliError::internal(other),
    }
}

fn tokens(settings: &Settings, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let mut tokens = Tokens::open(&wiring::hub_folder(settings)).map_err(CliError::internal)?;
    let repo = tokens
        .ensure_repo(
            &wiring::repo_name(&settings.root),
            &wiring::channel_name(settings),
        )
        .map_err(CliError::internal)?;
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
        ui.line(json!({
            "channel": repo.channel,
            "agents": agents,
            "people": {"you": {"user": person.user, "token": person.token.expose()}},
        }))?;
        return Ok(Exit::Done);
    }
    ui.line(format_args!("channel  {}", repo.channel))?;
    for (role, own) in &repo.agents {
        ui.line(format_args!(
            "{role:<11}{}  {}",
            own.bot.expose(),
            own.app.expose()
        ))?;
    }
    ui.line(format_args!("{:<11}{}", "you", person.token.expose()))?;
    Ok(Exit::Done)
}
