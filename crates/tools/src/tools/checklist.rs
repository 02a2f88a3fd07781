//! The plan's steps with their state. Kept in the context, shown on the thread's
//! status card, given again after a compaction.

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Told;
use crate::{Tool, ToolContext};

/// More steps than this are no list to work from.
const MOST_STEPS: usize = 40;

/// Replaces the list.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// All steps in order, also those that are done; an empty list only shows them.
    steps: Vec<Step>,
}

/// One step of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What has to be done, in a few words.
    pub text: String,
    /// Where it stands.
    #[serde(default)]
    pub state: StepState,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Not begun.
    #[default]
    Open,
    /// Being worked on; one at a time.
    Doing,
    /// Done and checked.
    Done,
    /// Left out on purpose.
    Dropped,
}

/// `[x] add the flag`, as lists are written in Markdown, or only the words.
fn boxed(line: &str) -> Value {
    let boxes = [
        ("[x]", "done"),
        ("[X]", "done"),
        ("[~]", "doing"),
        ("[-]", "dropped"),
        ("[ ]", "open"),
    ];
    let found = boxes
        .iter()
        .find_map(|(mark, state)| Some((line.strip_prefix(mark)?, *state)));
    match found {
        Some((text, state)) => json!({"text": text.trim(), "state": state}),
        None => json!({"text": line.trim()}),
    }
}

/// The tool.
pub struct Checklist;

const DESCRIPTION: &str = "
Keeps the steps of your task where people see them and you find your place again. Send the whole
list whenever a step begins or is done, exactly one of them doing. Not for a task of one step.
Example: {\"steps\": [{\"text\": \"add the flag\", \"state\": \"done\"}, {\"text\": \"test it\", \"state\": \"doing\"}]}";

impl Tool for Checklist {
    // The call carries the whole list: storing it again changes nothing.
    crate::tools::introduce!("Checklist", WriteLocal, Rerunnable);

    fn item(&self, field: &str, given: Value) -> Value {
        match (field, given) {
            ("steps", Value::String(line)) => boxed(&line),
            ("steps", Value::Object(mut step)) => {
                // A flag where we have a state.
                if let Some(Value::Bool(done)) = step.remove("done") {
                    let state = if done { "done" } else { "open" };
                    step.entry("state").or_insert_with(|| state.into());
                }
                Value::Object(step)
            }
            (_, given) => given,
        }
    }
}

impl Checklist {
    async fn work(&self, _permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let Input { steps } = input;
        if let Some(problem) = problem(&steps) {
            return Err(format!("refused: {problem}").into());
        }
        if !steps.is_empty() {
            if let Some(doing) = steps.iter().find(|step| step.state == StepState::Doing) {
                context.progress(doing.text.clone());
            }
            context.set_checklist(steps);
        }
        Ok(ToolOutcome::ok(shown(&context.checklist())))
    }
}

fn problem(steps: &[Step]) -> Option<String> {
    let doing = steps.iter().filter(|step| step.state == StepState::Doing);
    if steps.len() > MOST_STEPS {
        return Some(format!("at most {MOST_STEPS} steps; join small ones"));
    }
    if doing.count() > 1 {
        return Some("mark one step as doing at a time".to_owned());
    }
    let empty = steps.iter().position(|step| step.text.trim().is_empty())?;
    Some(format!("`steps[{empty}].text` is empty"))
}

fn shown(steps: &[Step]) -> String {
    if steps.is_empty() {
        return "the list is empty; send `steps` to fill it".to_owned();
    }
    let done = steps
        .iter()
        .filter(|step| matches!(step.state, StepState::Done | StepState::Dropped))
        .count();
    let mut text = format!("{done} of {} steps done", steps.len());
    for step in steps {
        let mark = match step.state {
            StepState::Open => "[ ]",
            StepState::Doing => "[>]",
            StepState::Done => "[x]",
            StepState::Dropped => "[-]",
        };
        text.push_str(&format!("\n{mark} {}", step.text));
    }
    text
}
