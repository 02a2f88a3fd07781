//! What a repo's `policy.json` changes about the judgement of calls.
//!
//! Whoever fills this in has already decided what counts: what tightens is taken
//! from the trusted branch at once, what loosens (`safe`) only after a person on
//! this machine agreed to that exact file. This crate applies both alike.

use serde::{Deserialize, Serialize};

use crate::glob;

/// Branches that nobody pushes to without a click when the policy names none.
const PROTECTED: &str = "main master trunk production prod release/* gh-pages";

/// Changes to the judgement of calls; the default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// Commands that are judged higher or lower than the rules say.
    pub tool_overrides: ToolOverrides,
    /// Git and forge calls that need a click by where they go.
    pub require_approval: RequireApproval,
    /// Globs of branches whose push needs a click; empty means the usual names.
    pub protected_branches: Vec<String>,
    /// The branch that pull requests of this thread go to.
    pub base: String,
    /// What only changes files of the worktree runs without a click: they are saved
    /// before, or it does not run.
    pub undoable: bool,
    /// Commands run without a click where the sandbox is not whole.
    pub accept_weaker: bool,
    /// Hosts of the web that are read without a click although text from outside is
    /// in the context.
    pub web_hosts: Vec<String>,
    /// Which calls of MCP tools ask.
    pub mcp: McpApproval,
}

/// Which calls of MCP tools need a click. After text from outside was read, those that
/// change something ask in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpApproval {
    /// None by itself.
    #[default]
    Never,
    /// Those that are not marked as read-only.
    Writes,
    /// Every one.
    Always,
}

/// Overrides by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolOverrides {
    pub bash: BashOverrides,
}

/// Commands by the verdict they get. Matched against the parsed words of each
/// simple command, never against text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BashOverrides {
    /// These ask. The words must come in order; flags may stand between them,
    /// further words may follow.
    pub destructive: Vec<String>,
    /// These do not ask. The words must be the whole command; a last word `*`
    /// allows more.
    pub safe: Vec<String>,
}

/// Where a push or a pull request needs a click.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequireApproval {
    /// Globs of branches.
    pub git_push_to: Vec<String>,
    /// Globs of base branches.
    pub create_pr_to: Vec<String>,
}

impl Overrides {
    /// Whether a push to this branch needs a click.
    pub fn is_protected(&self, branch: &str) -> bool {
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let any = |globs: &[String]| globs.iter().any(|glob| glob::matches(glob, branch));
        any(&self.require_approval.git_push_to)
            || if self.protected_branches.is_empty() {
                PROTECTED.split(' ').any(|glob| glob::matches(glob, branch))
            } else {
                any(&self.protected_branches)
            }
    }

    /// Whether opening a pull request needs a click.
    pub fn asks_for_pull(&self) -> bool {
        let mut globs = self.require_approval.create_pr_to.iter();
        globs.any(|glob| glob::matches(glob, &self.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_file_of_the_seeds_reads_as_it_is() {
        let json = r#"{
            "tool_overrides": {"bash": {"destructive": ["npm publish"], "safe": ["docker compose up -d"]}},
            "require_approval": {"git_push_to": ["main", "release/*"], "create_pr_to": ["main"]}
        }"#;
        let mut overrides: Overrides = serde_json::from_str(json).unwrap();
        assert_eq!(overrides.tool_overrides.bash.destructive, ["npm publish"]);
        assert!(overrides.is_protected("release/2") && overrides.is_protected("refs/heads/main"));
        assert!(!overrides.is_protected("codebutler/x-abc123"));
        for (base, asks) in [("main", true), ("develop", false), ("", false)] {
            overrides.base = base.to_owned();
            assert_eq!(overrides.asks_for_pull(), asks, "{base}");
        }
    }

    #[test]
    fn named_protected_branches_replace_the_usual_ones_but_not_the_required() {
        let overrides = Overrides {
            protected_branches: vec!["stable".into()],
            require_approval: RequireApproval {
                git_push_to: vec!["hot/*".into()],
                create_pr_to: vec![],
            },
            ..Overrides::default()
        };
        assert!(overrides.is_protected("stable") && overrides.is_protected("hot/1"));
        assert!(!overrides.is_protected("main"));
        assert!(Overrides::default().is_protected("main"));
    }
}
