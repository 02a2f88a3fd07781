//! The three questions of `init`: which channel, which model, which checks. An
//! answer comes from a flag, from the person, or is the default, in this order.

use std::path::Path;

use butler_settings::Machine;
use butler_vocab::{Role, Secret};
use inquire::{Confirm, InquireError, Password, Select, Text, validator::Validation};
use serde_json::{Value, json};

use super::{Args, detect::Detected, models, slack};
use crate::{commands::environment, error::CliError, slack_check::AppTokens, ui::Ui};

/// What was decided before anything is written.
#[derive(Debug)]
pub struct Answers {
    /// The channel's name.
    pub channel: String,
    /// Checks by name.
    pub checks: Vec<(String, String)>,
    /// Commands that make a fresh worktree ready.
    pub prepare: Vec<String>,
    model: Model,
    slack: Option<AppTokens>,
}

/// Where models answer.
#[derive(Debug)]
enum Model {
    /// The machine has an endpoint already.
    Known,
    /// OpenRouter with this key.
    OpenRouter(Secret),
    /// Another endpoint, with or without a key.
    Other {
        url: String,
        key: Option<Secret>,
        /// The model that all roles ask there, once somebody has named it.
        name: Option<String>,
    },
    /// Not now.
    Later,
}

impl Answers {
    /// Collects them.
    pub fn collect(
        args: &Args,
        root: &Path,
        detected: &Detected,
        machine: &Machine,
        ui: &Ui,
    ) -> Result<Self, CliError> {
        let ask = !args.yes && ui.can_ask();
        if !args.yes && !ui.can_ask() {
            return Err(CliError::user("there is no terminal to ask questions on")
                .hint("run `codebutler init --yes`, with flags for what should differ from the defaults"));
        }
        // A repo that has its file keeps it, so the questions about it are answered.
        let new_repo = !root.join(".codebutler/config.json").exists();
        let channel = channel(args.channel.as_deref(), root, ask && new_repo)?;
        let model = model(args, machine, ask)?;
        let checks = checks(&args.checks, detected, ask && new_repo)?;
        let slack = match args.slack {
            true => Some(slack::collect(machine, ask, ui)?),
            false => None,
        };
        Ok(Self {
            channel,
            checks,
            prepare: detected.prepare.clone(),
            model,
            slack,
        })
    }

    /// Keys to set in the machine's file.
    pub fn machine_keys(&self) -> Vec<(Vec<&'static str>, Value)> {
        let mut keys = match &self.model {
            Model::Known | Model::Later => Vec::new(),
            Model::OpenRouter(key) => {
                vec![(vec!["openrouter", "apiKey"], json!(key.expose()))]
            }
            Model::Other { url, key, .. } => {
                let mut endpoint = json!({"kind": "generic", "baseUrl": url});
                if let Some(key) = key {
                    endpoint["apiKey"] = json!(key.expose());
                }
                vec![
                    (vec!["models", "endpoints", "main"], endpoint),
                    (vec!["models", "default"], json!("main")),
                ]
            }
        };
        if let Some(slack) = &self.slack {
            keys.push((vec!["slack", "botToken"], json!(slack.bot.expose())));
            keys.push((vec!["slack", "appToken"], json!(slack.app.expose())));
        }
        keys
    }

    /// The repo's `models`, when they differ from the defaults.
    pub fn models(&self) -> Option<Value> {
        match &self.model {
            Model::Other {
                name: Some(name), ..
            } => Some(models::for_all_roles(name)),
            _ => None,
        }
    }

    /// What was decided, with the key that changes it.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let checks = match self.checks.as_slice() {
            [] => "none found; add commands that tell whether the code is good".to_owned(),
            checks => joined(checks),
        };
        let model = match &self.model {
            Model::Known => "as it was".to_owned(),
            Model::OpenRouter(_) => "OpenRouter".to_owned(),
            Model::Other {
                url,
                name: Some(name),
                ..
            } => format!("{name} at {url}"),
            Model::Other { url, .. } => format!(
                "{url}; name its models under `models` in .codebutler/config.json, \
                 or run init with --model"
            ),
            Model::Later => {
                "none yet; run init again with a key, or edit the machine's file".to_owned()
            }
        };
        let prepare = match self.prepare.as_slice() {
            [] => "nothing that a fresh worktree would need was found".to_owned(),
            commands => commands.join("; "),
        };
        vec![
            ("slack.channelName", self.channel.clone()),
            ("checks", checks),
            ("prepare", prepare),
            ("models (machine)", model),
            ("slack (machine)", self.chat().to_owned()),
        ]
    }
}

impl Answers {
    fn chat(&self) -> &'static str {
        match &self.slack {
            Some(_) => "connected",
            None => "as it was; without tokens the built-in workspace is used",
        }
    }
}

fn joined(checks: &[(String, String)]) -> String {
    let checks = checks
        .iter()
        .map(|(name, command)| format!("{name} = {command}"));
    checks.collect::<Vec<_>>().join("; ")
}

fn channel(given: Option<&str>, root: &Path, ask: bool) -> Result<String, CliError> {
    let default = channel_name(&root.file_name().unwrap_or_default().to_string_lossy());
    let name = match given {
        Some(name) => name.to_owned(),
        None if ask => Text::new("Channel for this repository?")
            .with_help_message("where you and the team talk")
            .with_default(&default)
            .with_validator(|name: &str| {
                Ok(match channel_problem(name) {
                    None => Validation::Valid,
                    Some(problem) => Validation::Invalid(problem.into()),
                })
            })
            .prompt()
            .map_err(stopped)?,
        None => default,
    };
    match channel_problem(&name) {
        None => Ok(name),
        Some(problem) => Err(CliError::user(format!(
            "the channel name {name}: {problem}"
        ))),
    }
}

/// Slack's rules: lower case, no spaces, at most 80 characters.
fn channel_problem(name: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_alphanumeric() && !c.is_uppercase() || matches!(c, '-' | '_');
    if name.is_empty() || name.chars().count() > 80 {
        Some("must have 1 to 80 characters")
    } else if !name.chars().all(allowed) {
        Some("only lower-case letters, digits, - and _")
    } else {
        None
    }
}

/// `codebutler-<repo>` within those rules.
fn channel_name(repo: &str) -> String {
    let lower = repo.to_lowercase();
    let plain = lower.chars().map(|c| {
        if c.is_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    });
    let name: String = "codebutler-".chars().chain(plain).take(80).collect();
    name.trim_end_matches('-').to_owned()
}

fn model(args: &Args, machine: &Machine, ask: bool) -> Result<Model, CliError> {
    if let Some(url) = args.model_url.clone() {
        // Only a key that was named for it: OpenRouter's must not go to another host.
        let key = args.model_key_env.as_deref().map(named_key).transpose()?;
        let name = models::choose(args.model.as_deref(), &url, key.as_ref(), ask)?;
        return Ok(Model::Other { url, key, name });
    }
    if Role::ALL
        .into_iter()
        .all(|role| machine.endpoint_for(role).is_some())
    {
        return Ok(Model::Known);
    }
    if let Some(name) = &args.model_key_env {
        return named_key(name).map(Model::OpenRouter);
    }
    if let Ok(key) = named_key("OPENROUTER_API_KEY") {
        return Ok(Model::OpenRouter(key));
    }
    if !ask {
        return Ok(Model::Later);
    }
    const CHOICES: [&str; 3] = [
        "OpenRouter, I have a key",
        "another OpenAI-compatible endpoint (Ollama, vLLM, a gateway)",
        "later",
    ];
    let choice = Select::new("Where do the models answer?", CHOICES.to_vec())
        .with_help_message("stored in the machine's private file, never in the repository")
        .raw_prompt()
        .map_err(stopped)?;
    Ok(match choice.index {
        0 => openrouter(secret("OpenRouter key (empty for later):")?),
        1 => {
            let url = Text::new("Address:").with_default("http://127.0.0.1:11434/v1");
            let url = url.prompt().map_err(stopped)?;
            let key = written(secret("Key (empty for none):")?);
            let name = models::choose(args.model.as_deref(), &url, key.as_ref(), ask)?;
            Model::Other { url, key, name }
        }
        _ => Model::Later,
    })
}

/// A key that is not there yet must not look like one that is.
fn openrouter(key: Secret) -> Model {
    written(key).map_or(Model::Later, Model::OpenRouter)
}

/// The answer, unless it was just Enter.
fn written(key: Secret) -> Option<Secret> {
    (!key.expose().is_empty()).then_some(key)
}

fn named_key(variable: &str) -> Result<Secret, CliError> {
    let key = environment(variable).filter(|key| !key.trim().is_empty());
    key.map(Secret::new)
        .ok_or_else(|| CliError::user(format!("the environment variable {variable} is not set")))
}

pub fn secret(question: &str) -> Result<Secret, CliError> {
    let answer = Password::new(question).without_confirmation().prompt();
    answer.map(|key| Secret::new(key.trim())).map_err(stopped)
}

fn checks(
    given: &[(String, String)],
    detected: &Detected,
    ask: bool,
) -> Result<Vec<(String, String)>, CliError> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if !ask || detected.checks.is_empty() {
        return Ok(detected.checks.clone());
    }
    let question = format!("Run these checks? {}", joined(&detected.checks));
    let take = Confirm::new(&question)
        .with_default(true)
        .with_help_message("they tell the team whether a change is good")
        .prompt()
        .map_err(stopped)?;
    Ok(if take {
        detected.checks.clone()
    } else {
        Vec::new()
    })
}

pub fn stopped(error: InquireError) -> CliError {
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            CliError::user("stopped; nothing was written")
        }
        other => CliError::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_at_the_question_for_a_key_stores_none() {
        assert!(matches!(openrouter(Secret::new("")), Model::Later));
        let given = openrouter(Secret::new("a-key"));
        assert!(matches!(given, Model::OpenRouter(key) if key.expose() == "a-key"));
    }

    #[test]
    fn channel_names_keep_to_slacks_rules() {
        for (repo, name) in [
            ("app", "codebutler-app"),
            ("My App.rs", "codebutler-my-app-rs"),
            ("", "codebutler"),
            ("über_x", "codebutler-über_x"),
        ] {
            assert_eq!(channel_name(repo), name);
            assert_eq!(channel_problem(&channel_name(repo)), None, "{repo}");
        }
        assert_eq!(channel_name(&"x".repeat(200)).len(), 80);
        for bad in ["", "Has Space", "UPPER", &"x".repeat(81)] {
            assert!(channel_problem(bad).is_some(), "{bad}");
        }
    }
}
