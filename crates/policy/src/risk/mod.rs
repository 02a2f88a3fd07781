//! How far a shell command reaches.

use butler_vocab::Tier;

use crate::Overrides;

/// What a command is judged against. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct RiskContext<'a> {
    /// Where the command starts.
    pub cwd: &'a str,
    /// The worktree.
    pub root: &'a str,
    /// What `~` and `$HOME` mean to the command.
    pub home: &'a str,
    /// What the policy in force changes.
    pub overrides: &'a Overrides,
}

/// The verdict about a command: the worst of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// How far it reaches.
    pub tier: Tier,
    /// Why, in a sentence.
    pub reason: String,
    /// The part that caused it, as it was written.
    pub part: Option<String>,
    /// Whether it needs the network, which an approval then opens.
    pub network: bool,
}

/// Judges a command.
#[must_use]
pub fn assess(command: &str, _ctx: &RiskContext<'_>) -> Assessment {
    Assessment {
        tier: Tier::Destructive,
        reason: "commands cannot be read yet, so each one asks".to_owned(),
        part: Some(command.to_owned()),
        network: false,
    }
}
