//! The three questions of `init`: which channel, which model, which checks. An
//! answer comes from a flag, from the person, or is the default, in this order.
//! In a repository that has its file only a flag changes it.

use std::path::Path;

use butler_config::{EndpointKind, FOLDER, Machine, Models};
use butler_protocol::{Role, Secret, visible_line};
use inquire::{Confirm, InquireError, Password, Text, validator::Validation};
use serde_json::{Value, json};

use crate::commands::setup::init::{
    Args,
    detect::Detected,
    endpoint::Place,
    models::{self, Choice},
    slack, trying,
};
use crate::{error::CliError, slack_check::AppTokens, ui::Ui, wiring};

/// What was decided before anything is written.
#[derive(Debug)]
pub(crate) struct Answers {
    /// The channel's name, checks by name and the commands that make a fresh
    /// worktree ready; where the repo has its file, what flags named.
    channel: Option<String>,
    checks: Vec<(String, String)>,
    prepare: Vec<String>,
    new_repo: bool,
    /// Whether the checks are guesses, which a person did not choose.
    guessed: bool,
    untested: Vec<&'static str>,
    place: Place,
    /// Which model these roles ask.
    models: Vec<(Vec<Role>, String)>,
    /// What is still to be done.
    open: Vec<String>,
    slack: Option<AppTokens>,
}

impl Answers {
    /// Collects them.
    pub(crate) fn collect(
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
        let new_repo = !root.join(FOLDER).join("config.json").exists();
        let channel = match (&args.channel, new_repo) {
            (None, false) => None,
            (given, _) => Some(channel(given.as_deref(), root, ask)?),
        };
        let place = Place::choose(args, machine, ask)?;
        let (models, open) = chosen_models(args, machine, &place, new_repo, ask)?;
        let checks = match new_repo {
            true => checks(&args.checks, detected, ask)?,
            false => args.checks.clone(),
        };
        let slack = match args.slack {
            true => Some(slack::collect(machine, ask, ui)?),
            false => None,
        };
        Ok(Self {
            channel,
            checks,
            prepare: preparation(detected, new_repo && ask)?,
            new_repo,
            guessed: new_repo && args.checks.is_empty(),
            untested: detected.untested.clone(),
            place,
            models,
            open,
            slack,
        })
    }

    /// Leaves out what was guessed and does not work here. Commands that install come
    /// from files of the repository and get the network, so at a terminal they are
    /// tried only after a word about that.
    pub(crate) fn try_guesses(
        &mut self,
        root: &Path,
        home: &Path,
        machine: &Machine,
        ask: bool,
        ui: &Ui,
    ) -> Result<(), CliError> {
        let untested = self.untested.iter();
        self.open.extend(untested.map(|what| {
            format!("{what}: the commands are guessed and untested; look at them before you commit")
        }));
        if !self.guessed || !may_try(&self.prepare, ask)? {
            return Ok(());
        }
        let checks = std::mem::take(&mut self.checks);
        let verdict = trying::tried(root, home, machine, checks, &self.prepare, ui)?;
        self.checks = verdict.checks;
        self.open.extend(verdict.remarks);
        Ok(())
    }

    /// Keys to set in the machine config.
    pub(crate) fn machine_keys(&self) -> Vec<(Vec<String>, Value)> {
        let mut keys = self.place.keys();
        if let Some(slack) = &self.slack {
            let tokens = [("botToken", &slack.bot), ("appToken", &slack.app)];
            keys.extend(tokens.map(|(key, token)| {
                let path = ["slack", key].map(str::to_owned);
                (path.to_vec(), json!(token.expose()))
            }));
        }
        keys
    }

    /// Keys to set in the repo's file, which has these models so far.
    pub(crate) fn repo_keys(&self, before: &Models) -> Vec<(Vec<String>, Value)> {
        let path = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut keys = Vec::new();
        if let Some(channel) = &self.channel {
            keys.push((path(&["slack", "channelName"]), json!(channel)));
        }
        if self.new_repo {
            // Also without any, so that the person sees where they go.
            keys.push((path(&["checks"]), json!({})));
        }
        for (name, command) in &self.checks {
            keys.push((path(&["checks", name]), json!(command)));
        }
        if self.new_repo {
            keys.push((path(&["prepare"]), json!(self.prepare)));
        }
        for (roles, name) in &self.models {
            keys.extend(models::keys(roles, name, before));
        }
        keys
    }

    /// What was decided, with the key that changes it.
    pub(crate) fn summary(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        lines.extend(self.channel.clone().map(|name| ("slack.channelName", name)));
        match self.checks.as_slice() {
            [] if self.new_repo => lines.push((
                "checks",
                "none found; add commands that tell whether the code is good".to_owned(),
            )),
            [] => {}
            checks => lines.push(("checks", joined(checks))),
        }
        if self.new_repo {
            let prepare = match self.prepare.as_slice() {
                [] => "nothing that a fresh worktree would need was found".to_owned(),
                commands => commands.join("; "),
            };
            lines.push(("prepare", prepare));
        }
        for (roles, name) in &self.models {
            let whose = match roles.len() == Role::ALL.len() {
                true => "all roles".to_owned(),
                false => roles
                    .iter()
                    .map(|role| role.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            lines.push(("models", format!("{name} for {whose}")));
        }
        lines.push(("models (machine)", self.place.summary()));
        lines.push(("slack (machine)", self.chat().to_owned()));
        lines
    }

    /// What could not be decided, and what to do about it.
    pub(crate) fn open(&self) -> &[String] {
        &self.open
    }

    fn chat(&self) -> &'static str {
        match &self.slack {
            Some(_) => "connected",
            None => "as it was; without tokens the built-in workspace is used",
        }
    }
}

/// Models by the roles that ask them, and what is still open.
type ChosenModels = (Vec<(Vec<Role>, String)>, Vec<String>);

/// OpenRouter has the default models; every other endpoint is asked for its own
/// when it is new, or when the repository is.
fn chosen_models(
    args: &Args,
    machine: &Machine,
    place: &Place,
    new_repo: bool,
    ask: bool,
) -> Result<ChosenModels, CliError> {
    let everybody = Role::ALL.to_vec();
    if let Some(name) = &args.model {
        return Ok((vec![(everybody, name.clone())], Vec::new()));
    }
    let mut asked = Vec::new();
    match place {
        Place::Other(other) => asked.push((everybody, other.client(machine)?)),
        Place::Known | Place::Rekeyed(..) if new_repo => {
            for (name, (endpoint, roles)) in wiring::roles_by_endpoint(machine) {
                if endpoint.kind != EndpointKind::OpenRouter {
                    asked.push((roles, wiring::client_of(machine, &name, &endpoint)?));
                }
            }
        }
        _ => {}
    }
    let (mut models, mut open) = (Vec::new(), Vec::new());
    for (roles, client) in asked {
        match models::choose(client, ask)? {
            Choice::Named(name) => models.push((roles, name)),
            Choice::Open(what) => open.push(what),
        }
    }
    Ok((models, open))
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

pub(crate) fn secret(question: &str) -> Result<Secret, CliError> {
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
    let take = Confirm::new(&visible_line(&question))
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

/// The commands that were found, unless a person does not want them to run.
fn preparation(detected: &Detected, ask: bool) -> Result<Vec<String>, CliError> {
    let commands = detected.prepare.clone();
    if !ask || commands.is_empty() {
        return Ok(commands);
    }
    let question = format!("Prepare every fresh worktree with {}?", commands.join("; "));
    let take = Confirm::new(&visible_line(&question))
        .with_default(true)
        .with_help_message(
            "they run in the sandbox, with the network, and install what checks need",
        )
        .prompt()
        .map_err(stopped)?;
    Ok(if take { commands } else { Vec::new() })
}

/// Whether the commands that install may run now.
fn may_try(commands: &[String], ask: bool) -> Result<bool, CliError> {
    if !ask || commands.is_empty() {
        return Ok(true);
    }
    let question = format!(
        "Try them once now, with the network? {}",
        commands.join("; ")
    );
    Confirm::new(&visible_line(&question))
        .with_default(true)
        .with_help_message(
            "in the sandbox, in a checkout of its own; they run what this repository's files say",
        )
        .prompt()
        .map_err(stopped)
}

pub(crate) fn stopped(error: InquireError) -> CliError {
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            CliError::user("stopped; nothing was written")
        }
        other => CliError::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::init::answers::*;

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
