//! `policy explain` and `policy check`: the judgement of shell commands, by hand.
//!
//! A command is judged as if an agent ran it in the top folder of the repo, by
//! the repo's policy where there is one. `~` is the home of the person who asks:
//! inside the sandbox it would be an empty folder, which is the sandbox's promise and
//! not the command's.

use std::{env, path::Path};

use butler_config::repository_root;
use butler_policy::{Assessment, Overrides, RiskContext, assess};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::inspect::jsonl;
use crate::{CliError, Exit, Paint, Ui, commands::settings_around, wiring};

/// What a relative path is judged against where no folder can be the worktree.
const NOWHERE: &str = "/nonexistent/worktree";

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The command, quoted as one word
    #[arg(allow_hyphen_values = true)]
    command: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Read {"id", "command"} and write {"id", "tier", "reason", "network"}, one object per line
    #[arg(long, required = true)]
    jsonl: bool,
}

pub(crate) fn explain(args: &Explain, ui: &Ui) -> Result<Exit, CliError> {
    let found = Rules::here()?.judge(&args.command);
    ui.line(format_args!("{}", found.tier.as_str().bold()))?;
    ui.line(format_args!("  why: {}", found.reason))?;
    if let Some(part) = found.part {
        ui.line(format_args!("  because of: {part}"))?;
    }
    if let Some(row) = found.row {
        ui.line(format_args!("  by the line: {row}"))?;
    }
    if found.network {
        ui.line(match found.pushes {
            true => "  in the sandbox it is refused: the hand-over pushes, never a command",
            false => "  it needs the network, so it asks: only an approval opens it",
        })?;
    }
    Ok(Exit::Done)
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    command: String,
}

pub(crate) fn check(_: &Check, ui: &Ui) -> Result<Exit, CliError> {
    let rules = Rules::here()?;
    jsonl::answer_each(ui, |question| match question {
        Ok(Question { id, command }) => {
            let found = rules.judge(&command);
            json!({
                "id": id,
                "tier": found.tier,
                "reason": found.reason,
                "network": found.network,
            })
        }
        Err(bad) => json!({"id": bad.id, "error": bad.problem}),
    })
}

/// What commands are judged against.
struct Rules {
    root: String,
    home: String,
    overrides: Overrides,
}

impl Rules {
    fn here() -> Result<Self, CliError> {
        let here = env::current_dir()?;
        let settings = settings_around(&here)?;
        let home = env::var("HOME").ok().filter(|home| home.starts_with('/'));
        let home = home.unwrap_or_else(|| "/nonexistent".to_owned());
        let root = match &settings {
            Some(settings) => settings.root.clone(),
            None => repository_root(&here).unwrap_or(here),
        };
        Ok(Self {
            root: worktree(&root, Path::new(&home)),
            home,
            overrides: settings.as_ref().map(wiring::overrides).unwrap_or_default(),
        })
    }

    fn judge(&self, command: &str) -> Assessment {
        let context = RiskContext {
            cwd: &self.root,
            root: &self.root,
            home: &self.home,
            overrides: &self.overrides,
        };
        assess(command, &context)
    }
}

/// A folder that holds somebody's whole home is nobody's worktree: judged inside
/// it, a write to `~/.ssh` would count as ordinary work.
fn worktree(root: &Path, home: &Path) -> String {
    if home.starts_with(root) {
        return NOWHERE.to_owned();
    }
    root.display().to_string()
}
