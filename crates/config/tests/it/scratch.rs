//! A machine's folder and a repo in a scratch folder.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use butler_config::{Problems, Settings};

/// A home with its machine folder, and a repo that is set up.
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        fs::create_dir_all(dir.path().join("repo/.codebutler")).unwrap();
        fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        Self {
            dir,
            variables: Vec::new(),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join("repo")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Writes the machine config, private as it must be.
    pub(crate) fn machine(self, text: &str) -> Self {
        let file = self.home().join("config.json");
        fs::write(&file, text).unwrap();
        mode(&file, 0o600);
        self
    }

    /// Writes a file of the repo.
    pub(crate) fn repo(self, name: &str, text: &str) -> Self {
        fs::write(self.root().join(".codebutler").join(name), text).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(one, _)| one != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn load(&self) -> Result<Settings, Problems> {
        let home = self.home().to_string_lossy().into_owned();
        Settings::load(&self.root(), &|name| {
            if name == "CODEBUTLER_HOME" {
                return Some(home.clone());
            }
            let found = self.variables.iter().find(|(one, _)| one == name);
            found.map(|(_, value)| value.clone())
        })
    }
}

pub(crate) fn mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}
