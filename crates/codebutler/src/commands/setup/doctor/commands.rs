//! The repo's own commands, each run once in the sandbox on the commit that is
//! checked out: what makes a worktree ready, then every check.

use butler_agent::Tried;

use crate::commands::setup::{
    doctor::{Finding, Place},
    try_out::{Commands, lacks_tool, said, try_out},
};
use crate::{Paint, Ui, wiring};

const PREPARE: &str = "prepare";
const CHECKS: &str = "checks";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let (Some(root), Some(settings)) = (&place.set_up, &place.settings) else {
        return Vec::new();
    };
    let checks = wiring::checks(settings);
    let mut findings = Vec::new();
    if checks.is_empty() {
        findings.push(Finding::warning(
            CHECKS,
            "none, so nobody can tell whether a change is good",
            "add one: `codebutler init --check NAME=COMMAND`",
        ));
    }
    if place.quick || checks.is_empty() && settings.repo.prepare.is_empty() {
        let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
        if !names.is_empty() {
            findings.push(Finding::ok(
                CHECKS,
                format!("{}, not run", names.join(", ")),
            ));
        }
        return findings;
    }
    let commands = Commands {
        root,
        home: &settings.home,
        ca_file: settings.machine.network.ca_file.clone().map(Into::into),
        prepare: &settings.repo.prepare,
        checks: &checks,
    };
    let ui = Ui::new();
    let telling = |command: &str| {
        if !place.json {
            ui.note(format_args!("running {command}").dimmed());
        }
    };
    match try_out(&commands, telling) {
        Ok(Some(tried)) => findings.extend(judge(&settings.repo.prepare, &tried)),
        Ok(None) => findings.push(Finding::warning(
            CHECKS,
            "not run: there is no commit yet, or nothing would confine them",
            "make a first commit; the line about the sandbox says what it lacks",
        )),
        Err(error) => findings.push(Finding::failed(
            CHECKS,
            format!("could not be run: {}", error.plain()),
            "`codebutler doctor --quick` leaves them out",
        )),
    }
    findings
}

fn judge(prepare: &[String], tried: &Tried) -> Vec<Finding> {
    if let Some((command, end)) = &tried.unprepared {
        let fix = match end.missing {
            true => "install what is missing, or correct \"prepare\" in .codebutler/config.json",
            false => "correct \"prepare\" in .codebutler/config.json; the checks were not run",
        };
        let what = format!("`{command}`: {}", said(end));
        return vec![Finding::failed(PREPARE, what, fix)];
    }
    let mut findings = Vec::new();
    if !prepare.is_empty() {
        findings.push(Finding::ok(PREPARE, prepare.join("; ")));
    }
    for (check, end) in &tried.checks {
        let what = format!("{}: `{}`, {}", check.name, check.command, said(end));
        findings.push(if end.ok {
            Finding::ok(
                CHECKS,
                format!("{}: `{}` passed", check.name, check.command),
            )
        } else if lacks_tool(end) {
            let fix =
                "install it here or in \"prepare\", or change the check in .codebutler/config.json";
            Finding::failed(CHECKS, what, fix)
        } else {
            let fix = "the team begins with a red check: fix it first, or change the command";
            Finding::warning(CHECKS, what, fix)
        });
    }
    findings
}
