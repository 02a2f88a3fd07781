//! Calls as models really send them: names from other tools, strings for lists,
//! numbers as strings, one item without its brackets, several problems at once.
//! `untidy_calls.jsonl` has a line for each with what was meant, or with all
//! that the one answer must name.

use std::collections::BTreeSet;

use butler_policy::{Permit, default_tools};
use butler_protocol::{CallId, CrashClass, Role, Tier, ToolCall, ToolOutcome, ToolSpec};
use butler_tools::{Executor, Registry, Tool, ToolContext};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::{chat::ChatTool, *};

#[derive(Debug, Deserialize)]
struct Line {
    role: Role,
    tool: String,
    sent: Value,
    /// What the tool is run with.
    means: Option<Value>,
    /// What the answer names where nothing can be meant.
    #[serde(default)]
    names: Vec<String>,
}

/// A chat tool without a thread: what is told, and how items are read.
struct Form {
    name: &'static str,
    spec: ToolSpec,
    item: fn(&str, Value) -> Value,
}

impl Tool for Form {
    fn name(&self) -> &'static str {
        self.name
    }

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn item(&self, field: &str, given: Value) -> Value {
        (self.item)(field, given)
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Pure
    }

    fn run<'a>(
        &'a self,
        _permit: &'a Permit,
        _input: &'a Value,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::ok("not run here") })
    }
}

fn form<T: ChatTool>(spec: ToolSpec) -> Box<dyn Tool> {
    Box::new(Form {
        name: T::NAME,
        spec,
        item: T::item,
    })
}

fn executor(role: Role) -> Executor {
    Executor::new(registry(role))
}

fn registry(role: Role) -> Registry {
    let mut registry = Registry::native();
    for tool in [
        form::<send_message::SendMessage>(send_message::SendMessage::told()),
        form::<ask_user::AskUser>(ask_user::AskUser::told()),
        form::<hand_over::HandOverTool>(hand_over::HandOverTool::told_to(role)),
        form::<propose_merge::ProposeMerge>(propose_merge::ProposeMerge::told()),
        form::<memory::propose_learnings::ProposeLearnings>(
            memory::propose_learnings::ProposeLearnings::told(),
        ),
        form::<research::Research>(research::Research::told()),
        form::<research::save::SaveResearch>(research::save::SaveResearch::told()),
        form::<github::pull::GhComment>(github::pull::GhComment::told()),
        form::<github::issue::GhIssue>(github::issue::GhIssue::told()),
        form::<start::Start>(start::Start::told()),
        form::<propose_plan::ProposePlan>(propose_plan::ProposePlan::told()),
    ] {
        registry.add(tool);
    }
    registry
}

/// Names of tools that are no word of English: of the others a text cannot be told to
/// mean the tool.
fn is_plainly_a_tool(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() > 1
}

#[test]
fn what_a_tool_says_names_only_tools_that_the_role_has() {
    let mut wrong = BTreeSet::new();
    for role in Role::ALL {
        let registry = registry(role);
        let own = default_tools(role);
        for spec in registry.offered(own) {
            let said = serde_json::to_string(&spec).unwrap();
            let words: Vec<&str> = said.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            let others = registry.names().filter(|name| !own.contains(name));
            let told = others.filter(|name| is_plainly_a_tool(name) && words.contains(name));
            wrong.extend(told.map(|name| format!("{} tells the {role} of {name}", spec.name)));
        }
    }
    assert_eq!(wrong, BTreeSet::<String>::new());
}

#[test]
fn untidy_calls_do_what_was_meant_or_get_one_answer_that_names_everything() {
    let lines: Vec<Line> = include_str!("untidy_calls.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let meant = lines.iter().filter(|line| line.means.is_some()).count();
    assert!(lines.len() >= 200, "{} calls", lines.len());
    assert!(
        meant * 100 >= lines.len() * 95,
        "{meant} of {}",
        lines.len()
    );
    let mut wrong = Vec::new();
    for line in &lines {
        let call = ToolCall {
            id: CallId::new("c1"),
            name: line.tool.clone(),
            arguments: line.sent.clone(),
            problem: None,
        };
        match (executor(line.role).fitted(&call), &line.means) {
            (Ok(fitted), Some(means)) if fitted.arguments == *means => {}
            (Err(refusal), None) => {
                let said = refusal.to_string();
                let named = |name: &&String| !said.contains(*name);
                let lost: Vec<&String> = line.names.iter().filter(named).collect();
                if !lost.is_empty() || !said.contains("as in {") {
                    wrong.push(format!(
                        "{} {}: {lost:?} not in: {said}",
                        line.tool, line.sent
                    ));
                }
            }
            (got, _) => wrong.push(format!("{} {}: {got:?}", line.tool, line.sent)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        lines.len(),
        wrong.join("\n")
    );
}

/// No role reads about fields that only another role may fill in.
#[test]
fn a_hand_over_shows_a_role_its_own_fields_only() {
    let fields = |role: Role| {
        let told = hand_over::HandOverTool::told_to(role);
        let fields = told.parameters["properties"].as_object().unwrap().clone();
        let kinds = fields["kind"]["enum"].as_array().unwrap().len();
        (fields.len(), kinds)
    };
    assert_eq!(fields(Role::Pm), (3, 2));
    assert_eq!(fields(Role::Coder), (3, 3));
    assert_eq!(fields(Role::Reviewer), (8, 4));
    assert_eq!(fields(Role::Researcher), (3, 2));
}
