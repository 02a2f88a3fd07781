//! A machine on a network of its own, as people have one: a home, a clone, and the binary,
//! with nothing of the test's own environment.

use std::{
    ffi::{OsStr, OsString},
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use assert_cmd::cargo::cargo_bin;
use butler_testkit::{Cable, Host, Network, ScratchRepo};
use serde_json::Value;

use crate::{keeper::Keeper, team::agree_with};

/// A machine with a home of its own, and a clone once it has one.
pub(crate) struct Machine {
    pub host: Host,
    pub cable: Cable,
    folder: PathBuf,
}

impl Machine {
    pub(crate) fn start(network: &mut Network, scratch: &ScratchRepo, name: &str) -> Option<Self> {
        let host = Host::start()?;
        let folder = scratch.folder().join(name);
        fs::create_dir_all(&folder).unwrap();
        let own = "[user]\nname = you\nemail = you@example.invalid\n";
        fs::write(folder.join(".gitconfig"), own).unwrap();
        Some(Self {
            cable: network.cable(&host),
            host,
            folder,
        })
    }

    pub(crate) fn at(&self, port: u16) -> SocketAddr {
        (self.cable.address, port).into()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("app")
    }

    pub(crate) fn configure(&self, config: &Value) {
        let home = self.folder.join(".codebutler");
        fs::create_dir_all(&home).unwrap();
        butler_config::write_private(&home.join("config.json"), &config.to_string()).unwrap();
    }

    /// A program as somebody starts it here, who has nothing of the test's own.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        command_at(&self.host.entry(), &self.folder, program.as_ref())
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        let mut command = self.command(cargo_bin!("codebutler"));
        command.args(args).output().unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn agree(&self) {
        agree_with(&|args| String::from_utf8(self.output(args).stdout).unwrap());
    }

    /// A clone, from the git server, through this machine's own network.
    pub(crate) fn clone_from(&self, url: &str) {
        let mut git = self.command("git");
        let output = git.args(["clone", "--quiet", url, "app"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// What docs/machines.md says, and nothing else.
    pub(crate) fn join(&self, link: &str) -> Running {
        self.run(&["init", "--yes", "--untried", "--join", link]);
        self.agree();
        self.work()
    }

    /// `codebutler worker`.
    fn work(&self) -> Running {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log());
        let log = log.unwrap();
        let child = self
            .command(cargo_bin!("codebutler"))
            .args(["worker", "--logs"])
            .env("CODEBUTLER_SUPERVISED", "1")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        Running(child.unwrap())
    }

    /// Whether an agent here has said so.
    pub(crate) fn says(&self, role: &str, words: &str) -> bool {
        let said = fs::read_to_string(self.log()).unwrap_or_default();
        let mut own = said.lines().filter(|line| line.trim().starts_with(role));
        own.any(|line| line.contains(words))
    }

    /// Waits until each of these agents listens.
    pub(crate) fn listens(&self, roles: &str) {
        for role in roles.split(',') {
            while !self.says(role, "listening") {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// A hub that is started again when it dies.
    pub(crate) fn keep_hub(&self, config: &Value) -> Keeper {
        self.configure(config);
        let (entry, folder) = (self.host.entry(), self.folder.clone());
        Keeper::start("hub", &self.folder, move || {
            let mut command = command_at(&entry, &folder, cargo_bin!("codebutler").as_ref());
            command.arg("hub");
            command
        })
    }

    fn log(&self) -> PathBuf {
        self.folder.join("worker.log")
    }
}

/// A process that nobody starts again, ended with the test.
pub(crate) struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command_at(entry: &[OsString], folder: &Path, program: &OsStr) -> Command {
    let mut command = Command::new(&entry[0]);
    let root = folder.join("app");
    let ours = |(name, _): &(OsString, OsString)| name == "PATH" || name == "TMPDIR";
    command
        .args(&entry[1..])
        .arg(program)
        .current_dir(if root.exists() { &root } else { folder })
        .env_clear()
        .envs(std::env::vars_os().filter(ours))
        .env("HOME", folder)
        .env("NO_COLOR", "1");
    command
}
