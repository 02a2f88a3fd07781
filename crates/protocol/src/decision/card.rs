//! What an agent sends to the hub for a card. The hub draws the card itself: an
//! agent says what would happen and what is known about it, never how it looks.

use serde::{Deserialize, Serialize};

use crate::{Subject, UserId};

/// The body of a card, kept by the hub under its own hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardBody {
    /// What is decided about. Its hash is what a person decides, and every field of
    /// it is on the card.
    pub subject: Subject,
    /// What people should know about it, below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// Whom it notifies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<UserId>,
    /// The people whom this repo's team listens to; empty: everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<UserId>,
    /// The language of the hub's own words on it, by its name; English when nothing
    /// is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Whether the runtime saw that all holds which a person asked for when they
    /// started a run: in a thread of that run it is then decided in their name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// Something to know about a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Who says so.
    pub by: Voice,
    pub label: String,
    /// The words, shown as they are.
    pub text: String,
}

/// Whose words a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// The runtime found it out.
    Runtime,
    /// A model wrote it; nobody has checked it.
    Model,
}

impl Remark {
    /// The runtime's.
    pub fn runtime(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            by: Voice::Runtime,
            label: label.into(),
            text: text.into(),
        }
    }

    /// The model's.
    pub fn model(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            by: Voice::Model,
            label: label.into(),
            text: text.into(),
        }
    }
}
