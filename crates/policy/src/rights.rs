//! Who may use what: the role × tool table of the design, default deny.
//!
//! This is the one place where a role's name decides anything about a tool. A
//! tool that is not in the table is nobody's, and a tool in the table exists (a
//! test compares it with what is registered).

use butler_protocol::Role;

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
    /// The Reviewer's own checkout of the pull request's head.
    PullRequestHead,
    /// The thread without the turns of other roles.
    WithoutTurns,
}

impl Scope {
    /// Whether a path may be touched. The path is relative to the root and has
    /// been resolved: no `.`, no `..`, `/` between parts.
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

/// A tool and what the PM, Coder, Reviewer, Researcher, Artist and Lead may do
/// with it, in this order.
type Row = (&'static str, [Right; 6]);

const NO: Right = Right::No;
const YES: Right = Right::Yes;

#[rustfmt::skip]
const TABLE: &[Row] = &[
    //                    PM             Coder     Reviewer       Researcher  Artist  Lead
    ("Read",              [YES,           YES,      YES,           RESEARCH,   YES,    YES]),
    ("Grep",              [YES,           YES,      YES,           RESEARCH,   YES,    YES]),
    ("Glob",              [YES,           YES,      YES,           RESEARCH,   YES,    YES]),
    ("GitLog",            [YES,           YES,      YES,           NO,         YES,    YES]),
    ("GitDiff",           [YES,           YES,      YES,           NO,         YES,    YES]),
    ("GitStatus",         [YES,           YES,      YES,           NO,         YES,    YES]),
    ("GHStatus",          [YES,           YES,      YES,           NO,         YES,    YES]),
    ("WebFetch",          [NO,            NO,       NO,            YES,        NO,     NO]),
    ("Write",             [NO,            WORKTREE, NO,            NO,         ARTIST, MEMORY]),
    ("Edit",              [NO,            WORKTREE, NO,            NO,         ARTIST, MEMORY]),
    ("Bash",              [NO,            WORKTREE, PULL_HEAD,     NO,         NO,     NO]),
    ("RunChecks",         [NO,            YES,      PULL_HEAD,     NO,         NO,     NO]),
    ("Screenshot",        [NO,            WORKTREE, PULL_HEAD,     NO,         YES,    NO]),
    ("GenerateImage",     [NO,            NO,       NO,            NO,         YES,    NO]),
    ("EditImage",         [NO,            NO,       NO,            NO,         YES,    NO]),
    ("Checklist",         [NO,            YES,      NO,            NO,         NO,     NO]),
    ("GHComment",         [YES,           NO,       YES,           NO,         NO,     YES]),
    ("GHIssue",           [YES,           NO,       YES,           NO,         NO,     YES]),
    ("GHRelease",         [YES,           NO,       NO,            NO,         NO,     NO]),
    ("Start",             [YES,           NO,       NO,            NO,         NO,     NO]),
    ("SendMessage",       [YES,           YES,      YES,           YES,        YES,    YES]),
    ("AskUser",           [YES,           YES,      YES,           YES,        YES,    YES]),
    ("HandOver",          [YES,           YES,      YES,           YES,        YES,    YES]),
    ("ProposePlan",       [YES,           NO,       NO,            NO,         NO,     NO]),
    ("ChangeRoadmap",     [YES,           NO,       NO,            NO,         NO,     NO]),
    ("Develop",           [YES,           NO,       NO,            NO,         NO,     NO]),
    ("ProposeLearnings",  [NO,            NO,       NO,            NO,         NO,     YES]),
    ("LearnRepo",         [NO,            NO,       NO,            NO,         NO,     YES]),
    ("SaveMap",           [YES,           YES,      YES,           NO,         YES,    YES]),
    ("ProposeMerge",      [NO,            NO,       NO,            NO,         NO,     YES]),
    ("Research",          [YES,           YES,      YES,           NO,         YES,    YES]),
    ("SaveResearch",      [NO,            NO,       NO,            YES,        NO,     NO]),
    ("ListThreads",       [YES,           YES,      YES,           NO,         YES,    YES]),
    ("ReadMemory",        [YES,           YES,      YES,           NO,         YES,    YES]),
    ("ReadThread",        [WITHOUT_TURNS, NO,       WITHOUT_TURNS, NO,         NO,     YES]),
];

const RESEARCH: Right = Right::Scoped(Scope::Research);
const WORKTREE: Right = Right::Scoped(Scope::Worktree);
const ARTIST: Right = Right::Scoped(Scope::Artist);
const MEMORY: Right = Right::Scoped(Scope::Memory);
const PULL_HEAD: Right = Right::Scoped(Scope::PullRequestHead);
const WITHOUT_TURNS: Right = Right::Scoped(Scope::WithoutTurns);

/// What `role` may do with `tool`. Unknown tools are refused.
pub fn right(role: Role, tool: &str) -> Right {
    let row = TABLE.iter().find(|(name, _)| *name == tool);
    let own = Role::ALL.into_iter().position(|one| one == role);
    let right = row.zip(own).map(|((_, rights), own)| rights[own]);
    right.unwrap_or(Right::No)
}

/// Every tool that somebody has a right to.
pub fn tools_with_rights() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}

/// Names of tools in their order.
macro_rules! tools {
    ($($tool:ident)*) => { &[$(stringify!($tool)),*] };
}

/// The tools a role is offered unless config, workflow or skill ask for others.
/// The order is fixed, for the provider's prompt cache.
pub fn default_tools(role: Role) -> &'static [&'static str] {
    match role {
        Role::Pm => tools![
            Read Grep Glob GitLog ListThreads ReadMemory Start ProposePlan SendMessage AskUser
            HandOver Research
        ],
        Role::Coder => tools![
            Read Grep Glob Write Edit Bash RunChecks Checklist SendMessage AskUser HandOver Research
        ],
        Role::Reviewer => tools![
            Read Grep Glob GitDiff GitLog GHStatus Bash RunChecks SendMessage AskUser HandOver
            Research
        ],
        Role::Researcher => tools![
            WebFetch Read Grep Glob SaveResearch SendMessage AskUser HandOver
        ],
        Role::Artist => tools![
            Read Grep Glob Write Edit Screenshot SendMessage AskUser HandOver Research
        ],
        Role::Lead => tools![
            Read Grep Glob GitDiff ReadThread ProposeLearnings ProposeMerge SendMessage AskUser
            HandOver
        ],
    }
}

/// What a role is offered whose model is small: at most eight, those without which
/// its work cannot be done. A small model chooses badly among many.
pub fn small_tools(role: Role) -> &'static [&'static str] {
    match role {
        Role::Pm => tools![Read Grep Glob Start ProposePlan AskUser HandOver],
        Role::Coder => tools![Read Grep Write Edit Bash RunChecks AskUser HandOver],
        Role::Reviewer => tools![Read Grep GitDiff RunChecks AskUser HandOver],
        Role::Researcher => tools![WebFetch Read Grep SaveResearch HandOver],
        Role::Artist => tools![Read Grep Glob Write Edit AskUser HandOver],
        Role::Lead => tools![Read GitDiff ProposeLearnings ProposeMerge AskUser HandOver],
    }
}

#[cfg(test)]
#[path = "rights_tests.rs"]
mod tests;
