//! The menu of `configure`: each point becomes the flags that do the same, so that
//! what a person answers and what a script says take one way.

use std::path::Path;

use butler_config::Settings;
use butler_protocol::Role;
use clap::{Args as _, FromArgMatches};
use inquire::{MultiSelect, Select, Text};

use super::{Args, show};
use crate::{
    CliError, Exit, Ui,
    commands::{environment, setup::init::stopped},
};

/// What can be chosen.
const POINTS: [(&str, Point); 9] = [
    ("Show everything", Point::Show),
    ("Channel", Point::Channel),
    ("Chat: connect Slack, or replace its tokens", Point::Slack),
    ("Chat: use the built-in workspace", Point::BuiltIn),
    ("Model for all roles", Point::Model),
    ("Model endpoint and its key", Point::Endpoint),
    ("Checks: add or change one", Point::Check),
    ("Checks: take one out", Point::NoCheck),
    ("Which agents run on this machine", Point::Roles),
];

const DONE: &str = "Done";

#[derive(Clone, Copy)]
enum Point {
    Show,
    Channel,
    Slack,
    BuiltIn,
    Model,
    Endpoint,
    Check,
    NoCheck,
    Roles,
}

/// Asks until the person is done. What went wrong is told, and asked again.
pub(super) fn run(root: &Path, ui: &Ui) -> Result<Exit, CliError> {
    loop {
        let mut names: Vec<&str> = POINTS.iter().map(|(name, _)| *name).collect();
        names.push(DONE);
        let rows = names.len();
        let chosen = Select::new("What do you want to change?", names)
            .with_page_size(rows)
            .prompt()
            .map_err(stopped)?;
        let Some((_, point)) = POINTS.iter().find(|(name, _)| *name == chosen) else {
            return Ok(Exit::Done);
        };
        let settings = Settings::load(root, &environment)?;
        let outcome = match point {
            Point::Show => show::run(&settings, false, ui),
            point => words(*point, &settings).and_then(|words| carry_out(&words, ui)),
        };
        if let Err(error) = outcome {
            error.show(ui);
        }
    }
}

/// The flags that do what was chosen.
fn words(point: Point, settings: &Settings) -> Result<Vec<String>, CliError> {
    let text = |question: &str, now: &str| {
        let asked = Text::new(question).with_initial_value(now);
        asked.prompt().map_err(stopped)
    };
    let flag = |name: &str, value: String| vec![name.to_owned(), value];
    Ok(match point {
        Point::Show => Vec::new(),
        Point::Channel => {
            let now = settings.repo.slack.channel_name.clone();
            flag("--channel", text("Channel?", &now.unwrap_or_default())?)
        }
        Point::Slack => vec!["--slack".to_owned()],
        Point::BuiltIn => vec!["--built-in-chat".to_owned()],
        Point::Model => flag("--model", text("Model?", "")?),
        Point::Endpoint => {
            let mut words = flag("--model-url", text("Address of the endpoint?", "")?);
            let key = text("Environment variable with its key, or empty?", "")?;
            if !key.is_empty() {
                words.extend(flag("--model-key-env", key));
            }
            words
        }
        Point::Check => flag("--check", text("Check, as NAME=COMMAND?", "")?),
        Point::NoCheck => {
            let checks = settings.repo.checks().into_iter().map(|check| check.name);
            let chosen = Select::new("Which check?", checks.collect());
            flag("--remove-check", chosen.prompt().map_err(stopped)?)
        }
        Point::Roles => {
            let chosen = MultiSelect::new(
                "Agents on this machine?",
                Role::ALL.map(Role::as_str).to_vec(),
            );
            flag("--roles", chosen.prompt().map_err(stopped)?.join(","))
        }
    })
}

fn carry_out(words: &[String], ui: &Ui) -> Result<Exit, CliError> {
    let command = Args::augment_args(clap::Command::new("configure").no_binary_name(true));
    let parsed = command.try_get_matches_from(words);
    let args = parsed.and_then(|matches| Args::from_arg_matches(&matches));
    super::run(&args.map_err(|error| CliError::user(error.render()))?, ui)
}
