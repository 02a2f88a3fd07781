//! A repository to work on: a temporary folder with a bare remote, and clones of
//! it. Everything is gone when the [`ScratchRepo`] is dropped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A bare remote with one commit on `main`, and a first clone of it.
#[derive(Debug)]
pub struct ScratchRepo {
    folder: TempDir,
    /// The first clone.
    pub clone: Checkout,
}

/// A clone of the remote. The folder belongs to the [`ScratchRepo`].
#[derive(Debug)]
pub struct Checkout {
    root: PathBuf,
}

impl Default for ScratchRepo {
    fn default() -> Self {
        Self::new()
    }
}

impl ScratchRepo {
    /// A remote whose `main` holds `README.md`, and a clone named `clone`.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("codebutler-scratch-")
            .tempdir()
            .expect("a temporary folder can be made");
        let remote = folder.path().join("remote.git");
        git(
            folder.path(),
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "remote.git",
            ],
        );
        let seed = folder.path().join("seed");
        git(
            folder.path(),
            &["init", "--quiet", "--initial-branch=main", "seed"],
        );
        let seed = Checkout { root: seed };
        seed.write("README.md", "# scratch\n");
        seed.commit("first commit");
        git(
            seed.root(),
            &["push", "--quiet", path(&remote), "main:main"],
        );
        fs::remove_dir_all(seed.root()).expect("the seed can be removed");
        let clone = clone_into(folder.path(), "clone");
        Self { folder, clone }
    }

    /// The folder that holds everything.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The top of the first clone.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.clone.root()
    }

    /// The bare remote.
    #[must_use]
    pub fn remote(&self) -> PathBuf {
        self.folder().join("remote.git")
    }

    /// A further clone, as another machine would have it.
    #[must_use]
    pub fn clone_as(&self, name: &str) -> Checkout {
        clone_into(self.folder(), name)
    }

    /// Runs git on the bare remote.
    pub fn remote_git(&self, args: &[&str]) -> String {
        let remote = self.remote();
        let mut all = vec!["--git-dir", path(&remote)];
        all.extend(args);
        git(self.folder(), &all)
    }

    /// The names of the remote's branches, sorted.
    #[must_use]
    pub fn remote_branches(&self) -> Vec<String> {
        self.remote_git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// A file as it is on a branch of the remote.
    #[must_use]
    pub fn remote_file(&self, branch: &str, file: &str) -> Option<String> {
        let remote = self.remote();
        let output = plain(self.folder())
            .args(["--git-dir", path(&remote), "show"])
            .arg(format!("{branch}:{file}"))
            .output()
            .expect("git runs");
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Somebody else pushes a change of one file to `main`.
    pub fn push_to_main(&self, file: &str, text: &str) {
        let other = self.folder().join("somebody");
        let other = if other.exists() {
            git(&other, &["pull", "--quiet", "--ff-only"]);
            Checkout { root: other }
        } else {
            self.clone_as("somebody")
        };
        other.write(file, text);
        other.commit(&format!("somebody changes {file}"));
        git(other.root(), &["push", "--quiet", "origin", "main"]);
    }
}

impl Checkout {
    /// Its top folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file, folders included.
    pub fn write(&self, file: &str, text: &str) {
        let file = self.root.join(file);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("a folder");
        fs::write(file, text).expect("a file can be written");
    }

    /// Commits everything.
    pub fn commit(&self, message: &str) {
        git(&self.root, &["add", "--all"]);
        git(
            &self.root,
            &["commit", "--quiet", "--allow-empty", "-m", message],
        );
    }

    /// Runs git here.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }
}

fn clone_into(folder: &Path, name: &str) -> Checkout {
    git(folder, &["clone", "--quiet", "remote.git", name]);
    Checkout {
        root: folder
            .join(name)
            .canonicalize()
            .expect("the clone is there"),
    }
}

/// Runs git as a test's own hand: no config of this machine, `you` as author.
/// Gives its trimmed output, and panics if it fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = plain(dir).args(args).output().expect("git runs");
    assert!(
        output.status.success(),
        "git {args:?} in {}: {}",
        dir.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn plain(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "you")
            .env(format!("GIT_{who}_EMAIL"), "you@example.invalid");
    }
    command
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_repo_has_a_remote_and_clones_that_can_push() {
        let scratch = ScratchRepo::new();
        assert_eq!(scratch.remote_branches(), ["main"]);
        scratch.push_to_main("a.txt", "a");
        scratch.push_to_main("a.txt", "b");
        assert_eq!(scratch.remote_file("main", "a.txt").as_deref(), Some("b"));
        assert_eq!(scratch.remote_file("main", "none"), None);
        let second = scratch.clone_as("second");
        assert!(second.root().join("a.txt").exists());
        assert!(!scratch.root().join("a.txt").exists());
    }
}
