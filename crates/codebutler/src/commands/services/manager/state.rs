//! What a service manager says about one service, in our words.

use std::collections::HashMap;

use super::call;

/// How a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServiceState {
    /// Its process runs.
    Active,
    /// On its way up or down.
    Changing,
    /// It failed and is tried again after a moment; so often it was already.
    Retrying { restarts: u32 },
    /// Nobody wants it to run now.
    Stopped,
    /// It was given up.
    Failed { restarts: u32, how: String },
}

/// Asks systemd; nothing where it cannot be asked.
pub(super) fn of_systemd(unit: &[String]) -> Option<ServiceState> {
    let keys = "--property=ActiveState,SubState,NRestarts,Result,ExecMainStatus,ExecMainCode";
    let mut words = vec!["--user", "show", keys];
    words.extend(unit.iter().map(String::as_str));
    Some(from_systemd(&call("systemctl", &words).ok()?))
}

fn from_systemd(text: &str) -> ServiceState {
    let values: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let value = |key: &str| values.get(key).copied().unwrap_or_default();
    let restarts = value("NRestarts").parse().unwrap_or(0);
    match (value("ActiveState"), value("SubState")) {
        ("active" | "reloading", _) => ServiceState::Active,
        (_, "auto-restart") => ServiceState::Retrying { restarts },
        ("activating" | "deactivating", _) => ServiceState::Changing,
        ("failed", _) => ServiceState::Failed {
            restarts,
            how: ending(
                value("ExecMainCode"),
                value("ExecMainStatus"),
                value("Result"),
            ),
        },
        _ => ServiceState::Stopped,
    }
}

/// How the last process ended. Codes as `waitid` has them: 1 is an exit, 2 and 3 a signal.
fn ending(code: &str, status: &str, result: &str) -> String {
    match code {
        "1" => format!("exit code {status}"),
        "2" | "3" => format!("signal {status}"),
        _ => result.to_owned(),
    }
}

/// Asks launchd; what it does not know is not loaded.
pub(super) fn of_launchd(label: &str) -> Option<ServiceState> {
    Some(match call("launchctl", &["print", label]) {
        Ok(text) => from_launchd(&text),
        Err(_) => ServiceState::Stopped,
    })
}

fn from_launchd(text: &str) -> ServiceState {
    let value = |key: &str| {
        let found = text.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        });
        found.unwrap_or_default()
    };
    let restarts = value("runs").parse::<u32>().unwrap_or(1).saturating_sub(1);
    match (value("state").as_str(), value("last exit code").as_str()) {
        ("running", _) => ServiceState::Active,
        (_, "0" | "" | "(never exited)") => ServiceState::Stopped,
        // launchd gives nobody up; it waits longer.
        _ => ServiceState::Retrying { restarts },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_is_understood() {
        let check = |text: &str, expected: ServiceState| assert_eq!(from_systemd(text), expected);
        let block = |active: &str, sub: &str, rest: &str| {
            format!("NRestarts=7\nActiveState={active}\nSubState={sub}\n{rest}")
        };
        check(&block("active", "running", ""), ServiceState::Active);
        check(&block("inactive", "dead", ""), ServiceState::Stopped);
        check(&block("activating", "start", ""), ServiceState::Changing);
        check(
            &block("activating", "auto-restart", ""),
            ServiceState::Retrying { restarts: 7 },
        );
        let failed = |how: &str| ServiceState::Failed {
            restarts: 7,
            how: how.to_owned(),
        };
        let exit = "ExecMainCode=1\nExecMainStatus=3\nResult=exit-code";
        check(&block("failed", "failed", exit), failed("exit code 3"));
        let signal = "ExecMainCode=2\nExecMainStatus=9\nResult=signal";
        check(&block("failed", "failed", signal), failed("signal 9"));
        let never = "ExecMainCode=0\nExecMainStatus=0\nResult=resources";
        check(&block("failed", "failed", never), failed("resources"));
        check("", ServiceState::Stopped);
    }

    #[test]
    fn launchd_is_understood() {
        let check = |text: &str, expected: ServiceState| assert_eq!(from_launchd(text), expected);
        check(
            "gui/501/x = {\n\tstate = running\n\tpid = 7\n}",
            ServiceState::Active,
        );
        check(
            "\tstate = not running\n\tlast exit code = 0\n",
            ServiceState::Stopped,
        );
        check(
            "\tstate = spawn scheduled\n\truns = 4\n\tlast exit code = 3\n",
            ServiceState::Retrying { restarts: 3 },
        );
    }
}
