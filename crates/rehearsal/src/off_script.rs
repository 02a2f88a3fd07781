//! What to say when a scenario has no answer.

use butler_protocol::Role;

/// A request for which the scenario has no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("off the script of {role} in “{title}”: came {came}; {}", expectation(.expected))]
pub struct OffScript {
    pub role: Role,
    pub title: String,
    pub came: String,
    /// What each remaining step waits for.
    pub expected: Vec<String>,
}

fn expectation(expected: &[String]) -> String {
    if expected.is_empty() {
        return "every step was played, expected nothing more".to_owned();
    }
    format!("expected {}", expected.join("; or "))
}

impl OffScript {
    /// What a person reads in the thread.
    pub fn friendly(&self) -> String {
        format!(
            "This is a rehearsal: I play the {} in “{}” from a script, and the script has no answer to this. Connect a real model to go on from here.",
            self.role.title(),
            self.title
        )
    }
}
