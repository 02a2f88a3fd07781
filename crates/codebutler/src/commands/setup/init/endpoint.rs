//! Where the models answer: an address from a flag, a key from the environment, or
//! what the machine has already; and the keys that say so in the machine config.

use butler_config::{Endpoint, EndpointKind, Machine};
use butler_model::ClientConfig;
use butler_protocol::{Role, Secret};
use serde_json::{Value, json};

use crate::commands::setup::init::{
    Args,
    provider::{ANTHROPIC, Provider},
};
use crate::{CliError, commands::environment, wiring};

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
    /// What flags, environment and machine say; nothing when none of them does.
    pub(crate) fn given(args: &Args, machine: &Machine) -> Result<Option<Self>, CliError> {
        // Only a key that was named for it: OpenRouter's must not go to another host.
        let named = args.model_key_env.as_deref().map(named_key).transpose()?;
        if let Some(url) = &args.model_url {
            let other = Other::of(url, EndpointKind::Generic, named, machine);
            return Ok(Some(Place::Other(other)));
        }
        if let Some(provider) = args.provider {
            let key = named.or_else(|| provider.found_key());
            if let (None, Some(variable)) = (&key, provider.key_variable()) {
                return Err(unset(variable));
            }
            return Ok(Some(provider.place(key, machine)));
        }
        if Role::ALL
            .into_iter()
            .all(|role| machine.endpoint_for(role).is_some())
        {
            return Ok(Some(match named {
                Some(key) => rekeyed(machine, key)?,
                None => Place::Known,
            }));
        }
        Ok(named.map(Place::OpenRouter))
    }

    /// How it is asked; nothing where there is nobody new to ask.
    pub(crate) fn client(&self, machine: &Machine) -> Result<Option<ClientConfig>, CliError> {
        let (name, endpoint) = match self {
            Place::Known | Place::Later => return Ok(None),
            Place::OpenRouter(key) => {
                let base = Provider::Openrouter.address();
                let key = Some(key.clone());
                let endpoint = wiring::plain_endpoint(EndpointKind::OpenRouter, &base, key);
                ("openrouter".to_owned(), endpoint)
            }
            Place::Rekeyed(_, key) => {
                let Some((name, mut endpoint)) = machine.endpoint_for(Role::Pm) else {
                    return Ok(None);
                };
                endpoint.api_key = Some(key.clone());
                (name, endpoint)
            }
            Place::Other(other) => (other.name.clone(), other.endpoint.clone()),
        };
        wiring::client_of(machine, &name, &endpoint).map(Some)
    }

    /// Whether a key was given with it.
    pub(crate) fn has_key(&self) -> bool {
        match self {
            Place::Known | Place::Later => false,
            Place::OpenRouter(_) | Place::Rekeyed(..) => true,
            Place::Other(other) => other.key.is_some(),
        }
    }

    /// Which dialect is spoken there; the shipped models are OpenRouter's.
    pub(crate) fn kind(&self, machine: &Machine) -> EndpointKind {
        let known = || machine.endpoint_for(Role::Pm).map(|(_, one)| one.kind);
        match self {
            Place::OpenRouter(_) => EndpointKind::OpenRouter,
            Place::Other(other) => other.endpoint.kind,
            Place::Known | Place::Rekeyed(..) | Place::Later => known().unwrap_or_default(),
        }
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
    pub(crate) fn of(
        url: &str,
        kind: EndpointKind,
        key: Option<Secret>,
        machine: &Machine,
    ) -> Self {
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
            endpoint: spoken_to(kind, url, key.clone()),
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
            let mut value = json!({"kind": self.endpoint.kind, "baseUrl": self.endpoint.base_url});
            if let Some(key) = key {
                value["apiKey"] = key;
            }
            for (name, word) in &self.endpoint.headers {
                value["headers"][name] = json!(word.expose());
            }
            keys.push((path(&at), value));
        }
        keys.push((path(&["models", "default"]), json!(self.name)));
        keys
    }
}

/// Anthropic lists its models only to whoever speaks its own dialect as well.
fn spoken_to(kind: EndpointKind, url: &str, key: Option<Secret>) -> Endpoint {
    let mut endpoint = wiring::plain_endpoint(kind, url, key.clone());
    if url == ANTHROPIC
        && let Some(key) = key
    {
        let version = ("anthropic-version".to_owned(), Secret::new("2023-06-01"));
        endpoint
            .headers
            .extend([version, ("x-api-key".to_owned(), key)]);
    }
    endpoint
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

fn named_key(variable: &str) -> Result<Secret, CliError> {
    let key = environment(variable).filter(|key| !key.trim().is_empty());
    key.map(Secret::new).ok_or_else(|| unset(variable))
}

fn unset(variable: &str) -> CliError {
    CliError::user(format!("the environment variable {variable} is not set")).hint(format!(
        "set {variable} to the endpoint's key and run it again"
    ))
}
