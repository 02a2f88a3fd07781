//! `codebutler redact`: what the team's posts go through before they leave.

use std::{
    env,
    io::{self, Read},
};

use butler_config::{Settings, machine_folder};
use butler_policy::Redactor;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    CliError, Exit, Ui,
    commands::{environment, inspect::jsonl, settings_around},
    wiring,
};

/// Take secrets out of a text, as it is done with everything that is posted
///
/// Reads the standard input and writes the standard output. Knows the secrets of
/// this machine's configuration, and inside a repo its own patterns.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read {"id", "text"} and write {"id", "text", "findings"}, one object per line
    #[arg(long)]
    jsonl: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let redactor = redactor()?;
    if args.jsonl {
        lines(&redactor, ui)
    } else {
        whole(&redactor, ui)
    }
}

/// The whole input at once: a private key has many lines.
fn whole(redactor: &Redactor, ui: &Ui) -> Result<Exit, CliError> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        ui.note("the input is not UTF-8; bytes that are not are written as \u{fffd}");
    }
    ui.raw(redactor.redact(&text).text.as_bytes())?;
    Ok(Exit::Done)
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    text: String,
}

fn lines(redactor: &Redactor, ui: &Ui) -> Result<Exit, CliError> {
    jsonl::answer_each(ui, |question| match question {
        Ok(Question { id, text }) => {
            let redaction = redactor.redact(&text);
            json!({"id": id, "text": redaction.text, "findings": redaction.findings})
        }
        // The problem may quote what stood in place of the text.
        Err(bad) => json!({"id": bad.id, "error": redactor.redact(&bad.problem).text}),
    })
}

fn redactor() -> Result<Redactor, CliError> {
    let (secrets, patterns) = match settings_around(&env::current_dir()?)? {
        Some(settings) => (
            settings.machine.secrets(),
            wiring::custom_patterns(&settings),
        ),
        None if machine_folder(&environment).is_some() => {
            (Settings::machine(&environment)?.0.secrets(), Vec::new())
        }
        None => (Vec::new(), Vec::new()),
    };
    Redactor::new(&secrets, &patterns).map_err(CliError::user)
}
