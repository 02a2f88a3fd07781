//! Which model answers at an endpoint that is not OpenRouter. The defaults are
//! OpenRouter's names, so such an endpoint needs a name of its own for each role.

use std::time::Duration;

use butler_model::{ClientConfig, Endpoint, EndpointKind, ModelClient};
use butler_vocab::Secret;
use inquire::{Select, Text};
use serde_json::{Value, json};
use url::Url;

use super::answers::stopped;
use crate::{error::CliError, process};

/// An endpoint on this machine lists its models at once; one that does not must
/// not hold up the set-up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The name given, the only one there is, or the one a person chooses. None when
/// nobody can tell yet.
pub fn choose(
    given: Option<&str>,
    url: &str,
    key: Option<&Secret>,
    ask: bool,
) -> Result<Option<String>, CliError> {
    if let Some(name) = given {
        return Ok(Some(name.to_owned()));
    }
    let mut names = listed(url, key)?;
    if names.len() <= 1 && (!ask || !names.is_empty()) {
        return Ok(names.pop());
    }
    if !ask {
        return Ok(None);
    }
    let name = if names.is_empty() {
        let question = Text::new("Model? (the endpoint did not list any)");
        question.with_help_message("its name there; empty: later")
    } else {
        let question = Select::new("Model for all roles?", names)
            .with_help_message("`models` in .codebutler/config.json gives each role its own");
        return question.prompt().map(Some).map_err(stopped);
    };
    let name = name.prompt().map_err(stopped)?;
    Ok((!name.trim().is_empty()).then(|| name.trim().to_owned()))
}

/// The names at the endpoint; none when it does not answer. A bad address is not
/// told here: the check of the whole file names it, with its line.
fn listed(url: &str, key: Option<&Secret>) -> Result<Vec<String>, CliError> {
    let Ok(base) = Url::parse(url) else {
        return Ok(Vec::new());
    };
    let mut endpoint = Endpoint::new(EndpointKind::Generic, base);
    endpoint.key = key.cloned();
    let Ok(client) = ModelClient::new(ClientConfig::new(endpoint)) else {
        return Ok(Vec::new());
    };
    process::run(async move |_| {
        let answer = tokio::time::timeout(PATIENCE, client.models()).await;
        let models = answer.ok().and_then(Result::ok).unwrap_or_default();
        Ok(models.into_iter().map(|model| model.id).collect())
    })
}

/// One model for every role. It is its own fallback: the default one is
/// elsewhere.
pub fn for_all_roles(name: &str) -> Value {
    let plain = json!({"model": name, "fallbackModel": name});
    json!({
        "pm": {"default": name, "fallbackModel": name, "pool": {}},
        "coder": {"default": name, "fallbackModel": name},
        "reviewer": {"model": name, "firstPass": name, "fallbackModel": name},
        "researcher": plain,
        "artist": {"uxModel": name, "fallbackModel": name},
        "lead": plain,
    })
}
