//! Where the models answer: an address from a flag, a key from the environment,
//! what the machine has already, or what a person says.

use butler_config::{Endpoint, EndpointKind, Machine, address_problem};
use butler_model::ClientConfig;
use butler_protocol::{Role, Secret};
use inquire::{Select, Text, validator::Validation};
use serde_json::{Value, json};

use crate::commands::setup::init::{
    Args,
    answers::{secret, stopped},
};
use crate::{address, commands::environment, error::CliError, wiring};

/// What init calls the endpoint that it adds.
const NAME: &str = "main";

/// What becomes of the machine's endpoints.
#[derive(Debug)]
pub(crate) enum Place {
    /// The machine has one already.
    Known,
    /// The one that it has gets another key; where that stands, and the key.
    Rekeyed(Vec<String>, Secret),
    /// OpenRouter with this key.
    OpenRouter(Secret),
    /// Another endpoint becomes the default.
    Other(Other),
    /// Not now.
    Later,
}

/// An endpoint that was named.
#[derive(Debug)]
pub(crate) struct Other {
    name: String,
    /// As it will be asked.
    endpoint: Endpoint,
    /// The key that was named now, not one that stands in the file.
    key: Option<Secret>,
    /// What the machine config has under this name.
    before: Before,
}

#[derive(Debug)]
enum Before {
    Nothing,
    /// This address: only its key may change.
    Same,
    /// Another address, whose key must not go to this one.
    Another(String),
}

impl Place {
    /// Decides it.
    pub(crate) fn choose(args: &Args, machine: &Machine, ask: bool) -> Result<Self, CliError> {
        // Only a key that was named for it: OpenRouter's must not go to another host.
        let named = args.model_key_env.as_deref().map(named_key).transpose()?;
        if let Some(url) = &args.model_url {
            address::check("--model-url", url)?;
            return Ok(Place::Other(Other::at(url, named, machine)));
        }
        if Role::ALL
            .into_iter()
            .all(|role| machine.endpoint_for(role).is_some())
        {
            return match named {
                Some(key) => rekeyed(machine, key),
                None => Ok(Place::Known),
            };
        }
        if let Some(key) = named.or_else(|| named_key("OPENROUTER_API_KEY").ok()) {
            return Ok(Place::OpenRouter(key));
        }
        if !ask {
            return Ok(Place::Later);
        }
        asked(machine)
    }

    /// Keys to set in the machine config.
    pub(crate) fn keys(&self) -> Vec<(Vec<String>, Value)> {
        match self {
            Place::Known | Place::Later => Vec::new(),
            Place::Rekeyed(path, key) => vec![(path.clone(), json!(key.expose()))],
            Place::OpenRouter(key) => {
                vec![(path(&["openrouter", "apiKey"]), json!(key.expose()))]
            }
            Place::Other(other) => other.keys(),
        }
    }

    /// Its line in the report.
    pub(crate) fn summary(&self) -> String {
        match self {
            Place::Known => "as it was".to_owned(),
            Place::Rekeyed(..) => "as it was, with the new key".to_owned(),
            Place::OpenRouter(_) => "OpenRouter".to_owned(),
            Place::Other(other) => match &other.before {
                Before::Another(old) => format!("{}, instead of {old}", other.endpoint.base_url),
                _ => other.endpoint.base_url.clone(),
            },
            Place::Later => {
                "none yet; run init again with a key, or edit the machine config".to_owned()
            }
        }
    }
}

impl Other {
    /// The machine's own entry for this address, or a new one in its place.
    fn at(url: &str, key: Option<Secret>, machine: &Machine) -> Self {
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        let written = &machine.models.endpoints;
        let same = written
            .iter()
            .find(|(_, one)| plain(&one.base_url) == plain(url));
        if let Some((name, endpoint)) = same {
            let mut endpoint = endpoint.clone();
            endpoint.api_key = key.clone().or(endpoint.api_key);
            return Self {
                name: name.clone(),
                endpoint,
                key,
                before: Before::Same,
            };
        }
        Self {
            name: NAME.to_owned(),
            endpoint: wiring::plain_endpoint(EndpointKind::Generic, url, key.clone()),
            key,
            before: match written.get(NAME) {
                Some(old) => Before::Another(old.base_url.clone()),
                None => Before::Nothing,
            },
        }
    }

    fn keys(&self) -> Vec<(Vec<String>, Value)> {
        let at = ["models", "endpoints", &self.name];
        let key = self.key.as_ref().map(|key| json!(key.expose()));
        let mut keys = Vec::new();
        if let Before::Same = self.before {
            keys.extend(key.map(|key| (path(&[&at[..], &["apiKey"]].concat()), key)));
        } else {
            let mut value = json!({"kind": "generic", "baseUrl": self.endpoint.base_url});
            if let Some(key) = key {
                value["apiKey"] = key;
            }
            keys.push((path(&at), value));
        }
        keys.push((path(&["models", "default"]), json!(self.name)));
        keys
    }

    /// How it is asked for its models.
    pub(crate) fn client(&self, machine: &Machine) -> Result<ClientConfig, CliError> {
        let mut client = wiring::client_of(machine, &self.name, &self.endpoint)?;
        client.endpoint.address_from = "--model-url".to_owned();
        client.endpoint.key_from = "--model-key-env VARIABLE".to_owned();
        Ok(client)
    }
}

/// Where the key of the machine's one endpoint stands.
fn rekeyed(machine: &Machine, key: Secret) -> Result<Place, CliError> {
    let endpoints = Role::ALL
        .into_iter()
        .filter_map(|role| machine.endpoint_for(role));
    let mut names: Vec<String> = endpoints.map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let [name] = names.as_slice() else {
        return Err(CliError::user(format!(
            "--model-key-env: this machine has several endpoints ({})",
            names.join(", ")
        ))
        .hint("--model-url says whose key it is"));
    };
    let at = match machine.models.endpoints.contains_key(name) {
        true => path(&["models", "endpoints", name, "apiKey"]),
        // The short form.
        false => path(&[name, "apiKey"]),
    };
    Ok(Place::Rekeyed(at, key))
}

fn path(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn asked(machine: &Machine) -> Result<Place, CliError> {
    const CHOICES: [&str; 3] = [
        "OpenRouter, I have a key",
        "another OpenAI-compatible endpoint (Ollama, vLLM, a gateway)",
        "later",
    ];
    let choice = Select::new("Where do the models answer?", CHOICES.to_vec())
        .with_help_message("stored in the machine config, never in the repository")
        .raw_prompt()
        .map_err(stopped)?;
    Ok(match choice.index {
        0 => openrouter(secret("OpenRouter key (empty for later):")?),
        1 => {
            let url = Text::new("Address:")
                .with_default("http://127.0.0.1:11434/v1")
                .with_validator(|url: &str| {
                    Ok(match address_problem(url) {
                        None => Validation::Valid,
                        Some((what, remedy)) => {
                            Validation::Invalid(format!("{what}. {remedy}").into())
                        }
                    })
                })
                .prompt()
                .map_err(stopped)?;
            let key = written(secret("Key (empty for none):")?);
            Place::Other(Other::at(&url, key, machine))
        }
        _ => Place::Later,
    })
}

/// A key that is not there yet must not look like one that is.
fn openrouter(key: Secret) -> Place {
    written(key).map_or(Place::Later, Place::OpenRouter)
}

/// The answer, unless it was just Enter.
fn written(key: Secret) -> Option<Secret> {
    (!key.expose().is_empty()).then_some(key)
}

fn named_key(variable: &str) -> Result<Secret, CliError> {
    let key = environment(variable).filter(|key| !key.trim().is_empty());
    key.map(Secret::new).ok_or_else(|| {
        CliError::user(format!("the environment variable {variable} is not set")).hint(format!(
            "set {variable} to the endpoint's key and run it again"
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::init::endpoint::*;

    #[test]
    fn enter_at_the_question_for_a_key_stores_none() {
        assert!(matches!(openrouter(Secret::new("")), Place::Later));
        let given = openrouter(Secret::new("a-key"));
        assert!(matches!(given, Place::OpenRouter(key) if key.expose() == "a-key"));
    }
}
