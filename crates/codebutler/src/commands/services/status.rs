//! `codebutler status`: how the hub and the agents of a repo are, whoever keeps
//! them: services, `up`, a terminal. Useful also when nothing runs.

mod gather;
mod words;

use std::path::PathBuf;

use butler_config::{Settings, machine_folder, set_up_root};

pub(crate) use self::gather::{RepoStatus, State, gather};
use super::manager::Manager;
use crate::{CliError, Exit, Ui, commands::environment, log::now_ms, names, process};

/// Show how hub and agents are: processes, versions, threads, money, last errors
///
/// Exits with 0 when everything runs that should, with 5 when some of it does not,
/// and with 10 when nothing runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Every repository of this machine, not only this one
    #[arg(long)]
    all: bool,

    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let roots = roots(args.all)?;
    let manager = Manager::of_this_system(&environment).ok();
    process::run_on_one_thread(async move |_cancel| {
        let mut found = Vec::new();
        for root in &roots {
            found.push(match Settings::load(root, &environment) {
                Ok(settings) => gather(&settings, manager.as_ref()).await?,
                Err(problems) if roots.len() == 1 => return Err(problems.into()),
                // The others are not less worth knowing.
                Err(problems) => RepoStatus::unknown(root, &problems.into()),
            });
        }
        if args.json {
            ui.json(serde_json::json!({ "repos": found }))?;
        } else {
            show(&found, ui)?;
        }
        Ok(exit(&found))
    })
}

/// The repo around here; all that this machine knows where there is none.
fn roots(all: bool) -> Result<Vec<PathBuf>, CliError> {
    let home = machine_folder(&environment);
    let here = set_up_root(&std::env::current_dir()?, home.as_deref());
    let roots: Vec<PathBuf> = match here {
        Some(root) if !all => vec![root],
        here => {
            let mut roots = names::known(&home.unwrap_or_default())?;
            roots.extend(here.filter(|root| !roots.contains(root)));
            // What was moved away or removed has nothing to say.
            roots.retain(|root| root.join(butler_config::FOLDER).is_dir());
            roots
        }
    };
    if roots.is_empty() {
        let error = CliError::user("no repository of this machine is set up for CodeButler");
        return Err(error.hint("run `codebutler init` in a repository"));
    }
    Ok(roots)
}

/// Says it to a person.
pub(crate) fn show(repos: &[RepoStatus], ui: &Ui) -> Result<(), CliError> {
    for line in words::text(repos, now_ms()) {
        ui.line(line)?;
    }
    Ok(())
}

/// One code for all of them.
pub(crate) fn exit(repos: &[RepoStatus]) -> Exit {
    let mut processes = repos.iter().flat_map(|repo| &repo.processes);
    let elsewhere = repos.iter().any(|repo| !repo.elsewhere.is_empty());
    if !elsewhere && !processes.any(|one| one.state == State::Running) {
        return Exit::NothingRuns;
    }
    if repos.iter().all(RepoStatus::is_fine) {
        Exit::Done
    } else {
        Exit::Findings
    }
}
