//! A service as a systemd user unit. Text in, text out.
//!
//! A process that fails is started again after a moment; one that fails again and
//! again is not, and `status` says so. Its main process is asked to end and gets
//! half a minute for its running tools; then everything it has started is killed.

use std::path::Path;

use super::service::{Service, name};
use crate::{Exit, process::running::HUB};

/// Failures within [`WINDOW_SECONDS`] after which a process is not started again.
pub(crate) const TRIES: u32 = 8;
const WINDOW_SECONDS: u32 = 600;
const PAUSE_SECONDS: u32 = 2;
/// Tools get five seconds and two more; this is well beyond that.
const STOP_SECONDS: u32 = 30;

/// The file's name, which is the unit's.
pub(crate) fn file_name(repo: &str, process: &str) -> String {
    format!("{}.service", name(repo, process))
}

/// The file's text.
pub(crate) fn render(service: &Service) -> String {
    let mut command = vec![argument(&service.program.to_string_lossy())];
    command.extend(service.arguments().into_iter().map(argument));
    let mut lines = vec![
        "# Written by `codebutler start`; `codebutler uninstall` removes it.".to_owned(),
        "[Unit]".to_owned(),
        format!("Description={}", specifiers(&service.title())),
    ];
    if service.process != HUB {
        lines.push(format!("After={}", file_name(&service.repo, HUB)));
    }
    lines.extend([
        format!("StartLimitIntervalSec={WINDOW_SECONDS}"),
        format!("StartLimitBurst={TRIES}"),
        String::new(),
        "[Service]".to_owned(),
        "Type=exec".to_owned(),
        format!("WorkingDirectory={}", path(&service.root)),
        format!("ExecStart={}", command.join(" ")),
    ]);
    for (key, value) in service.variables() {
        lines.push(format!("Environment={}", quoted(&format!("{key}={value}"))));
    }
    let comes_back = Exit::ComeBack.code();
    lines.extend([
        format!("EnvironmentFile=-{}", path(&service.environment_file())),
        "Restart=on-failure".to_owned(),
        format!("RestartSec={PAUSE_SECONDS}"),
        format!("RestartForceExitStatus={comes_back}"),
        format!("SuccessExitStatus={comes_back}"),
        "KillMode=mixed".to_owned(),
        format!("TimeoutStopSec={STOP_SECONDS}"),
        String::new(),
        "[Install]".to_owned(),
        "WantedBy=default.target".to_owned(),
        String::new(),
    ]);
    lines.join("\n")
}

/// The folder that a unit's file names, to see whose it is.
pub(crate) fn working_directory(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.strip_prefix("WorkingDirectory="))
}

/// A path that is a value by itself.
pub(crate) fn path(path: &Path) -> String {
    specifiers(&path.to_string_lossy())
}

/// One word of a command line: variables are not filled in.
fn argument(text: &str) -> String {
    quoted(&text.replace('$', "$$"))
}

/// In quotes where it needs them.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%$".contains(c);
    let text = specifiers(text);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A percent sign begins a word that systemd fills in.
fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;
    use crate::commands::services::service::example;

    #[test]
    fn a_unit_says_what_runs_where_and_when_it_is_given_up() {
        insta::assert_snapshot!(render(&example("coder")));
    }

    #[test]
    fn the_hub_waits_for_nobody_and_stands_by() {
        let text = render(&example(HUB));
        assert!(!text.contains("After="), "{text}");
        assert!(text.contains(" hub --stand-by\n"), "{text}");
    }

    /// The judge is systemd's own reader, where it is installed.
    #[test]
    fn systemd_reads_the_units_without_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("100% \"fun\" & more");
        fs::create_dir(&root).unwrap();
        for process in [HUB, "coder"] {
            let service = Service {
                root: root.clone(),
                program: "/bin/true".into(),
                ..example(process)
            };
            let file = folder.path().join(file_name("app", process));
            fs::write(&file, render(&service)).unwrap();
        }
        let units = [HUB, "coder"].map(|process| folder.path().join(file_name("app", process)));
        let judged = Command::new("systemd-analyze")
            .args(["--user", "--man=no", "verify"])
            .args(units)
            .env("XDG_RUNTIME_DIR", folder.path())
            .output();
        let Ok(judged) = judged else {
            println!("SKIPPED: there is no systemd-analyze here");
            return;
        };
        let said = String::from_utf8_lossy(&judged.stderr).into_owned();
        let ours: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("codebutler"))
            .collect();
        assert!(judged.status.success() && ours.is_empty(), "{said}");
    }
}
