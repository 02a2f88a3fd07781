//! A home and a repository in a scratch folder, and the binary run in it.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use assert_cmd::cargo::cargo_bin;

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A home and a fresh repository called `app`.
    pub(crate) fn new() -> Self {
        let scratch = Self::without_git();
        git(
            &scratch.root(),
            &["init", "--quiet", "--initial-branch=main"],
        );
        scratch
    }

    /// The same without the repository.
    pub(crate) fn without_git() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("app")).unwrap();
        Self(dir)
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join("app")
    }

    /// The machine's folder.
    pub(crate) fn home(&self) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join("home")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.root().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap()
    }

    /// Writes the machine config, private as it must be.
    pub(crate) fn machine(&self, text: &str) {
        fs::create_dir_all(self.home()).unwrap();
        let file = self.home().join("config.json");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// A command with this home and nothing else of the tester's environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CODEBUTLER_HOME", self.home());
        command
    }

    /// The binary, started in the repo.
    pub(crate) fn codebutler(&self, args: &[&str]) -> Command {
        let mut command = self.command(&binary());
        command.args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.codebutler(args))
    }

    /// The same, with something to read.
    pub(crate) fn fed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        fed(&mut self.codebutler(args), input.as_ref())
    }

    /// Every file below the scratch folder with its text, git's own left out.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        collect(self.0.path(), &mut files);
        files
    }
}

pub(crate) fn binary() -> PathBuf {
    cargo_bin("codebutler")
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Runs a command that reads `input`.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Ran {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // On a thread of its own: both sides may have more to say than a pipe holds.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// The lines of an output as JSON.
pub(crate) fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=you", "-c", "user.email=you@example.org"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// A first commit on a remote beside the repo: agents need one.
pub(crate) fn pushed(root: &Path) {
    let bare = root.with_extension("git");
    let bare = bare.to_str().unwrap();
    git(root, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    git(root, &["init", "--quiet", "--bare", bare]);
    git(root, &["remote", "add", "origin", bare]);
    git(root, &["push", "--quiet", "origin", "main"]);
}

fn collect(dir: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != ".git" {
            // A folder counts even when it is empty.
            files.insert(path.clone(), String::new());
            collect(&path, files);
        } else if path.is_file() {
            files.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
}
