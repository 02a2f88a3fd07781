//! What is known about the preparation of one folder: a small file in the
//! thread's folder, so that a restart, and every other role, knows whether the
//! commands ran here, on these manifests, to their end.

use std::{fs, path::Path, time::UNIX_EPOCH};

use butler_vocab::{MessageTs, Sha256Hex};
use serde::{Deserialize, Serialize};

/// Files that say what has to be installed: when one of them is another one, so
/// is what the folder needs.
const MANIFESTS: &[&str] = &[
    "Cargo.lock",
    "Gemfile.lock",
    "Podfile.lock",
    "composer.lock",
    "go.sum",
    "package-lock.json",
    "package.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
];

/// How far the preparation of a folder came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// What it is about: see [`key`].
    pub key: Sha256Hex,
    /// How far it came.
    pub state: State,
    /// How often it failed.
    #[serde(default)]
    pub failures: u32,
    /// The message that tells of it.
    #[serde(default)]
    pub message: Option<MessageTs>,
}

/// How far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Begun; after a kill it is begun again.
    Running,
    /// Every command did its work.
    Done,
    /// One did not, and this is what is said about it.
    Failed(String),
}

impl Marker {
    /// The marker for this key; one for another key says nothing about it.
    pub fn of(path: &Path, key: Sha256Hex) -> Self {
        Self::read(path)
            .filter(|marker| marker.key == key)
            .unwrap_or(Self {
                key,
                state: State::Running,
                failures: 0,
                message: None,
            })
    }

    /// The marker, if there is a whole one. An unreadable one costs a preparation.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

/// What a preparation depends on: the commands, this making of the folder (its
/// `.git` file is written when a worktree is added), and the manifests in it.
pub fn key(commands: &[String], folder: &Path) -> Sha256Hex {
    let mut text = commands.join("\n");
    let made = fs::metadata(folder.join(".git")).and_then(|meta| meta.modified());
    let made = made.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    text.push_str(&format!("\n{}\n{made:?}", folder.display()));
    for name in MANIFESTS {
        if let Ok(bytes) = fs::read(folder.join(name)) {
            text.push_str(&format!("\n{name} {}", Sha256Hex::of(&bytes)));
        }
    }
    Sha256Hex::of(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_commands_manifests_or_folders_are_prepared_again_and_code_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::write(at.join(".git"), "gitdir: x").unwrap();
        let npm = ["npm ci".to_owned()];
        let first = key(&npm, at);
        fs::write(at.join("main.js"), "1").unwrap();
        assert_eq!(key(&npm, at), first);
        assert_ne!(key(&["npm i".to_owned()], at), first);
        fs::write(at.join("package-lock.json"), "{}").unwrap();
        let locked = key(&npm, at);
        assert_ne!(locked, first);
        let git = fs::File::options().write(true).open(at.join(".git"));
        git.unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_ne!(key(&npm, at), locked);
    }

    #[test]
    fn a_torn_or_foreign_marker_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.json");
        let key = Sha256Hex::of("a");
        for text in ["", "{\"key\":", "[]"] {
            fs::write(&path, text).unwrap();
            assert_eq!(Marker::of(&path, key.clone()).state, State::Running);
        }
        let mut done = Marker::of(&path, key.clone());
        done.state = State::Done;
        fs::write(&path, serde_json::to_vec(&done).unwrap()).unwrap();
        assert_eq!(Marker::of(&path, key), done);
        let other = Marker::of(&path, Sha256Hex::of("b"));
        assert_eq!(other.state, State::Running);
    }
}
