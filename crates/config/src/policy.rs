//! The repo's own rules, `<repo>/.codebutler/policy.json`.
//!
//! A rule that tightens holds at once. A rule that loosens came with the clone
//! and holds only after a person on this machine has agreed to it, see
//! [`consent`](crate::consent).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The repo's rules about commands, approvals and redaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepoPolicy {
    /// Commands that count as more or less dangerous than the built-in rules say.
    pub tool_overrides: ToolOverrides,
    /// Git targets that need a person's approval.
    pub require_approval: RequireApproval,
    /// Whether the Coder may change code only after a person approved a plan. `false` loosens.
    #[serde(rename = "planGate")]
    pub plan_gate: PlanGate,
    /// How knowledge without code reaches the default branch. `direct` loosens.
    pub knowledge: Knowledge,
    /// What else is blacked out in everything that leaves this machine.
    pub redaction: Redaction,
    /// What the sandbox allows beyond its built-in rules.
    pub sandbox: Sandbox,
    /// Whether what `codebutler undo` can bring back needs an approval. `save` loosens.
    pub undoable: Undoable,
    /// Tools of MCP servers.
    pub mcp: McpPolicy,
}

/// What the repo says about tools of MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpPolicy {
    /// Which of their calls need an approval.
    pub approval: McpApproval,
}

/// Which calls of tools of MCP servers need an approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpApproval {
    /// None by itself; after text from outside was read, those that may change something.
    #[default]
    Never,
    /// Those that are not marked as read-only.
    Writes,
    /// Every one.
    Always,
}

/// Whether a command that only deletes or overwrites files of the worktree asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Undoable {
    /// It asks.
    #[default]
    Ask,
    /// It runs, after the files were saved.
    Save,
}

/// Overrides by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolOverrides {
    /// Overrides for shell commands.
    pub bash: BashOverrides,
}

/// Shell commands by their first words, as in `npm publish`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BashOverrides {
    /// Commands that always need an approval.
    pub destructive: Vec<String>,
    /// Commands that need none. Loosens.
    pub safe: Vec<String>,
}

/// Branch globs; the default branch is always protected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequireApproval {
    /// Pushing to a branch that matches needs an approval.
    #[schemars(extend("items" = serde_json::json!({"type": "string", "format": "glob"})))]
    pub git_push_to: Vec<String>,
    /// Opening a pull request against a branch that matches needs an approval.
    #[schemars(extend("items" = serde_json::json!({"type": "string", "format": "glob"})))]
    pub create_pr_to: Vec<String>,
}

/// On unless somebody on this machine agreed otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PlanGate(pub bool);

impl Default for PlanGate {
    fn default() -> Self {
        Self(true)
    }
}

/// How knowledge without code reaches the default branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Knowledge {
    /// By a small pull request per thread.
    #[default]
    Pr,
    /// By a commit on the default branch.
    Direct,
}

/// Further patterns to black out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// The patterns.
    pub patterns: Vec<Pattern>,
}

/// One pattern; its matches read `[REDACTED:<name>]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// What the matches are called.
    pub name: String,
    /// What is matched.
    #[schemars(extend("format" = "regex"))]
    pub regex: String,
}

/// What the sandbox allows beyond its built-in rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Whether commands run without asking where the kernel cannot confine them fully. Loosens.
    #[serde(rename = "acceptWeaker")]
    pub accept_weaker: bool,
}
