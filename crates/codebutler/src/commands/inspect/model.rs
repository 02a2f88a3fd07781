//! `codebutler model`: the configured model endpoints, by hand.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    env,
    fmt::Write,
    time::Instant,
};

use butler_config::{Machine, Settings};
use butler_model::{ListPrice, ModelClient, ModelInfo, ModelRequest, Resolved, resolve};
use butler_protocol::{ModelMessage, Role};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    CliError, Exit, Ui, cli,
    commands::{environment, settings_around},
    process,
    wiring::{self, Unlisted},
};

/// Ask the model endpoint: whether it answers, what it has, what that costs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,

    /// The role whose endpoint and model are meant
    #[arg(long, global = true, default_value = "pm", value_parser = cli::role(), ignore_case = true)]
    role: Role,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Ask a model for one word; costs next to nothing
    Ping {
        /// The model, instead of the role's
        model: Option<String>,
    },
    /// List the models of the endpoint
    List {
        /// Only those whose name contains this
        part: Option<String>,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Show what models cost, those of all roles if none is named
    Price {
        models: Vec<String>,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
}

/// A short question with room for a model that thinks first.
const PING: &str = "Answer with the one word pong.";
const PING_TOKENS: u32 = 512;

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let configured = Configured::here()?;
    process::start_log("model");
    process::run(async move |cancel| match &args.verb {
        Verb::Ping { model } => ping(&configured, args.role, model.as_deref(), &cancel, ui).await,
        Verb::List { part, json } => {
            let models = configured.models(args.role, &cancel).await?;
            list(&models, part.as_deref().unwrap_or_default(), *json, ui)
        }
        Verb::Price { models, json } => {
            let wanted = configured.wanted(args.role, models)?;
            price(&configured, &wanted, *json, &cancel, ui).await
        }
    })
}

/// What is configured here.
struct Configured {
    machine: Machine,
    home: std::path::PathBuf,
    repo: Option<Settings>,
}

impl Configured {
    fn here() -> Result<Self, CliError> {
        let (machine, home) = Settings::machine(&environment)?;
        let repo = settings_around(&env::current_dir()?)?;
        Ok(Self {
            machine,
            home,
            repo,
        })
    }

    fn client(&self, role: Role) -> Result<ModelClient, CliError> {
        let config = wiring::client_config(&self.machine, &self.home, role)?;
        ModelClient::new(config).map_err(CliError::internal)
    }

    async fn models(
        &self,
        role: Role,
        cancel: &CancellationToken,
    ) -> Result<Vec<ModelInfo>, CliError> {
        listed(&self.client(role)?, cancel).await
    }

    /// The models to price: those that were named, else those of all roles.
    fn wanted(&self, role: Role, named: &[String]) -> Result<Vec<(Role, String)>, CliError> {
        if !named.is_empty() {
            return Ok(named.iter().map(|model| (role, model.clone())).collect());
        }
        let models = &self.repo.as_ref().ok_or_else(no_model)?.repo.models;
        let of = |role: Role| {
            let choice = models.of(role);
            let all = std::iter::once(choice.model).chain(choice.fallback);
            all.map(move |model| (role, model))
        };
        Ok(Role::ALL.into_iter().flat_map(of).collect())
    }
}

/// The endpoint's list; the client learns the prices in it.
async fn listed(
    client: &ModelClient,
    cancel: &CancellationToken,
) -> Result<Vec<ModelInfo>, CliError> {
    tokio::select! {
        () = cancel.cancelled() => Err(CliError::user("stopped")),
        models = client.models() => models.map_err(CliError::user),
    }
}

fn no_model() -> CliError {
    CliError::user("no repo is set up here, so no model is configured").hint("name the model")
}

async fn ping(
    configured: &Configured,
    role: Role,
    model: Option<&str>,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let model = match (model, &configured.repo) {
        (Some(model), _) => model.to_owned(),
        (None, Some(settings)) => settings.repo.models.of(role).model,
        (None, None) => return Err(no_model()),
    };
    let client = configured.client(role)?;
    // For the price only: not every endpoint has a list.
    let _ = listed(&client, cancel).await;
    let question = ModelMessage::User {
        text: PING.to_owned(),
        images: Vec::new(),
    };
    let mut request = ModelRequest::new(model, vec![question]);
    request.max_tokens = PING_TOKENS;
    let since = Instant::now();
    let reply = client.complete(&request, cancel, None).await;
    let reply = reply.map_err(CliError::user)?;
    let text = reply.text.unwrap_or_default();
    let seconds = since.elapsed().as_secs_f64();
    ui.line(format_args!(
        "{} answered in {seconds:.1} s: {}",
        reply.model,
        text.trim()
    ))?;
    ui.done(format_args!(
        "{} tokens in, {} out, {}",
        reply.usage.input, reply.usage.output, reply.cost
    ))
}

fn list(models: &[ModelInfo], part: &str, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let part = part.to_lowercase();
    let chosen: Vec<_> = models
        .iter()
        .filter(|model| model.id.to_lowercase().contains(&part))
        .collect();
    if as_json {
        return ui.done_json(chosen);
    }
    let width = chosen.iter().map(|model| model.id.len()).max().unwrap_or(0);
    for model in chosen {
        ui.line(format_args!("{:width$}  {}", model.id, about(model)))?;
    }
    Ok(Exit::Done)
}

/// The window, the price, and what deserves a word.
fn about(model: &ModelInfo) -> String {
    let price = model.price.as_ref().map(in_words);
    about_with(model, price.as_deref().unwrap_or("price unknown"))
}

fn about_with(model: &ModelInfo, price: &str) -> String {
    let mut text = match model.context {
        Some(tokens) => format!("{:>5}K", tokens / 1000),
        None => format!("{:>6}", "?"),
    };
    let _ = write!(text, "  {price}");
    if model.tools == Some(false) {
        text.push_str("  no tools");
    }
    if let Some(day) = &model.expires {
        let _ = write!(text, "  until {day}");
    }
    text
}

fn in_words(price: &ListPrice) -> String {
    let base = &price.base;
    format!("{} in, {} out per million tokens", base.input, base.output)
}

async fn price(
    configured: &Configured,
    wanted: &[(Role, String)],
    as_json: bool,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    // One list per endpoint; roles usually share one.
    let mut lists: BTreeMap<String, (Vec<ModelInfo>, Unlisted)> = BTreeMap::new();
    let mut exit = Exit::Done;
    let width = wanted
        .iter()
        .map(|(_, model)| model.len())
        .max()
        .unwrap_or(0);
    for (role, model) in wanted {
        let (name, endpoint) = wiring::endpoint_of(&configured.machine, &configured.home, *role)?;
        let (models, unlisted) = match lists.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let client = configured.client(*role)?;
                let unlisted = wiring::unlisted_price(&endpoint, &client.config().endpoint);
                new.insert((listed(&client, cancel).await?, unlisted))
            }
        };
        let (found, words) = match resolve(models, model) {
            Resolved::Exact(info) => (Some(info), priced(info, *unlisted)),
            Resolved::Respelt(info) => {
                let words = format!("{}  as {}", priced(info, *unlisted), info.id);
                (Some(info), words)
            }
            Resolved::Unknown { nearest } => {
                let words = format!("not in the list; near: {}", nearest.join(", "));
                (None, words)
            }
        };
        let known = found.is_some_and(|info| info.price.is_some());
        if !known && (found.is_none() || *unlisted == Unlisted::Unknown) {
            exit = Exit::Findings;
        }
        if as_json {
            ui.json(json!({"role": role, "model": model, "found": found}))?;
        } else {
            ui.line(format_args!("{:<11}{model:width$}  {words}", role.as_str()))?;
        }
    }
    Ok(exit)
}

/// As [`about`], with the price that counts where the list has none.
fn priced(model: &ModelInfo, unlisted: Unlisted) -> String {
    if model.price.is_some() {
        return about(model);
    }
    let price = match unlisted {
        Unlisted::Named(price) => format!(
            "{} in, {} out per million tokens, says the machine config",
            price.input, price.output
        ),
        Unlisted::Free => "free, a server on this machine".to_owned(),
        Unlisted::Unknown => "price unknown, counted at a high bound; \
             models.endpoints.<name>.price in the machine config names it"
            .to_owned(),
    };
    about_with(model, &price)
}
