//! The service manager of this system: puts files where it looks for them, and
//! asks it to start, stop and tell. Nothing is decided here.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    RUNS_HERE, plist,
    service::{Service, name},
    unit,
};
use crate::{
    CliError,
    commands::setup::init::{Access, Staged},
    process::running,
};

mod state;

pub(crate) use state::ServiceState;

/// systemd or launchd, with the folder of a person's own services.
#[derive(Debug)]
pub(crate) enum Manager {
    Systemd { folder: PathBuf },
    Launchd { folder: PathBuf },
}

impl Manager {
    /// The one of this system.
    pub(crate) fn of_this_system(
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, CliError> {
        let absolute = |name: &str| {
            let path = variables(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME").ok_or_else(|| {
            CliError::user("HOME is not set, so nobody knows where services go").hint(RUNS_HERE)
        })?;
        if cfg!(target_os = "macos") {
            let folder = home.join("Library/LaunchAgents");
            return Ok(Manager::Launchd { folder });
        }
        let config = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        Ok(Manager::Systemd {
            folder: config.join("systemd/user"),
        })
    }

    /// The file of a process's service.
    pub(crate) fn file(&self, repo: &str, process: &str) -> PathBuf {
        match self {
            Manager::Systemd { folder } => folder.join(unit::file_name(repo, process)),
            Manager::Launchd { folder } => folder.join(plist::file_name(repo, process)),
        }
    }

    /// The processes of a repo that have a file.
    pub(crate) fn installed(&self, repo: &str) -> Vec<&'static str> {
        let has_file = |process: &&str| self.file(repo, process).exists();
        running::names().filter(has_file).collect()
    }

    /// Refuses where nobody would run a service of this person.
    pub(crate) fn check_session(&self) -> Result<(), CliError> {
        match self {
            Manager::Systemd { .. } => call("systemctl", &["--user", "show-environment"]),
            Manager::Launchd { .. } => call("launchctl", &["print", &domain()]),
        }
        .map(drop)
        .map_err(|reason| self.no_session(&reason))
    }

    fn no_session(&self, reason: &str) -> CliError {
        let reason = reason.lines().next().unwrap_or_default();
        let what = match self {
            Manager::Systemd { .. } => "there is no systemd user session here",
            Manager::Launchd { .. } => "there is no launchd session here",
        };
        let error = CliError::user(format!("{what}: {reason}"))
            .hint(format!("{RUNS_HERE}; in a container that is the way"));
        match self {
            Manager::Systemd { .. } => error.hint(
                "on a machine with systemd, log in as this user itself, not through su or sudo",
            ),
            Manager::Launchd { .. } => error,
        }
    }

    /// Writes the files of services; the names of those whose file is another one now.
    pub(crate) fn write(&self, services: &[Service]) -> Result<Vec<&'static str>, CliError> {
        let mut staged = Staged::new();
        let mut changed = Vec::new();
        for service in services {
            service.check()?;
            let file = self.file(&service.repo, service.process);
            let text = match self {
                Manager::Systemd { .. } => unit::render(service),
                Manager::Launchd { .. } => plist::render(service),
            };
            let before = fs::read_to_string(&file).ok();
            self.is_ours(&file, before.as_deref(), &service.root)?;
            if before.as_ref() != Some(&text) {
                staged.replace(&file, &text, Access::Shared)?;
                changed.push(service.process);
            }
        }
        staged.persist()?;
        Ok(changed)
    }

    /// A unit of that name may belong to a repo of another machine folder.
    fn is_ours(&self, file: &Path, text: Option<&str>, root: &Path) -> Result<(), CliError> {
        let theirs = text.and_then(unit::working_directory);
        match (self, theirs) {
            (Manager::Systemd { .. }, Some(theirs)) if theirs != unit::path(root) => {
                Err(CliError::user(format!(
                    "{} belongs to another repository: {theirs}",
                    file.display()
                ))
                .hint("`codebutler uninstall` there removes it"))
            }
            _ => Ok(()),
        }
    }

    /// Takes up what was written, and starts it now and at every login. What ran
    /// with another file is started again.
    pub(crate) fn start(
        &self,
        repo: &str,
        processes: &[&str],
        changed: &[&str],
    ) -> Result<(), CliError> {
        match self {
            Manager::Systemd { .. } => {
                systemctl("daemon-reload", &[])?;
                let units = units(repo, processes);
                forget_failures(&units);
                systemctl("enable", &units)?;
                if !changed.is_empty() {
                    systemctl("try-restart", &self::units(repo, changed))?;
                }
                systemctl("start", &units)
            }
            Manager::Launchd { .. } => {
                for process in processes {
                    let label = label(repo, process);
                    let loaded = call("launchctl", &["print", &label]).is_ok();
                    if loaded && !changed.contains(process) {
                        launchctl(&["kickstart", &label])?;
                        continue;
                    }
                    if loaded {
                        launchctl(&["bootout", &label])?;
                    }
                    let file = self.file(repo, process);
                    launchctl(&["bootstrap", &domain(), &file.to_string_lossy()])?;
                }
                Ok(())
            }
        }
    }

    /// Ends processes; they start again at the next login.
    pub(crate) fn stop(&self, repo: &str, processes: &[&str]) -> Result<(), CliError> {
        match self {
            Manager::Systemd { .. } => systemctl("stop", &units(repo, processes)),
            Manager::Launchd { .. } => {
                for process in processes {
                    let label = label(repo, process);
                    if call("launchctl", &["print", &label]).is_ok() {
                        launchctl(&["bootout", &label])?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Ends processes and starts them again.
    pub(crate) fn restart(&self, repo: &str, processes: &[&str]) -> Result<(), CliError> {
        match self {
            Manager::Systemd { .. } => {
                let units = units(repo, processes);
                forget_failures(&units);
                systemctl("restart", &units)
            }
            Manager::Launchd { .. } => {
                for process in processes {
                    launchctl(&["kickstart", "-k", &label(repo, process)])?;
                }
                Ok(())
            }
        }
    }

    /// Removes the files of processes that were stopped.
    pub(crate) fn remove(&self, repo: &str, processes: &[&str]) -> Result<(), CliError> {
        if let Manager::Systemd { .. } = self {
            systemctl("disable", &units(repo, processes))?;
        }
        for process in processes {
            match fs::remove_file(self.file(repo, process)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        match self {
            Manager::Systemd { .. } => {
                systemctl("daemon-reload", &[])?;
                // What failed and has no file any more is still listed otherwise.
                forget_failures(&units(repo, processes));
                Ok(())
            }
            Manager::Launchd { .. } => Ok(()),
        }
    }

    /// How the services of a repo are; nothing where nobody can be asked.
    pub(crate) fn states(
        &self,
        repo: &str,
        processes: &[&'static str],
    ) -> Option<Vec<(&'static str, ServiceState)>> {
        let state = |process: &&'static str| {
            let state = match self {
                Manager::Systemd { .. } => state::of_systemd(&units(repo, &[process])),
                Manager::Launchd { .. } => state::of_launchd(&label(repo, process)),
            };
            Some((*process, state?))
        };
        processes.iter().map(state).collect()
    }

    /// Why services would end with the person's last session, and what to do.
    pub(crate) fn linger_hint(&self) -> Option<String> {
        let Manager::Systemd { .. } = self else {
            return None;
        };
        let user = env::var("USER").or_else(|_| env::var("LOGNAME")).ok()?;
        let lingers = Path::new("/var/lib/systemd/linger").join(&user).exists();
        (!lingers).then(|| {
            format!(
                "they end when {user} logs out; `loginctl enable-linger {user}` lets them run on, and start with the machine"
            )
        })
    }
}

fn units(repo: &str, processes: &[&str]) -> Vec<String> {
    let unit = |process: &&str| unit::file_name(repo, process);
    processes.iter().map(unit).collect()
}

fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn label(repo: &str, process: &str) -> String {
    format!("{}/{}", domain(), name(repo, process))
}

fn systemctl(verb: &str, units: &[String]) -> Result<(), CliError> {
    call_units(verb, units)
        .map(drop)
        .map_err(|reason| failed("systemctl --user", verb, &reason))
}

/// Somebody wants it tried again. A unit that has not failed is not worth a word.
fn forget_failures(units: &[String]) {
    for unit in units {
        let _ = call("systemctl", &["--user", "--quiet", "reset-failed", unit]);
    }
}

fn call_units(verb: &str, units: &[String]) -> Result<String, String> {
    let mut words = vec!["--user", "--quiet", verb];
    words.extend(units.iter().map(String::as_str));
    call("systemctl", &words)
}

fn launchctl(words: &[&str]) -> Result<(), CliError> {
    call("launchctl", words)
        .map(drop)
        .map_err(|reason| failed("launchctl", words[0], &reason))
}

fn failed(program: &str, verb: &str, reason: &str) -> CliError {
    CliError::user(format!("`{program} {verb}` failed: {}", reason.trim()))
        .hint("`codebutler status` says how the services are")
}

/// What a program said, or why not.
pub(super) fn call(program: &str, words: &[&str]) -> Result<String, String> {
    match Command::new(program).args(words).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(match said.as_str() {
                "" => format!("{program} ended with {}", output.status),
                _ => said,
            })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{program} is not installed"))
        }
        Err(error) => Err(format!("{program}: {error}")),
    }
}
