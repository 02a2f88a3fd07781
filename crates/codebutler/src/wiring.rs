//! From settings to what each crate is told. Every crate gets its own small
//! configuration; only this folder knows how they follow from the files people
//! write.

mod in_force;
pub(crate) mod mcp;
mod rules;
pub(crate) mod search;

use std::{
    collections::BTreeMap,
    env,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_agent::AgentConfig;
use butler_config::{EndpointKind as Kind, ForgeIs, Machine, Settings};
use butler_hub::{
    Caps, HubConfig, HubTls, Limits, Operation, Outside, Pace, RelayConfig, Retention, StorePlace,
};
use butler_model::{ClientConfig, Endpoint, EndpointKind, PriceBook};
use butler_policy::{CustomPattern, Redactor};
use butler_protocol::{Price, Role, Secret, Usd};
use butler_repo::{ForgeHost, ForgeHosts, ForgeKind};
use butler_slack::{Webhook, Workspace};
use butler_tls::Trust;
use tokio_util::sync::CancellationToken;
use url::Url;

pub(crate) use in_force::{agent_and_rules, settings_in_force};
pub(crate) use rules::{checks, language, overrides, prompt_profile, rules};

use crate::{
    CliError,
    cli::VERSION,
    hub_access::{self, address},
    names,
    process::{self, running::KeptBy},
    roles, slack_check,
};

/// Where a hub that runs on this machine says how to reach it.
const ADDRESS_FILE: &str = "address";

/// The hub's folder below the machine's. The mirror of Slack and the built-in
/// workspace are two stores: what was said in one is not in the other.
pub(crate) fn hub_folder(settings: &Settings) -> PathBuf {
    let slack = hub_access::relays(settings);
    settings.home.join(if slack { "hub-slack" } else { "hub" })
}

/// Where the hub's store is. In one database, too, the mirror of Slack and the built-in
/// workspace are two.
pub(crate) fn hub_store(settings: &Settings) -> StorePlace {
    store_in(settings, settings.machine.hub.database.clone())
}

/// The same in another database.
pub(crate) fn store_in(settings: &Settings, database: Option<Secret>) -> StorePlace {
    let slack = hub_access::relays(settings).then_some("codebutler_slack");
    let added = [
        ("schema", slack),
        ("sslrootcert", settings.machine.network.ca_file.as_deref()),
    ];
    let database = database.map(|address| match Url::parse(address.expose()) {
        Ok(mut url) => {
            for (name, value) in added {
                let written = url.query_pairs().any(|(given, _)| given == name);
                if let (Some(value), false) = (value, written) {
                    url.query_pairs_mut().append_pair(name, value);
                }
            }
            Secret::new(url.as_str())
        }
        Err(_) => address,
    });
    StorePlace::new(hub_folder(settings), database)
}

pub(crate) fn redactor(settings: &Settings) -> Result<Redactor, CliError> {
    Redactor::new(&settings.machine.secrets(), &custom_patterns(settings))
        .map_err(CliError::internal)
}

/// What the hub is told.
pub(crate) fn hub_config(settings: &Settings) -> Result<HubConfig, CliError> {
    let listen = settings.machine.hub.listen;
    let mut config = HubConfig::new(listen, hub_folder(settings), redactor(settings)?);
    config.database = hub_store(settings).database();
    config.caps = caps(settings);
    config.approvers = settings.machine.approvers.clone();
    config.people = settings.machine.people.clone();
    let public = settings.machine.hub.public_url.as_deref();
    config.reach.public_url = public.and_then(|url| Url::parse(url).ok());
    config.reach.tls = hub_tls(settings)?;
    let hub = &settings.machine.hub;
    config.outside = Outside {
        webhook: called(settings, "hub.webhook", hub.webhook.as_ref())?,
        traces: called(settings, "hub.traces", hub.traces.as_ref())?,
        forge_secret: hub.forge_secret.clone(),
    };
    config.operation = operation(&settings.machine);
    config.relay = relay_config(settings)?;
    config.version = VERSION.to_owned();
    Ok(config)
}

/// How the hub encrypts, if it does.
pub(crate) fn hub_tls(settings: &Settings) -> Result<Option<HubTls>, CliError> {
    let hub = &settings.machine.hub;
    let file = settings.home.join("config.json");
    let wrong = |what: &str| CliError::user(format!("{}: {what}", file.display()));
    match (hub.tls.as_deref(), &hub.tls_key) {
        (None, None) => Ok(None),
        (Some("self"), None) => Ok(Some(HubTls::Own)),
        (Some("self"), Some(_)) => Err(wrong("with `hub.tls` \"self\" the hub makes its own key")
            .hint("take `hub.tlsKey` out, or name the certificate's file in `hub.tls`")),
        (Some(certificate), Some(key)) => Ok(Some(HubTls::Files {
            certificate: PathBuf::from(certificate),
            key: PathBuf::from(key),
        })),
        (Some(_), None) => Err(wrong("`hub.tls` names a certificate, and nothing its key")
            .hint("name the file of its private key in `hub.tlsKey`, or write \"self\"")),
        (None, Some(_)) => Err(wrong("`hub.tlsKey` without a certificate")
            .hint("name the certificate's file in `hub.tls`")),
    }
}

/// What the operator set.
fn operation(machine: &Machine) -> Operation {
    let hub = &machine.hub;
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    let limits = &hub.limits;
    Operation {
        retention: Retention {
            cold: days(hub.retention.cold_days),
            threads: hub.retention.thread_days.map(days),
            ..Retention::default()
        },
        limits: Limits {
            repo_month: limits.cost_per_repo_month.map(Usd::from_dollars),
            person_day: limits.cost_per_person_day.map(Usd::from_dollars),
            person_month: limits.cost_per_person_month.map(Usd::from_dollars),
            threads_of_repo: limits.open_threads_per_repo,
            threads_of_person: limits.open_threads_per_person,
            files_of_repo: limits.files_per_repo.map(|mb| u64::from(mb) * 1_000_000),
            messages: limits.messages_per_minute,
            api_calls: limits.calls_per_minute,
        },
        metrics_token: hub.metrics_token.clone(),
        ..Operation::default()
    }
}

/// An address of the machine config that the hub posts to.
fn called(
    settings: &Settings,
    key: &str,
    address: Option<&Secret>,
) -> Result<Option<Webhook>, CliError> {
    let Some(address) = address else {
        return Ok(None);
    };
    let ca_file = settings.machine.network.ca_file.as_ref().map(PathBuf::from);
    let webhook = Webhook::new(address.clone(), ca_file);
    let wrong = |error| CliError::user(format!("{key}: {error}"));
    webhook.map(Some).map_err(wrong)
}

/// How much the repo may spend.
pub(crate) fn caps(settings: &Settings) -> Caps {
    let limits = &settings.repo.limits;
    Caps {
        thread: limits.thread_cap(),
        day: limits.day_cap(),
        calls: Some(limits.max_calls_per_hour),
        calls_of_person: limits.max_calls_per_person_hour,
    }
}

/// Slack behind the hub, when the machine has its tokens.
fn relay_config(settings: &Settings) -> Result<Option<RelayConfig>, CliError> {
    let Some(tokens) = slack_check::tokens(&settings.machine)? else {
        return Ok(None);
    };
    Ok(Some(RelayConfig {
        base: tokens.base,
        bot_token: tokens.bot,
        app_token: tokens.app,
        ca_file: tokens.ca_file,
        channels: match own_repo(settings)? {
            Some(_) => vec![hub_access::repo_channel(settings)?],
            None => Vec::new(),
        },
        pace: Pace::default(),
    }))
}

/// The patterns that the repo has redacted besides the usual ones.
pub(crate) fn custom_patterns(settings: &Settings) -> Vec<CustomPattern> {
    let patterns = &settings.policy.redaction.patterns;
    patterns
        .iter()
        .map(|pattern| CustomPattern {
            name: pattern.name.clone(),
            regex: pattern.regex.clone(),
        })
        .collect()
}

/// The repo by name, for tokens, channel and logs.
pub(crate) fn repo_name(home: &Path, root: &Path) -> Result<String, CliError> {
    names::name_of(home, root).map_err(|error| {
        let file = home.join("repos.json");
        let hint = match error.kind() {
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory => {
                "make the folder writable, or let CODEBUTLER_HOME name another one"
            }
            _ => {
                "it says which folder has which name; fix it, or remove it if there is one repository"
            }
        };
        CliError::user(format!("{}: {error}", file.display())).hint(hint)
    })
}

/// The same, or nothing where a hub runs outside of any repo, with the machine's folder
/// in its place.
pub(crate) fn own_repo(settings: &Settings) -> Result<Option<String>, CliError> {
    match settings.root == settings.home {
        true => Ok(None),
        false => repo_name(&settings.home, &settings.root).map(Some),
    }
}

/// Where a hub of this machine said that it listens, and what it is known by.
pub(crate) fn remembered_hub(settings: &Settings) -> Option<Workspace> {
    let text = std::fs::read_to_string(hub_folder(settings).join(ADDRESS_FILE)).ok()?;
    address::read(&text)
}

/// Remembers where the hub listens, for processes that start later.
pub(crate) fn remember_hub(settings: &Settings, address: &str) -> Result<(), CliError> {
    let folder = hub_folder(settings);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(ADDRESS_FILE), address)?;
    Ok(())
}

/// The hub of this repo: on another machine, or where the one of this machine last said
/// that it listens.
pub(crate) fn hub(settings: &Settings) -> Result<Workspace, CliError> {
    let Some(joined) = settings.joined() else {
        return remembered_hub(settings).ok_or_else(no_hub);
    };
    let wrong = |what: &str| {
        let file = settings.home.join("config.json");
        CliError::user(format!("{}: {what} under `joined`", file.display()))
            .hint("join again: `codebutler init --join LINK`")
    };
    let base = Url::parse(&joined.url).map_err(|_| wrong("no address"))?;
    let trust = match &joined.fingerprint {
        Some(text) => Trust::Exactly(text.parse().map_err(|_| wrong("no fingerprint"))?),
        None => Trust::with_file(settings.machine.network.ca_file.as_ref().map(PathBuf::from)),
    };
    Ok(Workspace { base, trust })
}

/// Where the hub of this machine listens, as it last said itself.
pub(crate) fn hub_url(settings: &Settings) -> Result<Url, CliError> {
    hub_access::beside_hub(settings)?;
    Ok(remembered_hub(settings).ok_or_else(no_hub)?.base)
}

/// There is nobody to ask.
pub(crate) fn no_hub() -> CliError {
    CliError::user("no hub runs on this machine").hint(hub_access::STARTS_A_HUB)
}

/// What one agent is told besides the repo's rules.
pub(crate) fn agent_config(settings: &Settings, role: Role) -> Result<AgentConfig, CliError> {
    let hub = hub(settings)?;
    let mut repo = hub_access::repo_tokens(settings)?;
    let own = repo.agents.remove(&role).ok_or_else(|| {
        let given: Vec<Role> = repo.agents.keys().copied().collect();
        CliError::user(format!("this machine was not given the role {role}")).hint(format!(
            "it was given {}; `codebutler hub invite`, beside the hub, gives others",
            roles::words(&given)
        ))
    })?;
    Ok(AgentConfig {
        role,
        repo: settings.root.clone(),
        home: settings.home.clone(),
        person_home: process::person_home(),
        channel: repo.channel,
        approvers: settings.machine.approvers.clone(),
        hub,
        bot_token: own.bot,
        app_token: own.app,
        client: client_config(&settings.machine, &settings.home, role)?,
        forges: forge_hosts(&settings.machine),
        clock: process::system_clock(),
        sandbox_helper: env::current_exe()?,
        version: VERSION.to_owned(),
        renewal: CancellationToken::new(),
        is_kept: KeptBy::this_process() != KeptBy::Nobody,
    })
}

/// What this machine knows of forges. Only its own config names hosts and tokens.
pub(crate) fn forge_hosts(machine: &Machine) -> ForgeHosts {
    let host = |(host, at): (&String, &butler_config::ForgeAt)| ForgeHost {
        host: host.clone(),
        kind: match at.kind {
            ForgeIs::GitHub => ForgeKind::GitHub,
            ForgeIs::GitLab => ForgeKind::GitLab,
            ForgeIs::Gitea => ForgeKind::Gitea,
            ForgeIs::Plain => ForgeKind::Plain,
        },
        url: at.url.clone(),
        token: at.token.clone(),
    };
    ForgeHosts {
        hosts: machine.forges.iter().map(host).collect(),
        ca_file: machine.network.ca_file.clone().map(PathBuf::from),
    }
}

/// How to reach the model of a role. Only the machine config names hosts
/// and keys, so no repo is needed.
pub(crate) fn client_config(
    machine: &Machine,
    home: &Path,
    role: Role,
) -> Result<ClientConfig, CliError> {
    let (name, endpoint) = endpoint_of(machine, home, role)?;
    client_of(machine, &name, &endpoint)
}

/// The endpoint of a role, with its name.
pub(crate) fn endpoint_of(
    machine: &Machine,
    home: &Path,
    role: Role,
) -> Result<(String, butler_config::Endpoint), CliError> {
    machine.endpoint_for(role).ok_or_else(|| {
        CliError::user(format!("no model endpoint is configured for {role}")).hint(format!(
            "add one under models.endpoints in {}/config.json, or an OpenRouter key",
            home.display()
        ))
    })
}

/// How to reach an endpoint, and what it costs when nobody says.
pub(crate) fn client_of(
    machine: &Machine,
    name: &str,
    endpoint: &butler_config::Endpoint,
) -> Result<ClientConfig, CliError> {
    let base_url = Url::parse(&endpoint.base_url).map_err(|error| {
        CliError::user(format!("baseUrl of {name}, {}: {error}", endpoint.base_url))
    })?;
    let kind = match endpoint.kind {
        Kind::OpenRouter => EndpointKind::Openrouter,
        Kind::OpenAi => EndpointKind::Openai,
        Kind::Generic => EndpointKind::Generic,
    };
    let mut target = Endpoint::new(kind, base_url);
    target.key.clone_from(&endpoint.api_key);
    target.address_from = format!("models.endpoints.{name}.baseUrl in the machine config");
    target.key_from = format!("models.endpoints.{name}.apiKey in the machine config");
    target.headers = endpoint
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.expose().to_owned()))
        .collect();
    let mut config = ClientConfig::new(target);
    match unlisted_price(endpoint, &config.endpoint) {
        Unlisted::Named(price) => config.upper_price = price,
        Unlisted::Free => config.prices = PriceBook::free(),
        Unlisted::Unknown => {}
    }
    config.ca_file = machine.network.ca_file.clone().map(PathBuf::from);
    Ok(config)
}

/// What a model costs when neither the answer nor the endpoint's list says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unlisted {
    /// What a person wrote down.
    Named(Price),
    /// Nobody sends a bill for a server on this machine.
    Free,
    /// Counted at a bound that is deliberately high.
    Unknown,
}

/// The one place that decides it.
pub(crate) fn unlisted_price(endpoint: &butler_config::Endpoint, target: &Endpoint) -> Unlisted {
    let dollars = Usd::from_dollars;
    match endpoint.price {
        Some(price) => Unlisted::Named(Price::flat(dollars(price.input), dollars(price.output))),
        None if target.kind == EndpointKind::Generic && target.is_loopback() => Unlisted::Free,
        None => Unlisted::Unknown,
    }
}

/// An endpoint of which nothing is known but its address and perhaps a key.
pub(crate) fn plain_endpoint(
    kind: Kind,
    base_url: &str,
    api_key: Option<Secret>,
) -> butler_config::Endpoint {
    butler_config::Endpoint {
        kind,
        base_url: base_url.to_owned(),
        api_key,
        headers: BTreeMap::new(),
        roles: Vec::new(),
        price: None,
        window: None,
    }
}

/// The machine's endpoints with the roles that each answers for.
pub(crate) fn roles_by_endpoint(
    machine: &Machine,
) -> BTreeMap<String, (butler_config::Endpoint, Vec<Role>)> {
    let mut endpoints = BTreeMap::new();
    for role in Role::ALL {
        if let Some((name, endpoint)) = machine.endpoint_for(role) {
            let (_, roles) = endpoints
                .entry(name)
                .or_insert_with(|| (endpoint, Vec::new()));
            roles.push(role);
        }
    }
    endpoints
}
