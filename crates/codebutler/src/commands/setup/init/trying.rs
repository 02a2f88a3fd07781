//! Commands are tried before they are written: once, in the sandbox, on the commit
//! that is checked out, so that the first change is not stopped by a check that was
//! never green.

use butler_agent::Tried;
use butler_tools::Check;

use crate::commands::setup::init::checks::{Commands, Place};
use crate::commands::setup::try_out::{self, lacks_tool, said, try_out};
use crate::{CliError, Paint, Ui};

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What did not work.
    pub bad: Vec<Bad>,
    /// What people should know besides.
    pub remarks: Vec<String>,
}

/// A command that did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad {
    /// The check; nothing for a command of the preparation.
    pub check: Option<String>,
    pub command: String,
    /// How it ended.
    pub said: String,
    /// It could not even begin.
    pub lacks_tool: bool,
}

impl Bad {
    /// In a line.
    pub(crate) fn words(&self) -> String {
        let tool = if self.lacks_tool {
            " (is its tool installed?)"
        } else {
            ""
        };
        format!("`{}`, {}{tool}", self.command, self.said)
    }

    /// Tests that are red are still the tests.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        let name = self.check.as_deref().unwrap_or_default();
        let test = name == "test" || name.ends_with("-test") || name == "check";
        test && !self.lacks_tool
    }
}

/// Tries checks and preparation. Without a commit, or without a sandbox, nothing is
/// said about them.
pub(crate) fn tried(place: &Place<'_>, commands: &Commands, ui: &Ui) -> Result<Verdict, CliError> {
    if commands.checks.is_empty() && commands.prepare.is_empty() {
        return Ok(Verdict::default());
    }
    let checks: Vec<Check> = commands
        .checks
        .iter()
        .map(|(name, command)| Check {
            name: name.clone(),
            command: command.clone(),
        })
        .collect();
    let wanted = try_out::Commands {
        root: place.root,
        home: place.home,
        ca_file: place.machine.network.ca_file.clone().map(Into::into),
        prepare: &commands.prepare,
        checks: &checks,
    };
    let telling = |command: &str| ui.note(format_args!("trying {command}").dimmed());
    match try_out(&wanted, telling) {
        Ok(Some(tried)) => Ok(judge(&tried, ui)),
        Ok(None) => Ok(Verdict::default()),
        // What could not be tried is still a guess.
        Err(error) => Ok(Verdict {
            remarks: vec![format!("nothing was tried: {}", error.plain())],
            ..Verdict::default()
        }),
    }
}

fn judge(tried: &Tried, ui: &Ui) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some((command, end)) = &tried.unprepared {
        verdict.bad.push(Bad {
            check: None,
            command: command.clone(),
            said: said(end),
            lacks_tool: end.missing,
        });
    }
    for (check, end) in &tried.checks {
        if end.ok {
            ui.note(format_args!("{} {} passed", "✓".green(), check.name));
            continue;
        }
        verdict.bad.push(Bad {
            check: Some(check.name.clone()),
            command: check.command.clone(),
            said: said(end),
            lacks_tool: lacks_tool(end),
        });
    }
    verdict
}
