//! From flags and files to what a run is told. Every file is optional: with an
//! address and a model on the command line nothing has to be set up.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_agent::exec::{ComingSandbox, ExecConfig, ExecFiles};
use butler_config::{EndpointKind, FOLDER, Machine, Settings};
use butler_model::ClientConfig;
use butler_playbook::Profile;
use butler_policy::{Overrides, Redactor};
use butler_protocol::{Role, Secret, Usd};
use butler_sandbox::Sandbox;
use butler_tools::{OutsideTools, text_in};
use butler_turn::{Limits, Models};
use futures_util::FutureExt;
use url::Url;

use crate::commands::inspect::policy;
use crate::commands::run::exec::{Args, typed::TypedPrice};
use crate::{
    CliError, Ui, address,
    commands::{environment, settings_around},
    process, wiring,
};

/// What a newcomer is protected by, as in a thread.
const DEFAULT_CAP: Usd = Usd::from_cents(500);
const MAX_TOKENS: u32 = 8_192;
/// More of a file than this does not enter a prompt anyway.
const LARGEST_FILE: u64 = 256 * 1024;

/// What was found on this machine, before the role is known for certain.
pub(crate) struct Plan {
    /// Where sessions are kept.
    pub state: PathBuf,
    folder: PathBuf,
    home: PathBuf,
    machine: Machine,
    settings: Option<Settings>,
    sandbox: ComingSandbox,
}

/// A run's configuration, and what keeps its secrets out of the output.
pub(crate) struct Ready {
    pub exec: Arc<ExecConfig>,
    pub redactor: Redactor,
}

impl Plan {
    pub(crate) fn of(args: &Args, folder: &Path, ui: &Ui) -> Result<Self, CliError> {
        // The kernel is probed while files are read and the model is asked.
        let sandbox = coming_sandbox()?;
        let settings = settings_around(folder)?;
        let (machine, home) = match &settings {
            Some(settings) => (settings.machine.clone(), settings.home.clone()),
            None => Settings::machine(&environment)?,
        };
        if let Some(settings) = &settings {
            policy::tell_waiting(settings, ui);
        }
        if args.model_url.is_some() && args.model.is_none() && settings.is_none() {
            return Err(CliError::user("--model-url needs --model")
                .hint("name the model that the endpoint should use"));
        }
        Ok(Self {
            state: home.join("exec"),
            folder: folder.to_owned(),
            home,
            machine,
            settings,
            sandbox,
        })
    }

    pub(crate) fn into_config(self, role: Role, args: &Args) -> Result<Ready, CliError> {
        let client = self.client(role, args)?;
        let mut secrets = self.machine.secrets();
        secrets.extend(client.endpoint.key.clone());
        let patterns = self
            .settings
            .as_ref()
            .map(wiring::custom_patterns)
            .unwrap_or_default();
        let redactor = Redactor::new(&secrets, &patterns).map_err(CliError::internal)?;
        let mut overrides = match &self.settings {
            Some(settings) => wiring::overrides(settings),
            None => Overrides::default(),
        };
        let allowed = &mut overrides.tool_overrides.bash.safe;
        allowed.extend(args.allow.iter().cloned());
        let outside = match &self.settings {
            Some(settings) => wiring::mcp::ServerPool::default().tools_alone(settings, role),
            None => OutsideTools::default().with_search(wiring::search::engine(&self.machine, &[])),
        };
        let repo = self.settings.as_ref().map(|settings| &settings.repo);
        let turns = repo.map_or_else(
            || butler_config::Limits::default().max_turns.of(role),
            |repo| repo.limits.max_turns.of(role),
        );
        let cap = args.cap.map(Usd::from_dollars);
        let cap = cap.or_else(|| repo.map(|repo| repo.limits.thread_cap()));
        Ok(Ready {
            exec: Arc::new(ExecConfig {
                role,
                files: self.files(role),
                profile: self.profile(role, args),
                models: self.models(role, args)?,
                limits: Limits::with_turns(args.max_turns.unwrap_or(turns)),
                cap: cap.unwrap_or(DEFAULT_CAP),
                checks: self
                    .settings
                    .as_ref()
                    .map(wiring::checks)
                    .unwrap_or_default(),
                person_home: process::person_home(),
                folder: self.folder,
                home: self.home,
                client,
                overrides,
                outside,
                redactor: Arc::new(redactor.clone()),
                clock: process::system_clock(),
                sandbox: self.sandbox,
            }),
            redactor,
        })
    }

    fn client(&self, role: Role, args: &Args) -> Result<ClientConfig, CliError> {
        let (name, mut endpoint) = match &args.model_url {
            None => wiring::endpoint_of(&self.machine, &self.home, role).map_err(|error| {
                error.hint(
                    "or give --model-url and --model; --key-env names the variable with its key",
                )
            })?,
            Some(url) => {
                address::check("--model-url", url)?;
                let endpoint = wiring::plain_endpoint(kind_of(url), url, key(args)?);
                ("--model-url".to_owned(), endpoint)
            }
        };
        if let Some(TypedPrice(price)) = args.price {
            endpoint.price = Some(price);
        }
        let mut client = wiring::client_of(&self.machine, &name, &endpoint)?;
        if args.model_url.is_some() {
            client.endpoint.address_from = "--model-url".to_owned();
            client.endpoint.key_from = "--key-env VARIABLE".to_owned();
        }
        Ok(client)
    }

    /// Of the configured model; one that was named here is taken for a usual one.
    fn profile(&self, role: Role, args: &Args) -> Profile {
        let configured = self.settings.as_ref().filter(|_| args.model.is_none());
        configured.map_or_else(Profile::default, |settings| {
            wiring::prompt_profile(settings.repo.models.of(role).profile)
        })
    }

    fn models(&self, role: Role, args: &Args) -> Result<Models, CliError> {
        let choice = self
            .settings
            .as_ref()
            .map(|settings| settings.repo.models.of(role));
        let (usual, fallback) = match (&args.model, choice) {
            (Some(model), _) => (model.clone(), None),
            (None, Some(choice)) => (choice.model, choice.fallback),
            (None, None) => {
                return Err(CliError::user("which model?").hint(
                    "--model names it; in a repository that is set up its configuration does",
                ));
            }
        };
        Ok(Models {
            usual,
            fallback,
            stronger: None,
            window_tokens: args.window,
            max_tokens: MAX_TOKENS,
        })
    }

    /// What the folder says to an agent. The person's own copy counts: they see
    /// these files, and started the agent on them.
    fn files(&self, role: Role) -> ExecFiles {
        let own = |name: &str| {
            let settings = self.settings.as_ref()?;
            text(&settings.root, &format!("{FOLDER}/{name}"))
        };
        let rules = ["AGENTS.md", "CLAUDE.md"]
            .into_iter()
            .find_map(|name| Some((name.to_owned(), text(&self.folder, name)?)));
        ExecFiles {
            role: own(&format!("{role}.md")),
            global: own("global.md"),
            rules,
        }
    }
}

/// A file of the folder. A clone may hold a link in its place, and what that leads to is not
/// meant for a model.
fn text(root: &Path, name: &str) -> Option<String> {
    text_in(root, name, LARGEST_FILE).unwrap_or_else(|error| {
        tracing::warn!(%error, "a file with instructions is left out");
        None
    })
}

fn key(args: &Args) -> Result<Option<Secret>, CliError> {
    let Some(name) = &args.key_env else {
        return Ok(None);
    };
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(Some(Secret::new(value))),
        _ => Err(CliError::user(format!("--key-env: {name} is not set"))
            .hint("export the key under this name, or name the variable that holds it")),
    }
}

fn kind_of(url: &str) -> EndpointKind {
    let url = Url::parse(url).ok();
    match url.as_ref().and_then(Url::host_str) {
        Some("openrouter.ai") => EndpointKind::OpenRouter,
        Some("api.openai.com") => EndpointKind::OpenAi,
        _ => EndpointKind::Generic,
    }
}

fn coming_sandbox() -> Result<ComingSandbox, CliError> {
    let helper = env::current_exe()?;
    let probe = tokio::task::spawn_blocking(move || Sandbox::new_in_use(helper));
    let sandbox = async move {
        match probe.await {
            // One command after another in one folder, which is being worked in.
            Ok(Ok(sandbox)) => Ok(Arc::new(sandbox.leaving_placeholders())),
            Ok(Err(error)) => Err(Arc::new(error)),
            Err(gone) => Err(Arc::new(butler_sandbox::SandboxError::Lost {
                step: "probing",
                source: gone.into(),
            })),
        }
    };
    Ok(sandbox.boxed().shared())
}
