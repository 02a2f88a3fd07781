//! A real `systemd --user` in mount and process namespaces of its own: nothing of
//! the machine's own services is touched, and everything ends with the test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use butler_testkit::ScratchRepo;
use serde_json::Value;

use crate::team::home;

const PATIENCE: Duration = Duration::from_secs(120);
const PROGRAM: &str = "/lib/systemd/systemd";
const APART: [&str; 5] = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// What systemd needs to believe that it may run; then it, with a first process
/// above it that is not it: as the first it would be the machine's own.
const BEGIN: &str = r#"
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR" || exit 1
chmod 700 "$XDG_RUNTIME_DIR"
/lib/systemd/systemd --user &
wait $!
"#;

/// Ends with the first signal, which `unshare` does not.
const KEEP: &str = r#"
unshare "$@" &
child=$!
trap 'kill -9 $(cat /proc/$child/task/$child/children)' TERM
wait
"#;

#[derive(Clone)]
pub(crate) struct Systemd(Arc<Inner>);

struct Inner {
    folder: tempfile::TempDir,
    /// The first process inside, as it is called outside.
    first: OnceLock<String>,
    machine: OnceLock<PathBuf>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Everything inside ends with the first process.
        if let Some(first) = self.first.get() {
            let _ = Command::new("kill").args(["-9", first]).output();
        }
    }
}

impl Systemd {
    /// Looks whether it can run here; the error says why not.
    pub(crate) fn prepare() -> Result<Self, String> {
        if !Path::new(PROGRAM).exists() {
            let ci = std::env::var_os("CI").is_some();
            assert!(!ci, "there is no systemd; in CI nothing is skipped");
            return Err(format!("there is no {PROGRAM}"));
        }
        // It makes control groups, which root in a namespace of its own may not.
        if !rustix::process::geteuid().is_root() {
            return Err("a systemd of the test's own needs root".to_owned());
        }
        let probe = Command::new("unshare")
            .args(APART)
            .args(["mount", "-t", "tmpfs", "tmpfs", "/run"])
            .output()
            .map_err(|error| format!("unshare: {error}"))?;
        if !probe.status.success() {
            return Err(String::from_utf8_lossy(&probe.stderr).into_owned());
        }
        let inner = Inner {
            folder: tempfile::tempdir().unwrap(),
            first: OnceLock::new(),
            machine: OnceLock::new(),
        };
        let systemd = Self(Arc::new(inner));
        fs::create_dir_all(systemd.binary().parent().unwrap()).unwrap();
        systemd.install_again();
        Ok(systemd)
    }

    /// Starts systemd, then the team of a repo as services; where its hub is.
    pub(crate) fn start(&self, scratch: &ScratchRepo) -> (Child, String) {
        self.0.machine.set(home(scratch)).unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEP, "sh"])
            .args(APART)
            .args(["sh", "-c", BEGIN])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = self.with_variables(&mut command).spawn().unwrap();
        self.until("systemd", || {
            let Some(first) = child_of(&child.id().to_string()).and_then(|one| child_of(&one))
            else {
                return false;
            };
            let _ = self.0.first.set(first);
            self.try_systemctl(&["show-environment"]).status.success()
        });
        let (code, out, err) = self.codebutler(scratch.root(), &["start"]);
        assert_eq!(code, 0, "{out}\n{err}");
        assert!(out.contains("runs as services"), "{out}");
        let at = out.find("http://").unwrap();
        (child, out[at..].split("login").next().unwrap().to_owned())
    }

    /// Our binary, inside.
    pub(crate) fn codebutler(&self, root: &Path, words: &[&str]) -> (i32, String, String) {
        let mut all = vec![self.binary().to_str().unwrap().to_owned()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        let output = self.inside(root, &all);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// What `status --json` says, with its code.
    pub(crate) fn status(&self, root: &Path) -> (i32, Value) {
        let (code, out, err) = self.codebutler(root, &["status", "--json"]);
        let status = serde_json::from_str(&out);
        (
            code,
            status.unwrap_or_else(|_| panic!("{code} {out} {err}")),
        )
    }

    pub(crate) fn systemctl(&self, words: &[&str]) {
        let output = self.try_systemctl(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    fn try_systemctl(&self, words: &[&str]) -> Output {
        let mut all = vec!["systemctl".to_owned(), "--user".to_owned()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        self.inside(self.0.folder.path(), &all)
    }

    /// A unit that is tried again without a pause, as a person may have it.
    pub(crate) fn hurry(&self, unit: &str) {
        let folder = self.units().join(format!("{unit}.d"));
        fs::create_dir_all(&folder).unwrap();
        let text = "[Service]\nRestartSec=50ms\n";
        fs::write(folder.join("hurry.conf"), text).unwrap();
        self.systemctl(&["daemon-reload"]);
    }

    /// Puts another file with the same content in the binary's place, as an
    /// installation does.
    pub(crate) fn install_again(&self) {
        let new = self.binary().with_extension("new");
        fs::copy(cargo_bin!("codebutler"), &new).unwrap();
        fs::rename(new, self.binary()).unwrap();
    }

    /// Our files that are left among the units.
    pub(crate) fn unit_files(&self) -> Vec<String> {
        let mut left = Vec::new();
        for folder in [self.units(), self.units().join("default.target.wants")] {
            let all = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = all.map(|one| one.file_name().to_string_lossy().into_owned());
            left.extend(
                names.filter(|name| name.starts_with("codebutler.") && name.ends_with(".service")),
            );
        }
        left
    }

    /// Processes that were started from our binary.
    pub(crate) fn processes(&self) -> Vec<String> {
        let binary = self.binary();
        let binary = binary.to_str().unwrap();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|one| fs::read_to_string(one.path().join("cmdline")).ok());
        lines.filter(|line| line.starts_with(binary)).collect()
    }

    fn inside(&self, folder: &Path, words: &[String]) -> Output {
        let first = self.0.first.get().unwrap();
        let mut command = Command::new("nsenter");
        command.args(["--target", first, "--mount", "--pid"]);
        command
            .args(["sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh"])
            .arg(folder)
            .args(words)
            .stdin(Stdio::null());
        self.with_variables(&mut command).output().unwrap()
    }

    fn with_variables<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let machine = self.0.machine.get().unwrap();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.0.folder.path())
            .env("USER", "you")
            .env("XDG_RUNTIME_DIR", "/run/user/0")
            .env("CODEBUTLER_HOME", machine)
    }

    fn units(&self) -> PathBuf {
        self.0.folder.path().join(".config/systemd/user")
    }

    fn binary(&self) -> PathBuf {
        self.0.folder.path().join("bin/codebutler")
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The first child of a process.
fn child_of(pid: &str) -> Option<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next().map(str::to_owned)
}
