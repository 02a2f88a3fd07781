//! Which model answers at an endpoint that is not OpenRouter. The defaults are
//! OpenRouter's names, so such an endpoint needs a name of its own for each role.

use std::time::Duration;

use butler_config::{Models, PmModels};
use butler_model::{ClientConfig, ModelClient};
use butler_protocol::{Role, visible_line};
use inquire::{Select, Text};
use serde_json::{Value, json};

use crate::commands::setup::init::answers::stopped;
use crate::{error::CliError, process};

/// An endpoint on this machine lists its models at once; one that does not must
/// not hold up the set-up.
const PATIENCE: Duration = Duration::from_secs(5);
/// More names than this do not help anybody to choose in a line.
const SHOWN: usize = 5;

/// What is to be asked at an endpoint.
#[derive(Debug)]
pub(crate) enum Choice {
    /// This model.
    Named(String),
    /// Nobody can tell yet; why, and what to do about it.
    Open(String),
}

/// The only model there is, or the one a person chooses.
pub(crate) fn choose(config: ClientConfig, ask: bool) -> Result<Choice, CliError> {
    let address = config.endpoint.address();
    let mut names = match listed(config)? {
        Ok(names) => names,
        Err(why) if ask => return typed(&why),
        Err(why) => {
            return Ok(Choice::Open(format!(
                "{why} Once it answers, or if it has no list, name a model: \
                 `codebutler init --model NAME`"
            )));
        }
    };
    match names.len() {
        0 if ask => typed(&format!("{address} lists no models.")),
        0 => Ok(Choice::Open(format!(
            "{address} lists no models; name one: `codebutler init --model NAME`"
        ))),
        1 => Ok(Choice::Named(names.remove(0))),
        _ if ask => Select::new("Model for all roles?", names)
            .with_help_message("`models` in .codebutler/config.json gives each role its own")
            .prompt()
            .map(Choice::Named)
            .map_err(stopped),
        count => {
            let shown = names[..count.min(SHOWN)].join(", ");
            let more = if count > SHOWN { ", …" } else { "" };
            Ok(Choice::Open(format!(
                "{address} has {count} models ({shown}{more}); \
                 name one: `codebutler init --model NAME`"
            )))
        }
    }
}

fn typed(why: &str) -> Result<Choice, CliError> {
    let name = Text::new("Model?")
        .with_help_message(&visible_line(&format!(
            "{why} Its name there, or empty for later"
        )))
        .prompt()
        .map_err(stopped)?;
    Ok(match name.trim() {
        "" => Choice::Open(format!(
            "{why} Name the model later: `codebutler init --model NAME`"
        )),
        name => Choice::Named(name.to_owned()),
    })
}

/// The names at the endpoint, or why it did not tell.
fn listed(config: ClientConfig) -> Result<Result<Vec<String>, String>, CliError> {
    let address = config.endpoint.address();
    let client = match ModelClient::new(config) {
        Ok(client) => client,
        Err(error) => return Ok(Err(format!("{error}."))),
    };
    let answer =
        process::run(async move |_| Ok(tokio::time::timeout(PATIENCE, client.models()).await))?;
    let why = match answer {
        Ok(Ok(models)) => {
            let names = models.into_iter().map(|model| model.id);
            // A prompt draws them itself; a name that cannot be seen is none to choose.
            return Ok(Ok(names
                .filter(|name| visible_line(name) == *name)
                .collect()));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("{address} did not list its models in {PATIENCE:?}"),
    };
    // Some errors end with a question.
    let stop = if why.ends_with('?') { "" } else { "." };
    Ok(Err(format!("{why}{stop}")))
}

/// The keys under `models` that give these roles this model. It is its own
/// fallback: the default one is elsewhere. What the repo has beside them
/// (profiles, a pool of its own) stays.
pub(crate) fn keys(roles: &[Role], name: &str, before: &Models) -> Vec<(Vec<String>, Value)> {
    let plain = json!({"model": name, "fallbackModel": name});
    let mut table = json!({
        "pm": {"default": name, "fallbackModel": name},
        "coder": {"default": name, "fallbackModel": name},
        "reviewer": {"model": name, "firstPass": name, "fallbackModel": name},
        "researcher": plain,
        "artist": {"uxModel": name, "fallbackModel": name},
        "lead": plain,
    });
    if before.pm.pool == PmModels::default().pool {
        table["pm"]["pool"] = json!({});
    }
    let coder = &before.coder;
    let sizes = [
        ("simple", &coder.simple),
        ("medium", &coder.medium),
        ("complex", &coder.complex),
    ];
    // These come before `default`, so the old names would still be asked.
    for (size, _) in sizes.into_iter().filter(|(_, model)| model.is_some()) {
        table["coder"][size] = json!(name);
    }
    let mut keys = Vec::new();
    for role in roles {
        let of_role = table[role.as_str()].as_object();
        for (key, value) in of_role.into_iter().flatten() {
            let path = ["models", role.as_str(), key].map(str::to_owned);
            keys.push((path.to_vec(), value.clone()));
        }
    }
    keys
}
