//! What the Artist hands over before anything is built: part of the plan that a person
//! approves and of what the Coder is given, so its hash is bound with the plan's.

use serde::{Deserialize, Serialize};

use crate::{Sha256Hex, Usd};

/// How something that people see looks and behaves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Design {
    /// What it is for, in a line or two.
    pub purpose: String,
    /// What, where, in which order.
    pub layout: String,
    /// Each action and what answers it.
    pub interaction: String,
    /// Empty, loading, error, too much.
    pub states: String,
    /// Narrow and wide.
    pub responsive: String,
    /// Keyboard, focus, contrast, names.
    pub accessibility: String,
    /// Pictures and icons, by path.
    pub assets: Vec<String>,
    /// What is there already and used again, as `path:line`.
    pub reuse: Vec<String>,
}

impl Design {
    /// Its texts under their names, in the order in which they are read.
    pub fn texts(&self) -> [(&'static str, &str); 6] {
        [
            ("Purpose", &self.purpose),
            ("Layout", &self.layout),
            ("Interaction", &self.interaction),
            ("States", &self.states),
            ("Responsive", &self.responsive),
            ("Accessibility", &self.accessibility),
        ]
    }

    /// Its lists under their names.
    pub fn lists(&self) -> [(&'static str, &[String]); 2] {
        [("Assets", &self.assets), ("Used again", &self.reuse)]
    }
}

/// A picture that a model made, and what becomes of it when a person accepts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureSubject {
    /// Its file name below `.codebutler/artist/assets/`.
    pub name: String,
    /// What was asked for, word for word.
    pub prompt: String,
    pub made_from: Vec<String>,
    pub model: String,
    pub cost: Usd,
    /// Its file in the workspace.
    pub file: String,
    pub sha256: Sha256Hex,
}

impl PictureSubject {
    /// Where it is kept once it is accepted.
    pub fn path(&self) -> String {
        format!("{ASSETS}/{}", self.name)
    }
}

/// Where accepted pictures are kept.
pub const ASSETS: &str = ".codebutler/artist/assets";
