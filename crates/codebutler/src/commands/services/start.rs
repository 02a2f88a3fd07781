//! `codebutler start`: installs the services of this repo where they are missing,
//! starts them, and waits until the team is connected.

use std::{env, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use butler_protocol::Role;
use tokio::time::{Instant, sleep};

use super::{
    Place,
    service::{Service, environment_file},
    status::{self, RepoStatus, gather},
};
use crate::{
    CliError, Exit, Ui, cli,
    commands::run::{learning, up::login_link},
    process::{
        self,
        running::{self, HUB},
    },
};

/// Slow machines and Slack included; what takes longer is told as it is.
const PATIENCE: Duration = Duration::from_secs(45);
const GLANCE: Duration = Duration::from_millis(200);

const ENVIRONMENT: &str = "\
# Variables for the services of CodeButler, one NAME=value a line. Keep it private (mode 600).
# Services do not see the variables of your shell. `codebutler restart` after a change.
";

/// Install the team as services of this machine, and start them
///
/// systemd user units on Linux, LaunchAgents on macOS: one per agent and one hub. They
/// start again after a crash, at the next login, and when a new binary is installed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these agents on this machine, as in pm,coder; others are removed from it
    #[arg(long, value_delimiter = ',', value_name = "ROLES", value_parser = cli::role(), ignore_case = true, hide_possible_values = true)]
    roles: Vec<Role>,
}

impl Args {
    /// These agents, and no others, on this machine.
    pub(crate) fn of(roles: &[Role]) -> Self {
        Self {
            roles: roles.to_vec(),
        }
    }
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let place = Place::here()?;
    place.manager.check_session()?;
    if let Some(pid) = running::team(&place.settings.home, &place.repo) {
        let repo = &place.repo;
        let error = CliError::user(format!(
            "the team of {repo} runs in a terminal (process {pid})"
        ));
        return Err(error.hint(format!(
            "Ctrl-C there, or `kill {pid}`, ends it; then start again"
        )));
    }
    install(&place, &args.roles, ui)?;
    process::run_on_one_thread(async |_cancel| {
        let found = settled(&place).await?;
        if let Some(hub) = &found.hub {
            learning::post(&place.settings, hub, ui).await;
        }
        tell(&place, &found, ui)
    })
}

/// Writes the files, starts what they describe, and removes what is not wanted.
fn install(place: &Place, roles: &[Role], ui: &Ui) -> Result<(), CliError> {
    let before = place.manager.installed(&place.repo);
    let wanted = wanted(roles, &before);
    let services = services(place, &wanted)?;
    environment(&place.settings.home, ui)?;
    let gone: Vec<&str> = before
        .iter()
        .copied()
        .filter(|name| !wanted.contains(name))
        .collect();
    if !gone.is_empty() {
        place.manager.stop(&place.repo, &gone)?;
        place.manager.remove(&place.repo, &gone)?;
        ui.note(format_args!(
            "removed from this machine: {}",
            gone.join(", ")
        ));
    }
    let changed = place.manager.write(&services)?;
    place.manager.start(&place.repo, &wanted, &changed)
}

/// The hub, and the agents that were asked for; else those that are installed; else all.
fn wanted(roles: &[Role], installed: &[&'static str]) -> Vec<&'static str> {
    let is_wanted = |name: &&'static str| match (roles, installed) {
        _ if *name == HUB => true,
        ([], []) => true,
        ([], installed) => installed.contains(name),
        (roles, _) => roles.iter().any(|role| role.as_str() == *name),
    };
    running::names().filter(is_wanted).collect()
}

fn services(place: &Place, processes: &[&'static str]) -> Result<Vec<Service>, CliError> {
    let program = env::current_exe()?;
    let path = env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let service = |process: &&'static str| Service {
        repo: place.repo.clone(),
        process,
        program: program.clone(),
        root: place.root.clone(),
        home: place.settings.home.clone(),
        path: path.clone(),
    };
    Ok(processes.iter().map(service).collect())
}

/// Makes the file of variables, and says which ones it lacks.
fn environment(home: &Path, ui: &Ui) -> Result<(), CliError> {
    let file = environment_file(home);
    if !file.exists() {
        butler_config::write_private(&file, ENVIRONMENT)?;
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let given = fs::read_to_string(&file)?;
    let config = fs::read_to_string(home.join("config.json")).unwrap_or_default();
    for name in missing_variables(&config, &given) {
        ui.note(format_args!(
            "the machine config uses ${{{name}}}, and services do not see your shell's variables: write {name}=… into {}",
            file.display()
        ));
    }
    Ok(())
}

/// Variables that the config names and the file does not give.
fn missing_variables(config: &str, given: &str) -> Vec<String> {
    let mut missing = Vec::new();
    let lines = config.lines().map(|line| line.trim_start());
    for line in lines.filter(|line| !line.starts_with("//")) {
        for part in line.split("${").skip(1) {
            let Some((name, _)) = part.split_once('}') else {
                continue;
            };
            let gives = |line: &str| line.split('=').next().map(str::trim) == Some(name);
            if !given.lines().any(gives) && !missing.iter().any(|one| one == name) {
                missing.push(name.to_owned());
            }
        }
    }
    missing
}

/// Waits until everything is connected, or something has failed.
pub(super) async fn settled(place: &Place) -> Result<RepoStatus, CliError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = gather(&place.settings, Some(&place.manager)).await?;
        if found.is_fine() || found.has_failed() || Instant::now() > until {
            return Ok(found);
        }
        sleep(GLANCE).await;
    }
}

/// Says who is there and how to go on.
pub(super) fn tell(place: &Place, found: &RepoStatus, ui: &Ui) -> Result<Exit, CliError> {
    let exit = status::exit(std::slice::from_ref(found));
    if exit == Exit::Done {
        let expected = found.processes.iter().filter(|one| one.expected);
        let names: Vec<&str> = expected.map(|one| one.name).collect();
        ui.line(format_args!(
            "the team of {} runs as services: {}",
            place.repo,
            names.join(", ")
        ))?;
        if let Some(hub) = &found.hub {
            ui.line(login_link(&place.settings, hub)?)?;
        }
    } else {
        status::show(std::slice::from_ref(found), ui)?;
    }
    if let Some(hint) = place.manager.linger_hint() {
        ui.note(hint);
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_here_is_asked_for_or_as_it_was_or_everybody() {
        assert_eq!(wanted(&[], &[]).len(), 7);
        assert_eq!(wanted(&[], &[HUB, "pm"]), [HUB, "pm"]);
        let roles = [Role::Coder, Role::Pm];
        assert_eq!(wanted(&roles, &[HUB, "lead"]), [HUB, "pm", "coder"]);
    }

    #[test]
    fn variables_of_the_config_that_no_service_would_see_are_named() {
        let config = "{\n  // \"${NOT}\"\n  \"a\": \"${ONE} ${TWO}\", \"b\": \"${ONE}\"\n}";
        assert_eq!(missing_variables(config, "# ONE=1\nTWO=2\n"), ["ONE"]);
        assert_eq!(missing_variables(config, "ONE=1\nTWO=2\n"), [""; 0]);
    }
}
