//! `codebutler policy`: what a repo's files loosen, spend or run, a person's consent
//! to it, and what the rules say about a command (`explain`).
//!
//! Consent is given by somebody at a terminal, or by naming the exact hash that
//! was shown before. There is no way to agree to whatever the files say by then.

mod explain;

use std::path::Path;

use butler_config::{Ask, Settings, agree, hash_of};
use clap::Subcommand;
use inquire::Confirm;
use serde_json::json;

use crate::{CliError, Exit, Ui, commands::settings_here, process, wiring};

/// What is said of a repo that needs no consent.
const NOTHING: &str = "this repository asks for nothing that needs your consent: it loosens no rule, \
                       raises no cap and runs nothing by itself";

/// Show what the repo's files ask for, agree to it, and try commands against the rules
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Agree to what this repo's files loosen, spend or run
    Accept(Accept),
    /// Say how far a shell command reaches, and why
    Explain(explain::Explain),
    /// Judge commands line by line, for scripts
    Check(explain::Check),
}

#[derive(Debug, clap::Args)]
struct Accept {
    /// The hash that `codebutler policy` showed, instead of answering a question
    #[arg(long, value_name = "SHA256")]
    hash: Option<String>,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.verb {
        None if args.json => {
            let asks = here()?.1;
            let shown = asks.iter().map(|ask| {
                json!({"key": ask.key, "words": ask.words, "sha256": ask.sha256, "agreed": ask.agreed})
            });
            ui.done_json(shown.collect::<Vec<_>>())
        }
        None => show(&here()?.1, ui),
        Some(Verb::Accept(accept)) => {
            let (settings, asks) = here()?;
            accept_waiting(&settings, &asks, accept.hash.as_deref(), ui)
        }
        Some(Verb::Explain(explain)) => explain::explain(explain, ui),
        Some(Verb::Check(check)) => explain::check(check, ui),
    }
}

/// What the default branch asks for, which is what binds agents, and what the
/// working copy asks for besides.
fn here() -> Result<(Settings, Vec<Ask>), CliError> {
    let settings = settings_here()?;
    let root = settings.root.clone();
    let mut asks = in_force(&root);
    for ask in &settings.asks {
        if !asks.iter().any(|known| known.sha256 == ask.sha256) {
            asks.push(ask.clone());
        }
    }
    Ok((settings, asks))
}

/// Before anything is committed there is nothing in force but the working copy,
/// and what is wrong on the default branch is for the agents to tell.
fn in_force(root: &Path) -> Vec<Ask> {
    let settings = process::run_on_one_thread(async |_| wiring::settings_in_force(root).await);
    settings.map(|settings| settings.asks).unwrap_or_default()
}

fn show(asks: &[Ask], ui: &Ui) -> Result<Exit, CliError> {
    if asks.is_empty() {
        ui.line(NOTHING)?;
    }
    let (agreed, waiting): (Vec<_>, Vec<_>) = asks.iter().cloned().partition(|ask| ask.agreed);
    for (state, asks) in [("not agreed to", waiting), ("agreed to", agreed)] {
        if !asks.is_empty() {
            ui.line(format_args!("policy, {state}, {}", hash_of(&asks)))?;
            for ask in &asks {
                ui.line(format_args!("  {}: {}", ask.key, ask.words))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn accept_waiting(
    settings: &Settings,
    asks: &[Ask],
    hash: Option<&str>,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let waiting: Vec<Ask> = asks.iter().filter(|ask| !ask.agreed).cloned().collect();
    if waiting.is_empty() {
        return ui.done(match asks {
            [] => NOTHING,
            _ => "already agreed to on this machine",
        });
    }
    if !consents(&waiting, hash, ui)? {
        ui.line("not agreed to; it stays without effect")?;
        return Ok(Exit::Done);
    }
    agree(&settings.home, &settings.root, &waiting).map_err(CliError::internal)?;
    ui.line("agreed; it has effect on this machine until it changes")?;
    Ok(Exit::Done)
}

fn consents(waiting: &[Ask], hash: Option<&str>, ui: &Ui) -> Result<bool, CliError> {
    let sha256 = hash_of(waiting);
    match hash {
        Some(hash) if hash == sha256.as_str() => Ok(true),
        Some(_) => Err(CliError::user(format!(
            "that is not the hash of what is there now, which is {sha256}"
        ))
        .hint("look at it again with `codebutler policy`")),
        None if ui.can_ask() => asks_person(waiting, ui),
        None => {
            tell(waiting, ui);
            Err(
                CliError::user("there is no terminal to ask on").hint(format!(
                    "after reading it, run `codebutler policy accept --hash {sha256}`"
                )),
            )
        }
    }
}

/// Shows what is asked for and waits for the person's word.
pub(crate) fn asks_person(waiting: &[Ask], ui: &Ui) -> Result<bool, CliError> {
    tell(waiting, ui);
    Confirm::new("Agree to this on this machine?")
        .with_default(false)
        .prompt()
        .map_err(CliError::internal)
}

/// What waits, a line each.
pub(crate) fn tell(waiting: &[Ask], ui: &Ui) {
    for ask in waiting {
        ui.note(format_args!("  {}: {}", ask.key, ask.words));
    }
}

/// The same for somebody who came for something else.
pub(crate) fn tell_waiting(settings: &Settings, ui: &Ui) {
    for name in wiring::mcp::waiting(settings) {
        ui.note(format_args!(
            "the MCP server `{name}` is not used until you accept it: `codebutler mcp accept {name}`"
        ));
    }
    let waiting = settings.waiting();
    if waiting.is_empty() {
        return;
    }
    ui.note("this repository's files ask for what nobody on this machine has agreed to; it has no effect:");
    tell(&waiting, ui);
    ui.note("agree with `codebutler policy accept`");
}
