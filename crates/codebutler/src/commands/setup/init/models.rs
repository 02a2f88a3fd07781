//! Which model answers at an endpoint that is not OpenRouter. The defaults are
//! OpenRouter's names, so such an endpoint needs a name of its own for each role.

use butler_config::{EndpointKind, Models, PmModels};
use butler_model::{ModelInfo, Resolved, resolve};
use butler_protocol::{Role, visible_line};
use serde_json::{Value, json};

use crate::{CliError, Paint, Ui, commands::setup::init::ask};

/// More names than this do not help anybody to choose in a line.
const SHOWN: usize = 5;

/// Parts of the names of models that do not write text.
const OTHERS: [&str; 11] = [
    "embed",
    "tts",
    "whisper",
    "dall-e",
    "image",
    "audio",
    "realtime",
    "moderation",
    "transcribe",
    "sora",
    "veo",
];

/// What an endpoint that has several is likely to be wanted for, the best first.
const PREFERRED: [&str; 6] = [
    "claude-sonnet",
    "gpt-5",
    "gemini-2.5-pro",
    "qwen3-coder",
    "qwen",
    "llama",
];

/// What is to be asked at an endpoint.
#[derive(Debug)]
pub(crate) enum Choice {
    /// This model.
    Named(String),
    /// Nobody can tell yet; why, and what to do about it.
    Open(String),
}

/// The model that a flag names, against the list where there is one, and what people
/// should know about it. One that is not there is said, and at a terminal asked for
/// again; else it is an error, but at a server of one's own, which may answer to any
/// name.
pub(crate) fn checked(
    name: &str,
    models: Option<&[ModelInfo]>,
    kind: EndpointKind,
    asks: bool,
    ui: &Ui,
) -> Result<(String, Option<String>), CliError> {
    let Some(models) = models.filter(|models| !models.is_empty()) else {
        return Ok((name.to_owned(), None));
    };
    let near = match resolve(models, name) {
        Resolved::Exact(model) | Resolved::Respelt(model) => return Ok((model.id.clone(), None)),
        Resolved::Unknown { nearest } => nearest,
    };
    let wrong = format!("there is no model `{name}`");
    if asks {
        ui.note(format_args!("{} {wrong}", "✗".red()));
        let chosen = select(names(models), near.first().map(|near| &**near))?;
        return Ok((chosen, None));
    }
    let hint = match near.as_slice() {
        [] => format!("it has {}", few(&names(models))),
        near => format!("did you mean {}?", near.join(", ")),
    };
    if kind == EndpointKind::Generic {
        let open = format!("{wrong} in the endpoint's list; {hint}");
        return Ok((name.to_owned(), Some(open)));
    }
    Err(CliError::user(wrong)
        .hint(hint)
        .hint("nothing was written; --untried takes it unchecked"))
}

/// The only model there is, or the one a person chooses.
pub(crate) fn choose(
    address: &str,
    models: Option<&[ModelInfo]>,
    asks: bool,
) -> Result<Choice, CliError> {
    let mut names = names(models.unwrap_or_default());
    match names.len() {
        0 if asks => typed(&format!("{address} lists no models.")),
        0 => Ok(Choice::Open(format!(
            "{address} lists no models; name one: `codebutler init --model NAME`"
        ))),
        1 => Ok(Choice::Named(names.remove(0))),
        _ if asks => select(names, None).map(Choice::Named),
        count => Ok(Choice::Open(format!(
            "{address} has {count} models ({}); name one: `codebutler init --model NAME`",
            few(&names)
        ))),
    }
}

fn few(names: &[String]) -> String {
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// Those that write text and whose name can be seen: a prompt draws them itself.
fn names(models: &[ModelInfo]) -> Vec<String> {
    let all = || {
        let names = models.iter().map(|model| &model.id);
        names.filter(|name| visible_line(name) == **name)
    };
    let writes = |name: &&String| {
        let name = name.to_ascii_lowercase();
        !OTHERS.iter().any(|part| name.contains(part))
    };
    let writing: Vec<String> = all().filter(writes).cloned().collect();
    match writing.is_empty() {
        true => all().cloned().collect(),
        false => writing,
    }
}

fn select(names: Vec<String>, near: Option<&str>) -> Result<String, CliError> {
    let liked = || {
        let mut liked = PREFERRED.iter();
        liked.find_map(|part| names.iter().position(|name| name.contains(part)))
    };
    let at = near.and_then(|near| names.iter().position(|name| name == near));
    let at = at.or_else(liked).unwrap_or(0);
    let help = "type to search; `models` in .codebutler/config.json gives each role its own";
    let chosen = ask::one_of("Model for all roles?", help, &names, at)?;
    Ok(names.into_iter().nth(chosen).unwrap_or_default())
}

fn typed(why: &str) -> Result<Choice, CliError> {
    let question = format!("{why} Name of the model (empty for later):");
    Ok(match ask::line(&question, "")? {
        name if name.is_empty() => Choice::Open(format!(
            "{why} Name the model later: `codebutler init --model NAME`"
        )),
        name => Choice::Named(name),
    })
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
