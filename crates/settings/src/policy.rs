//! The repo's own rules, `<repo>/.codebutler/policy.json`.
//!
//! A rule that tightens holds at once. A rule that loosens came with the clone
//! and holds only after a person on this machine has agreed to that exact
//! policy; until then [`RepoPolicy::tightening_only`] is what counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The repo's rules about commands, approvals, network and redaction.
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
    /// What commands in the sandbox may reach.
    pub network: Network,
    /// What else is blacked out in everything that leaves this machine.
    pub redaction: Redaction,
    /// How tools of MCP servers are treated.
    pub mcp: McpApproval,
    /// What the sandbox allows beyond its built-in rules.
    pub sandbox: Sandbox,
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

/// What commands in the sandbox may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// Hosts that are open without asking. Loosens.
    pub allow: Vec<String>,
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

/// How tools of MCP servers are treated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpApproval {
    /// Which calls need a person's approval.
    pub approval: McpAsks,
}

/// Which MCP calls need an approval; the later ones only tighten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpAsks {
    /// None beyond the usual rules.
    #[default]
    Never,
    /// Those that are not annotated as read-only.
    Writes,
    /// All.
    Always,
}

/// What the sandbox allows beyond its built-in rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Further folders that commands may write, for package caches. Loosens.
    pub caches: Vec<String>,
    /// Whether commands run without asking where the kernel cannot confine them. Loosens.
    #[serde(rename = "acceptWeaker")]
    pub accept_weaker: bool,
}

impl RepoPolicy {
    /// The parts that loosen, each in words for the person who is asked to agree.
    #[must_use]
    pub fn loosening(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for command in &self.tool_overrides.bash.safe {
            parts.push(format!("`{command}` runs without approval"));
        }
        if !self.plan_gate.0 {
            parts.push("the Coder may change code without an approved plan".into());
        }
        if self.knowledge == Knowledge::Direct {
            parts.push("knowledge is committed to the default branch directly".into());
        }
        for host in &self.network.allow {
            parts.push(format!("commands may reach `{host}` without approval"));
        }
        for folder in &self.sandbox.caches {
            parts.push(format!("commands may write to `{folder}`"));
        }
        if self.sandbox.accept_weaker {
            parts.push("commands run without approval where the kernel cannot confine them".into());
        }
        parts
    }

    /// The same policy with every loosening part at its built-in value.
    #[must_use]
    pub fn tightening_only(&self) -> Self {
        let mut policy = self.clone();
        policy.tool_overrides.bash.safe.clear();
        policy.plan_gate = PlanGate::default();
        policy.knowledge = Knowledge::default();
        policy.network = Network::default();
        policy.sandbox = Sandbox::default();
        policy
    }
}
