//! The six roles. A role is data: what it may do is decided in `policy`, how it
//! talks is decided by its file in the playbook.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One member of the team.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Talks to people, explores, plans, delegates.
    Pm,
    /// Builds and tests in the worktree, opens the pull request.
    Coder,
    /// Checks the pull request.
    Reviewer,
    /// Reads the web on demand.
    Researcher,
    /// Proposes designs and makes images.
    Artist,
    /// Runs the retrospective, mediates, merges.
    Lead,
}

/// A word that names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{0}`: the roles are pm, coder, reviewer, researcher, artist and lead")]
pub struct UnknownRole(pub String);

impl Role {
    /// Every role, in the order in which lists show them.
    pub const ALL: [Role; 6] = [
        Role::Pm,
        Role::Coder,
        Role::Reviewer,
        Role::Researcher,
        Role::Artist,
        Role::Lead,
    ];

    /// In files, for people, and as an emoji.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Role::Pm => ("pm", "PM", ":clipboard:"),
            Role::Coder => ("coder", "Coder", ":hammer_and_wrench:"),
            Role::Reviewer => ("reviewer", "Reviewer", ":mag:"),
            Role::Researcher => ("researcher", "Researcher", ":globe_with_meridians:"),
            Role::Artist => ("artist", "Artist", ":art:"),
            Role::Lead => ("lead", "Lead", ":compass:"),
        }
    }

    /// The word used in files, tokens and mentions.
    pub const fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The name people read, as in "Coder is working".
    pub const fn title(self) -> &'static str {
        self.words().1
    }

    /// The Slack emoji that a role posts under.
    pub const fn icon(self) -> &'static str {
        self.words().2
    }

    /// The user name that a role posts under, `codebutler.<role>`.
    pub fn user_name(self) -> String {
        format!("codebutler.{}", self.as_str())
    }

    /// The visible mention, `@codebutler.<role>`.
    pub fn mention(self) -> String {
        format!("@{}", self.user_name())
    }

    /// Turns an activation may take unless the config says otherwise.
    pub const fn default_turns(self) -> u32 {
        match self {
            Role::Pm => 15,
            Role::Coder => 100,
            Role::Reviewer => 30,
            Role::Researcher | Role::Artist => 20,
            Role::Lead => 40,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keeps the width that a column asks for.
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Role::ALL
            .into_iter()
            .find(|role| role.as_str().eq_ignore_ascii_case(word))
            .ok_or_else(|| UnknownRole(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_keeps_to_its_column() {
        assert_eq!(
            format!("{:<6}|{:>4}|{}", Role::Pm, Role::Pm, Role::Pm),
            "pm    |  pm|pm"
        );
    }

    #[test]
    fn every_role_reads_back_from_its_word_and_from_json() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse::<Role>(), Ok(role));
            assert_eq!(role.title().parse::<Role>(), Ok(role));
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(json, format!("\"{role}\""));
            assert_eq!(serde_json::from_str::<Role>(&json).unwrap(), role);
        }
    }

    #[test]
    fn an_unknown_word_names_itself_and_the_choices() {
        let error = "tester".parse::<Role>().unwrap_err().to_string();
        assert!(
            error.contains("`tester`") && error.contains("reviewer"),
            "{error}"
        );
    }
}
