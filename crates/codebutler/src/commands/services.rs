//! The team as services of the operating system: systemd user units or
//! LaunchAgents, one per agent and one for the hub.
//!
//! [`unit`] and [`plist`] turn a [`service::Service`] into text and touch nothing;
//! [`manager`] writes the files and talks to `systemctl` or `launchctl`. The hub of
//! a repo is started as `up` starts it: it stands by while another repo's hub runs.

pub(crate) mod manager;
mod plist;
pub(crate) mod restart;
mod service;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod uninstall;
mod unit;

use std::path::PathBuf;

use butler_config::Settings;

use self::manager::Manager;
use crate::{
    CliError,
    commands::{environment, set_up_here},
    hub_access,
    process::running,
    wiring,
};

/// How to get services.
const INSTALLS: &str = "`codebutler start` installs and starts them";
/// The other way to run a team.
const RUNS_HERE: &str = "`codebutler up` runs the team in this terminal";
/// The same where the repository has joined a hub on another machine.
const WORKS_HERE: &str = "`codebutler worker` runs the agents of this machine";

/// The repo that a command was started in, and what keeps its services.
struct Place {
    settings: Settings,
    root: PathBuf,
    repo: String,
    manager: Manager,
}

impl Place {
    /// The repo around here.
    fn here() -> Result<Self, CliError> {
        let root = set_up_here()?;
        let settings = Settings::load(&root, &environment)?;
        hub_access::beside_hub(&settings)?;
        let repo = wiring::repo_name(&settings.home, &root)?;
        let manager = Manager::of_this_system(&environment)?;
        Ok(Self {
            settings,
            root,
            repo,
            manager,
        })
    }

    /// The processes of the repo that are installed as services, of which there
    /// must be some, and a session that runs them.
    fn installed(&self) -> Result<Vec<&'static str>, CliError> {
        let installed = self.manager.installed(&self.repo);
        if installed.is_empty() {
            let error = CliError::user(format!(
                "no services of {} are installed on this machine",
                self.repo
            ));
            return Err(match running::team(&self.settings.home, &self.repo) {
                Some(pid) => error.hint(format!(
                    "its team runs in a terminal (process {pid}): Ctrl-C there, or `kill {pid}`, ends it"
                )),
                None => error.hint(INSTALLS),
            });
        }
        self.manager.check_session()?;
        Ok(installed)
    }
}
