//! Who may use what: the role × tool table of the design, default deny.
//!
//! This is the one place where a role's name decides anything about a tool. A
//! tool that is not in the table is nobody's; MCP tools are granted by
//! [`Overrides`](crate::Overrides) in [`judge`](crate::judge), not here.

use butler_vocab::Role;

/// Whether a role may use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Never.
    No,
    /// Without limits of its own.
    Yes,
    /// Within limits that the tool applies.
    Scoped(Scope),
}

/// The limits of a right. For file tools: which paths beneath the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The worktree, without git's own files and the team's memory and rules.
    Worktree,
    /// Kept research only.
    Research,
    /// The Artist's folder and the pictures.
    Artist,
    /// What the team remembers: role files, skills, journals; never config,
    /// policy or MCP servers. Only text that a person accepted.
    Memory,
    /// The thread's own branch and its pull request.
    OwnBranch,
    /// The Reviewer's own checkout of the pull request's head.
    PullRequestHead,
    /// The thread without the turns of other roles.
    WithoutTurns,
}

impl Scope {
    /// Whether a path may be touched. The path is relative to the root and has
    /// been resolved: no `.`, no `..`, `/` between parts.
    #[must_use]
    pub fn allows(self, path: &str) -> bool {
        let parts: Vec<String> = path.split('/').map(str::to_lowercase).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        if path.is_empty() || parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return false;
        }
        if parts.contains(&".git") || is_rule_file(&parts) {
            return false;
        }
        match (self, parts.as_slice()) {
            (Scope::Research, [".codebutler", "research", _, ..])
            | (Scope::Artist, [".codebutler", "artist" | "images", _, ..])
            | (Scope::Artist, ["images", _, ..])
            | (Scope::Memory, [".codebutler", "skills" | "journals", _, ..])
            | (Scope::Worktree, [".codebutler", "skills" | "artist", _, ..]) => true,
            (Scope::Memory, [".codebutler", file]) => file.ends_with(".md"),
            (Scope::Worktree, [first, ..]) => *first != ".codebutler",
            _ => false,
        }
    }
}

/// The three files that say what agents may do. No role writes them.
fn is_rule_file(parts: &[&str]) -> bool {
    matches!(
        parts,
        [".codebutler", "config.json" | "policy.json" | "mcp.json"]
    )
}

/// What `role` may do with `tool`. Unknown tools are refused.
#[must_use]
pub fn right(role: Role, tool: &str) -> Right {
    use Right::{No, Scoped, Yes};
    use Role::{Artist, Coder, Lead, Pm, Researcher, Reviewer};
    match (tool, role) {
        ("Read" | "Grep" | "Glob", Researcher) => Scoped(Scope::Research),
        ("Read" | "Grep" | "Glob", _) => Yes,
        (
            "GitLog" | "GitDiff" | "GitStatus" | "GHStatus" | "ReadMemory" | "ListThreads",
            Pm | Coder | Reviewer | Artist | Lead,
        ) => Yes,
        ("WebSearch" | "WebFetch", Researcher) => Yes,
        ("Write" | "Edit", Coder) => Scoped(Scope::Worktree),
        ("Write" | "Edit", Artist) => Scoped(Scope::Artist),
        ("Write" | "Edit", Lead) => Scoped(Scope::Memory),
        ("Bash", Coder) => Scoped(Scope::Worktree),
        ("RunChecks", Coder) => Yes,
        ("RunChecks", Reviewer) => Scoped(Scope::PullRequestHead),
        ("GitCommit" | "GitPush" | "GHCreatePR", Coder) => Scoped(Scope::OwnBranch),
        ("GHEditPR" | "GHMergePR", Lead) => Yes,
        ("GHComment" | "GHIssue", Pm | Reviewer | Lead) => Yes,
        ("GHRelease", Pm) => Yes,
        ("SendMessage" | "AskUser" | "HandOver" | "SaveMemory", _) => Yes,
        ("ProposePlan", Pm) => Yes,
        ("ProposeLearnings" | "ProposeMerge", Lead) => Yes,
        ("Research", Pm | Coder | Reviewer | Artist | Lead) => Yes,
        ("SaveResearch", Researcher) => Yes,
        ("Roadmap", Pm | Lead) => Yes,
        ("ReadThread", Pm | Reviewer) => Scoped(Scope::WithoutTurns),
        ("ReadThread", Lead) => Yes,
        ("Checklist", Coder) => Yes,
        ("GenerateImage" | "EditImage", Artist) => Yes,
        _ => No,
    }
}

/// The tools a role is offered unless config, workflow or skill ask for others.
/// The order is fixed, for the provider's prompt cache.
#[must_use]
pub fn default_tools(role: Role) -> &'static [&'static str] {
    match role {
        Role::Pm => &[
            "Read",
            "Grep",
            "Glob",
            "GitLog",
            "ReadMemory",
            "ListThreads",
            "Roadmap",
            "ProposePlan",
            "SendMessage",
            "AskUser",
            "HandOver",
            "Research",
        ],
        Role::Coder => &[
            "Read",
            "Grep",
            "Glob",
            "Write",
            "Edit",
            "Bash",
            "RunChecks",
            "Checklist",
            "SendMessage",
            "AskUser",
            "HandOver",
            "Research",
        ],
        Role::Reviewer => &[
            "Read",
            "Grep",
            "Glob",
            "GitDiff",
            "GitLog",
            "GHStatus",
            "RunChecks",
            "GHComment",
            "SendMessage",
            "AskUser",
            "HandOver",
            "Research",
        ],
        Role::Researcher => &[
            "WebSearch",
            "WebFetch",
            "Read",
            "Grep",
            "Glob",
            "SaveResearch",
            "SendMessage",
            "AskUser",
            "HandOver",
        ],
        Role::Artist => &[
            "Read",
            "Grep",
            "Glob",
            "Write",
            "Edit",
            "GenerateImage",
            "EditImage",
            "SendMessage",
            "AskUser",
            "HandOver",
            "Research",
        ],
        Role::Lead => &[
            "Read",
            "Grep",
            "Glob",
            "GitDiff",
            "ReadThread",
            "ProposeLearnings",
            "ProposeMerge",
            "Roadmap",
            "SendMessage",
            "AskUser",
            "HandOver",
        ],
    }
}

#[cfg(test)]
#[path = "rights_tests.rs"]
mod tests;
