//! `codebutler doctor`: looks at everything the team needs, runs the repo's own
//! commands once, and says how to fix what is missing. It changes nothing, but what
//! `--fix` asks for.

mod clock;
mod commands;
mod disk;
pub(crate) mod files;
mod finding;
pub(crate) mod forge;
pub(crate) mod git;
mod hub;
mod mcp;
mod models;
mod network;
mod sandbox;
mod search;
mod slack;

use std::{env, path::PathBuf, sync::Arc};

use butler_config::{Settings, machine_folder, repository_root, set_up_root};

pub(crate) use crate::commands::setup::doctor::finding::{Finding, Level, Repair};
use crate::{CliError, Exit, Paint, Ui, commands::environment};
use butler_sandbox::Sandbox;

/// Check this machine and this repository, and say how to fix what is wrong
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Do not run preparation and checks
    #[arg(long)]
    quick: bool,
    /// Repair what can be repaired safely: who may read private files
    #[arg(long)]
    fix: bool,
    /// Ask every model to call a tool and to read a long prompt; costs a few cents
    #[arg(long)]
    probe: bool,
}

/// What a probe may look at.
#[derive(Debug)]
pub(crate) struct Place {
    /// Where the command was started.
    pub here: PathBuf,
    /// The machine's folder.
    pub home: Option<PathBuf>,
    /// The repository's root, when there is one.
    pub repository: Option<PathBuf>,
    /// The root of what is set up, when it is.
    pub set_up: Option<PathBuf>,
    /// Its settings, where they can be read; what is wrong with them is said once.
    pub settings: Option<Settings>,
    /// Whether models may be asked something.
    pub probe: bool,
    /// Whether the repo's commands are left alone.
    pub quick: bool,
    /// Whether only findings may be said.
    pub json: bool,
}

/// A part of the examination.
pub(crate) type Probe = fn(&Place) -> Vec<Finding>;

/// All parts, in the order in which people read them. A part that needs
/// something of the machine adds its probe here.
const PROBES: &[Probe] = &[
    git::examine,
    forge::examine,
    files::examine,
    hub::examine,
    models::examine,
    sandbox::examine,
    mcp::examine,
    search::examine,
    commands::examine,
    network::examine,
    clock::examine,
    slack::examine,
    disk::examine,
];

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let here = env::current_dir()?;
    let home = machine_folder(&environment);
    let set_up = set_up_root(&here, home.as_deref());
    let mut place = Place {
        repository: repository_root(&here),
        set_up,
        settings: None,
        here,
        home,
        probe: args.probe,
        quick: args.quick,
        json: args.json,
    };
    if args.fix {
        repair(&place, ui);
    }
    // Not before: what is private is not read while it is not.
    let root = place.set_up.as_deref();
    place.settings = root.and_then(|root| Settings::load(root, &environment).ok());
    let findings: Vec<Finding> = PROBES.iter().flat_map(|probe| probe(&place)).collect();
    if args.json {
        let list: Vec<_> = findings.iter().map(Finding::to_json).collect();
        ui.json_in_lines(list)?;
    } else {
        for finding in &findings {
            show(finding, ui)?;
        }
    }
    let failed = findings
        .iter()
        .any(|finding| finding.level == Level::Failed);
    Ok(if failed { Exit::Findings } else { Exit::Done })
}

/// Before anything else is looked at: what is private is not read while it is not.
fn repair(place: &Place, ui: &Ui) {
    for found in files::examine(place) {
        let Some(repair) = &found.repair else {
            continue;
        };
        match repair.carry_out() {
            Ok(()) => ui.note(format_args!("repaired {}: {}", found.name, found.what)),
            Err(error) => ui.note(format_args!("{} stays as it is: {error}", found.name)),
        }
    }
}

/// What confines commands here, for whoever starts one.
fn sandbox() -> Option<Arc<Sandbox>> {
    let helper = env::current_exe().ok()?;
    Sandbox::new(helper).ok().map(Arc::new)
}

fn show(finding: &Finding, ui: &Ui) -> std::io::Result<()> {
    let word = finding.level.as_str();
    let Finding { name, what, .. } = finding;
    match finding.level {
        Level::Ok => ui.line(format_args!("{:8} {name}: {what}", word.green()))?,
        Level::Warning => ui.line(format_args!("{:8} {name}: {what}", word.yellow()))?,
        Level::Failed => ui.line(format_args!("{:8} {name}: {what}", word.red()))?,
    }
    match &finding.fix {
        Some(fix) => ui.line(format_args!("{:8} {fix}", "")),
        None => Ok(()),
    }
}
