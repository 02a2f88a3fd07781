//! A service as a LaunchAgent of macOS. Text in, text out.
//!
//! launchd reads no file of variables and fills nothing in, so a shell reads the
//! person's file and becomes the process.

use super::service::{Service, name};

/// At least so long between two starts; launchd's own least is ten.
const PAUSE_SECONDS: u32 = 10;
const STOP_SECONDS: u32 = 30;
/// Reads `$1` when it is there, then becomes what follows.
const SHELL: &str = "set -a; if [ -r \"$1\" ]; then . \"$1\"; fi; shift; exec \"$@\"";

/// The file's name.
pub(crate) fn file_name(repo: &str, process: &str) -> String {
    format!("{}.plist", name(repo, process))
}

/// The file's text.
pub(crate) fn render(service: &Service) -> String {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let mut command = vec!["/bin/sh".to_owned(), "-c".to_owned(), SHELL.to_owned()];
    command.push("codebutler".to_owned());
    command.push(text(&service.environment_file()));
    command.push(text(&service.program));
    command.extend(service.arguments().into_iter().map(str::to_owned));
    let words: String = command
        .iter()
        .map(|word| format!("    <string>{}</string>\n", escaped(word)))
        .collect();
    let variables: String = service
        .variables()
        .iter()
        .map(|(name, value)| {
            let value = escaped(value);
            format!("    <key>{name}</key>\n    <string>{value}</string>\n")
        })
        .collect();
    let output = escaped(&text(&output(service)));
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by `codebutler start`; `codebutler uninstall` removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>WorkingDirectory</key>
  <string>{root}</string>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>{PAUSE_SECONDS}</integer>
  <key>ExitTimeOut</key>
  <integer>{STOP_SECONDS}</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardOutPath</key>
  <string>{output}</string>
  <key>StandardErrorPath</key>
  <string>{output}</string>
</dict>
</plist>
"#,
        label = escaped(&service.name()),
        root = escaped(&text(&service.root)),
    )
}

/// What the process says besides its log: next to that.
fn output(service: &Service) -> std::path::PathBuf {
    let folder = service.home.join("logs").join(&service.repo);
    folder.join(format!("{}.out", service.process))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;
    use crate::commands::services::service::example;

    #[test]
    fn a_launch_agent_says_what_runs_where() {
        insta::assert_snapshot!(render(&example("coder")));
    }

    /// What macOS demands of the file, checked by Python's reader of the format: no
    /// Mac was there to try it on.
    const RULES: &str = r#"
import plistlib, sys
agent = plistlib.load(open(sys.argv[1], "rb"))
assert agent["Label"] + ".plist" == sys.argv[1].rsplit("/", 1)[1]
words = agent["ProgramArguments"]
assert words[0].startswith("/") and words[4].startswith("/") and words[5].startswith("/")
assert agent["WorkingDirectory"] == sys.argv[2], agent["WorkingDirectory"]
assert agent["KeepAlive"] == {"SuccessfulExit": False} and agent["RunAtLoad"] is True
assert agent["ThrottleInterval"] >= 10
for path in "StandardOutPath", "StandardErrorPath":
    assert agent[path].startswith("/")
variables = agent["EnvironmentVariables"]
assert variables["PATH"] == sys.argv[3], variables
for value in [*variables.values(), *words[4:], agent["WorkingDirectory"]]:
    assert isinstance(value, str) and "~" not in value and "$HOME" not in value
known = {"Label", "ProgramArguments", "WorkingDirectory", "EnvironmentVariables", "RunAtLoad",
         "KeepAlive", "ThrottleInterval", "ExitTimeOut", "ProcessType", "StandardOutPath",
         "StandardErrorPath"}
assert set(agent) == known, set(agent) ^ known
"#;

    #[test]
    fn launch_agents_keep_to_the_rules_of_the_format() {
        let folder = tempfile::tempdir().unwrap();
        for process in ["hub", "coder"] {
            let service = example(process);
            let file = folder.path().join(file_name("app", process));
            fs::write(&file, render(&service)).unwrap();
            let root = service.root.to_str().unwrap();
            let judged = Command::new("python3")
                .args(["-c", RULES, file.to_str().unwrap(), root, &service.path])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&judged.stderr);
            assert!(judged.status.success(), "{process}: {said}");
        }
    }
}
