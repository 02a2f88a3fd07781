//! The third question: which commands tell whether a change is good. They are tried
//! once, in the sandbox, before they are written; at a terminal each one that does
//! not work is asked about, elsewhere it is left out and named.

use std::path::Path;

use butler_config::Machine;
use butler_protocol::visible_line;

use crate::commands::setup::init::{
    Args, ask,
    detect::{self, Detected},
    trying::{self, Bad, Verdict},
};
use crate::{CliError, Paint, Ui};

/// What a repo runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commands {
    /// Checks by name.
    pub checks: Vec<(String, String)>,
    /// What makes a fresh worktree ready.
    pub prepare: Vec<String>,
    /// What people should know about them.
    pub open: Vec<String>,
}

/// Where commands are tried.
pub(crate) struct Place<'a> {
    pub root: &'a Path,
    pub home: &'a Path,
    pub machine: &'a Machine,
}

/// Decides it for a repo that has no file yet.
pub(crate) fn choose(
    args: &Args,
    detected: &Detected,
    place: &Place<'_>,
    asks: bool,
    ui: &Ui,
) -> Result<Commands, CliError> {
    let mut commands = Commands {
        checks: detected.checks.clone(),
        prepare: detected.prepare.clone(),
        open: detected
            .untested
            .iter()
            .map(|what| {
                format!(
                    "{what}: the commands are guessed and untested; look at them before you commit"
                )
            })
            .collect(),
    };
    if !args.checks.is_empty() {
        // A person's own words need no trial.
        commands.checks.clone_from(&args.checks);
        return Ok(commands);
    }
    let mut tries = !args.untried;
    if asks {
        tries &= asked(&mut commands, ui)?;
    }
    if tries {
        try_all(&mut commands, place, asks, ui)?;
    }
    Ok(commands)
}

/// Shows what was found and asks what becomes of it; whether it is to be tried.
fn asked(commands: &mut Commands, ui: &Ui) -> Result<bool, CliError> {
    const QUESTION: &str = "Which checks?";
    const OWN: &str = "type my own";
    const NONE: &str = "none for now";
    const HELP: &str = "they tell the team whether a change is good";
    if commands.checks.is_empty() && commands.prepare.is_empty() {
        let choices = [NONE, OWN].map(str::to_owned);
        if ask::one_of(QUESTION, HELP, &choices, 0)? == 1 {
            commands.checks = typed()?;
        }
        return Ok(!commands.checks.is_empty());
    }
    ui.note("\nFound in this repository:");
    for command in &commands.prepare {
        let command = visible_line(command);
        ui.note(format_args!(
            "  prepare  {command}  (installs, with the network)"
        ));
    }
    for (name, command) in &commands.checks {
        ui.note(format_args!("  {name:<7}  {}", visible_line(command)));
    }
    let choices = [
        "these; run each once now, in the sandbox",
        "these, but do not run them now",
        OWN,
        NONE,
    ];
    match ask::one_of(QUESTION, HELP, &choices.map(str::to_owned), 0)? {
        0 => Ok(true),
        1 => Ok(false),
        2 => {
            commands.checks = typed()?;
            Ok(!commands.checks.is_empty())
        }
        _ => {
            *commands = Commands::default();
            Ok(false)
        }
    }
}

/// Checks that a person types, until an empty line.
fn typed() -> Result<Vec<(String, String)>, CliError> {
    let mut checks: Vec<(String, String)> = Vec::new();
    let mut before = "test=".to_owned();
    loop {
        let text = ask::line("NAME=COMMAND (empty when done):", &before)?;
        if text.is_empty() || text == "test=" {
            return Ok(checks);
        }
        match detect::named_check(&text) {
            Ok(check) => {
                checks.retain(|(name, _)| *name != check.0);
                checks.push(check);
                before = String::new();
            }
            Err(_) => before = text,
        }
    }
}

/// Until everything works, or is wanted as it is.
fn try_all(
    commands: &mut Commands,
    place: &Place<'_>,
    asks: bool,
    ui: &Ui,
) -> Result<(), CliError> {
    loop {
        let verdict = trying::tried(place, commands, ui)?;
        if !asks {
            settle(commands, verdict);
            return Ok(());
        }
        let Verdict { bad, remarks, .. } = verdict;
        commands.open.extend(remarks);
        let mut again = false;
        for bad in bad {
            ui.note(format_args!("{} {}", "✗".red(), bad.words()));
            again |= ask_about(commands, &bad)?;
        }
        if !again {
            return Ok(());
        }
    }
}

/// What a person wants with a command that does not work; whether to try again.
fn ask_about(commands: &mut Commands, bad: &Bad) -> Result<bool, CliError> {
    let choices = [
        "change it",
        "keep it as it is",
        "leave it out",
        "run it again",
    ];
    let first = if bad.is_worth_keeping() { 1 } else { 2 };
    let question = format!("What about `{}`?", bad.command);
    match ask::one_of(&question, "", &choices.map(str::to_owned), first)? {
        0 => {
            let text = ask::line("Command:", &bad.command)?;
            match text.as_str() {
                "" => leave_out(commands, bad),
                text => change(commands, bad, text),
            }
            Ok(!text.is_empty())
        }
        1 => {
            commands
                .open
                .push(format!("{}; kept as it is", bad.words()));
            Ok(false)
        }
        2 => {
            leave_out(commands, bad);
            Ok(false)
        }
        _ => Ok(true),
    }
}

fn change(commands: &mut Commands, bad: &Bad, text: &str) {
    match &bad.check {
        Some(name) => {
            let check = commands.checks.iter_mut().find(|(one, _)| one == name);
            if let Some((_, command)) = check {
                text.clone_into(command);
            }
        }
        None => {
            let command = commands.prepare.iter_mut().find(|one| **one == bad.command);
            if let Some(command) = command {
                text.clone_into(command);
            }
        }
    }
}

fn leave_out(commands: &mut Commands, bad: &Bad) {
    match &bad.check {
        Some(name) => {
            commands.checks.retain(|(one, _)| one != name);
            detect::forget_tool(&mut commands.prepare, &bad.command, &commands.checks);
        }
        None => commands.prepare.retain(|one| *one != bad.command),
    }
}

/// Without a person: what cannot work is left out and named, red tests stay tests,
/// and a preparation that fails says nothing about the checks.
fn settle(commands: &mut Commands, verdict: Verdict) {
    commands.open.extend(verdict.remarks);
    for bad in verdict.bad {
        match &bad.check {
            None => commands.open.push(format!(
                "prepare does not work yet: {}; the checks were not tried. Correct it in .codebutler/config.json",
                bad.words()
            )),
            Some(name) if bad.is_worth_keeping() => {
                commands.open.push(format!("{name} is red at the moment: {}", bad.words()));
            }
            Some(name) => {
                commands.open.push(format!(
                    "{name} is left out: {}; add it with --check once it works",
                    bad.words()
                ));
                leave_out(commands, &bad);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(check: Option<&str>, command: &str, lacks: bool) -> Bad {
        Bad {
            check: check.map(str::to_owned),
            command: command.to_owned(),
            said: "exit 1: no".to_owned(),
            lacks_tool: lacks,
        }
    }

    fn commands() -> Commands {
        let check = |name: &str, run: &str| (name.to_owned(), run.to_owned());
        Commands {
            checks: vec![
                check("test", ".venv/bin/python -m pytest"),
                check("lint", ".venv/bin/python -m ruff check ."),
            ],
            prepare: vec![
                "python3 -m venv .venv".to_owned(),
                ".venv/bin/pip install pytest ruff".to_owned(),
            ],
            open: vec![],
        }
    }

    #[test]
    fn what_cannot_work_is_left_out_with_its_tool_and_red_tests_stay() {
        let mut all = commands();
        let verdict = Verdict {
            bad: vec![
                bad(Some("test"), ".venv/bin/python -m pytest", false),
                bad(Some("lint"), ".venv/bin/python -m ruff check .", false),
            ],
            remarks: vec![],
        };
        settle(&mut all, verdict);
        assert_eq!(all.checks.len(), 1, "{all:?}");
        assert_eq!(all.prepare[1], ".venv/bin/pip install pytest");
        assert!(all.open[0].contains("test is red"), "{all:?}");
        assert!(all.open[1].contains("lint is left out"), "{all:?}");
        let mut none = commands();
        let missing = bad(Some("test"), ".venv/bin/python -m pytest", true);
        let verdict = Verdict {
            bad: vec![missing],
            remarks: vec![],
        };
        settle(&mut none, verdict);
        assert_eq!(none.checks[0].0, "lint");
    }

    #[test]
    fn without_its_preparation_nothing_is_said_about_a_check() {
        let mut all = commands();
        let verdict = Verdict {
            bad: vec![bad(None, "python3 -m venv .venv", false)],
            remarks: vec![],
        };
        settle(&mut all, verdict);
        assert_eq!((all.checks.len(), all.prepare.len()), (2, 2));
        assert!(all.open[0].contains("were not tried"), "{all:?}");
    }
}
