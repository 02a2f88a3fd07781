//! The few tool names that mean something to the loop itself. Everything else
//! about tools is somebody else's business.

/// Tools after which people or other roles have been told: a text that follows
/// one of them is not posted again.
pub(crate) const SPEAKING: &str = "SendMessage AskUser HandOver ProposePlan ProposeLearnings ProposeMerge ChangeRoadmap \
    Develop LearnRepo SaveMap";

/// The tool whose result names pages, each address on a line of its own.
pub(crate) const SEARCH: &str = "WebSearch";

/// Tools whose results carry text from outside the team.
const OUTSIDE: [&str; 5] = ["WebFetch", SEARCH, "GHIssue", "GHStatus", "CallTool"];

/// Whether what a tool answers was written by somebody outside the team. Tools of
/// MCP servers carry their server in their name.
pub(crate) fn brings_outside(tool: &str) -> bool {
    OUTSIDE.contains(&tool) || tool.starts_with("mcp__")
}

/// Tools that change the file named by their `path`.
pub(crate) const WRITING: [&str; 2] = ["Write", "Edit"];

/// The tool whose result is the list of steps with their state.
pub(crate) const CHECKLIST: &str = "Checklist";

/// The tool whose arguments are the plan.
pub(crate) const PLAN: &str = "ProposePlan";

/// The tool whose call is a question to the Researcher.
pub(crate) const RESEARCH: &str = "Research";

/// The tool whose arguments are a question to a person.
pub(crate) const QUESTION: &str = "AskUser";
