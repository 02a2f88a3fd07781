//! What is known about the preparation of one folder: a small file that no tool
//! can write to, so that a restart, and every other role, knows whether the
//! commands ran here, on these needs, to their end.

use std::{fs, path::Path};

use butler_protocol::{MessageTs, Role, Sha256Hex, fault};
use serde::{Deserialize, Serialize};

use crate::AgentError;

/// How far the preparation of a folder came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// What it is about: this making of the folder, and what it needs.
    pub key: Sha256Hex,
    /// How far it came.
    pub state: State,
    /// When it was tried last, in milliseconds since 1970.
    #[serde(default)]
    pub at_ms: i64,
    /// Which life of which role tried it.
    #[serde(default)]
    pub tried: Option<(Role, u64)>,
    /// The message that tells of it.
    #[serde(default)]
    pub message: Option<MessageTs>,
}

/// How far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Begun; after a kill it is begun again.
    Running,
    /// Every command did its work.
    Done,
    /// One did not, and this is what is said about it.
    Failed(String),
}

impl Marker {
    /// The marker for this key; one for another key says nothing about it.
    pub(crate) fn of(path: &Path, key: Sha256Hex) -> Self {
        Self::read(path)
            .filter(|marker| marker.key == key)
            .unwrap_or(Self {
                key,
                state: State::Running,
                at_ms: 0,
                tried: None,
                message: None,
            })
    }

    /// The marker, if there is a whole one. An unreadable one costs a preparation.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

/// Writes it down.
pub(crate) fn keep(path: &Path, marker: &Marker) -> Result<(), AgentError> {
    let bytes = serde_json::to_vec(marker).unwrap_or_default();
    fault("agent.before-prepared");
    butler_journal::write_whole(path, &bytes)?;
    fault("agent.after-prepared");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        keep(&path, &done).unwrap();
        assert_eq!(Marker::of(&path, key), done);
        let other = Marker::of(&path, Sha256Hex::of("b"));
        assert_eq!(other.state, State::Running);
    }
}
