//! The second question: where the models answer. An answer is tried at once with a
//! call that costs nothing; what is wrong with it is said, and only that is asked
//! again.

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use butler_config::{EndpointKind, Machine, address_problem};
use butler_model::ModelInfo;
use butler_protocol::Secret;

use crate::commands::setup::init::{
    ask,
    endpoint::{Other, Place},
};
use crate::{
    CliError, Paint, Ui,
    commands::environment,
    model_check::{self, Fault, Health},
    process,
};

/// A server on this machine that does not take a connection by then is not there.
const KNOCK: Duration = Duration::from_millis(200);

/// Whose list of models wants headers of its own.
pub(crate) const ANTHROPIC: &str = "https://api.anthropic.com/v1";

/// Somebody who has models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Provider {
    Openrouter,
    Anthropic,
    Openai,
    Gemini,
    Ollama,
    Llamacpp,
}

impl Provider {
    const ALL: [Provider; 6] = [
        Provider::Openrouter,
        Provider::Anthropic,
        Provider::Openai,
        Provider::Gemini,
        Provider::Ollama,
        Provider::Llamacpp,
    ];

    const fn title(self) -> &'static str {
        match self {
            Provider::Openrouter => "OpenRouter",
            Provider::Anthropic => "Anthropic",
            Provider::Openai => "OpenAI",
            Provider::Gemini => "Gemini",
            Provider::Ollama => "Ollama",
            Provider::Llamacpp => "llama.cpp",
        }
    }

    /// Where it answers. Ollama's own variable says where it is, if it is elsewhere.
    pub(crate) fn address(self) -> String {
        let usual = match self {
            Provider::Openrouter => "https://openrouter.ai/api/v1",
            Provider::Anthropic => ANTHROPIC,
            Provider::Openai => "https://api.openai.com/v1",
            Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/openai",
            Provider::Ollama => {
                let host = environment("OLLAMA_HOST").filter(|host| !host.trim().is_empty());
                let host = host.unwrap_or_else(|| "127.0.0.1:11434".to_owned());
                let host = host.trim().trim_end_matches('/');
                return match host.contains("://") {
                    true => format!("{host}/v1"),
                    false => format!("http://{host}/v1"),
                };
            }
            Provider::Llamacpp => "http://127.0.0.1:8080/v1",
        };
        usual.to_owned()
    }

    /// Where people usually keep its key; those on this machine want none.
    pub(crate) const fn key_variable(self) -> Option<&'static str> {
        match self {
            Provider::Openrouter => Some("OPENROUTER_API_KEY"),
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::Openai => Some("OPENAI_API_KEY"),
            Provider::Gemini => Some("GEMINI_API_KEY"),
            Provider::Ollama | Provider::Llamacpp => None,
        }
    }

    const fn kind(self) -> EndpointKind {
        match self {
            Provider::Openrouter => EndpointKind::OpenRouter,
            Provider::Openai => EndpointKind::OpenAi,
            _ => EndpointKind::Generic,
        }
    }

    /// The key that lies in the environment.
    pub(crate) fn found_key(self) -> Option<Secret> {
        let key = environment(self.key_variable()?)?;
        (!key.trim().is_empty()).then(|| Secret::new(key.trim()))
    }

    /// What the machine gets.
    pub(crate) fn place(self, key: Option<Secret>, machine: &Machine) -> Place {
        match (self, key) {
            (Provider::Openrouter, Some(key)) => Place::OpenRouter(key),
            (_, key) => Place::Other(Other::of(&self.address(), self.kind(), key, machine)),
        }
    }

    /// Why it may be the one, if something speaks for it.
    fn sign(self) -> Option<String> {
        match self.key_variable() {
            Some(variable) => self.found_key().map(|_| format!("key in {variable}")),
            None => {
                let address = self.address();
                let address = address.trim_start_matches("http://");
                let address: SocketAddr = address.trim_end_matches("/v1").parse().ok()?;
                let there = TcpStream::connect_timeout(&address, KNOCK).is_ok();
                there.then(|| "running here".to_owned())
            }
        }
    }
}

/// What was chosen, and what is known about it.
pub(crate) struct Chosen {
    pub place: Place,
    /// Its models; nothing when it has no list or was not asked.
    pub models: Option<Vec<ModelInfo>>,
    /// What is still to be done.
    pub open: Option<String>,
}

/// How a place turned out.
pub(crate) fn tried(place: &Place, machine: &Machine) -> Result<Option<Health>, CliError> {
    let Some(config) = place.client(machine)? else {
        return Ok(None);
    };
    process::run(async move |_| Ok(Some(model_check::examine(config).await)))
}

/// Asks until an answer works, or the person wants it as it is.
pub(crate) fn asked(machine: &Machine, ui: &Ui) -> Result<Chosen, CliError> {
    let mut known: Vec<(Provider, Option<String>)> = Provider::ALL
        .into_iter()
        .map(|one| (one, one.sign()))
        .collect();
    // What is there already stands first.
    known.sort_by_key(|(_, sign)| sign.is_none());
    let mut choices: Vec<String> = known
        .iter()
        .map(|(one, sign)| match sign {
            Some(sign) => format!("{} ({sign})", one.title()),
            None => one.title().to_owned(),
        })
        .collect();
    choices.push("another address that speaks OpenAI's protocol".to_owned());
    choices.push("later".to_owned());
    let help = "kept in the machine config, never in the repository";
    let mut cursor = 0;
    loop {
        let at = ask::one_of("Who has the models?", help, &choices, cursor)?;
        cursor = at;
        let chosen = match known.get(at) {
            Some((provider, _)) => of_provider(*provider, machine, ui)?,
            None if at + 1 == choices.len() => {
                return Ok(Chosen {
                    place: Place::Later,
                    models: None,
                    open: None,
                });
            }
            None => of_address(machine, ui)?,
        };
        if let Some(chosen) = chosen {
            return Ok(chosen);
        }
    }
}

/// Nothing when the person wants to choose again.
fn of_provider(provider: Provider, machine: &Machine, ui: &Ui) -> Result<Option<Chosen>, CliError> {
    let mut key = provider.found_key();
    let mut wants_key = provider.key_variable().is_some();
    loop {
        if wants_key && key.is_none() {
            let question = format!("Key for {} (Enter to choose again):", provider.title());
            key = ask::secret(&question)?;
            if key.is_none() {
                return Ok(None);
            }
        }
        match try_place(provider.place(key.clone(), machine), machine, ui)? {
            Outcome::Take(chosen) => return Ok(Some(*chosen)),
            Outcome::Back => return Ok(None),
            Outcome::Key => (wants_key, key) = (true, None),
            Outcome::Address => {}
        }
    }
}

fn of_address(machine: &Machine, ui: &Ui) -> Result<Option<Chosen>, CliError> {
    // What is typed or pasted must not land behind somebody else's address.
    let mut address = String::new();
    let mut key = None;
    loop {
        if key.is_none() {
            address = ask::address("Address (empty to choose again):", &address)?;
            if address.is_empty() {
                return Ok(None);
            }
            if let Some((what, remedy)) = address_problem(&address) {
                ui.note(format_args!("{} {what}. {remedy}", "✗".red()));
                continue;
            }
        }
        let place = Other::of(&address, EndpointKind::Generic, key.take(), machine);
        match try_place(Place::Other(place), machine, ui)? {
            Outcome::Take(chosen) => return Ok(Some(*chosen)),
            Outcome::Back => return Ok(None),
            Outcome::Address => {}
            Outcome::Key => key = ask::secret("Key (Enter for another address):")?,
        }
    }
}

/// What follows from a try.
enum Outcome {
    Take(Box<Chosen>),
    /// Another key is needed.
    Key,
    /// Another address, or the same once more.
    Address,
    /// Another provider.
    Back,
}

fn try_place(place: Place, machine: &Machine, ui: &Ui) -> Result<Outcome, CliError> {
    ui.note(format_args!("asking {} …", place.summary()).dimmed());
    let (models, open) = match tried(&place, machine)? {
        None => (None, None),
        Some(Health::Lists(models)) => {
            ui.note(format_args!("{} it answers", "✓".green()));
            (Some(models), None)
        }
        Some(Health::Unlisted(why)) => {
            ui.note(format_args!(
                "{} it has no list of models: {why}",
                "!".yellow()
            ));
            (None, None)
        }
        Some(Health::Unusable(fault)) => {
            ui.note(format_args!("{} {}", "✗".red(), fault.what));
            if fault.key {
                return Ok(Outcome::Key);
            }
            let choices = ["try again", "keep it as it is, unchecked", "choose again"];
            match ask::one_of("What now?", &fault.fix, &choices.map(str::to_owned), 0)? {
                0 => return Ok(Outcome::Address),
                1 => (None, Some(unchecked(&fault))),
                _ => return Ok(Outcome::Back),
            }
        }
    };
    Ok(Outcome::Take(Box::new(Chosen {
        place,
        models,
        open,
    })))
}

/// What is left to do about an answer that was kept although it did not work.
pub(crate) fn unchecked(fault: &Fault) -> String {
    let stop = if fault.what.ends_with(['.', '?']) {
        ""
    } else {
        "."
    };
    format!(
        "{}{stop} Until that changes the team cannot work: {}",
        fault.what, fault.fix
    )
}
