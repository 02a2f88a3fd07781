//! What is wrong with a scenario beyond its grammar: tools that do not exist,
//! arguments that a tool refuses, steps that can never be given.

use std::collections::BTreeSet;

use butler_protocol::ToolSpec;
use serde_json::Value;

use crate::{
    Scenario, ScenarioError,
    scenario::ReadyStep,
    script::{Call, Forever, Repeat},
};

impl Scenario {
    /// All that is wrong, by line. `tools` are those that the roles really have;
    /// with none given, calls are not checked.
    pub fn check(&self, tools: &[ToolSpec]) -> Vec<ScenarioError> {
        let mut problems = Vec::new();
        for (role, steps) in &self.roles {
            let mut ids = BTreeSet::new();
            let mut endless: Option<u64> = None;
            for ready in steps {
                let mut report = |problem: String| {
                    problems.push(ScenarioError {
                        line: ready.line,
                        problem: format!("{role}: {problem}"),
                    });
                };
                if let Some(id) = &ready.step.id
                    && !ids.insert(id)
                {
                    report(format!("a second step has the id `{id}`"));
                }
                if let Some(line) = endless
                    && !ready.is_emergency()
                {
                    report(format!(
                        "never given: the step of line {line} repeats for ever"
                    ));
                }
                if ready.when.is_none() && is_endless(ready) {
                    endless.get_or_insert(ready.line);
                }
                for call in &ready.step.call {
                    check_call(call, tools).into_iter().for_each(&mut report);
                }
            }
        }
        problems
    }
}

fn is_endless(ready: &ReadyStep) -> bool {
    matches!(ready.step.repeat, Some(Repeat::Word(Forever::Forever)))
}

fn check_call(call: &Call, tools: &[ToolSpec]) -> Vec<String> {
    if tools.is_empty() {
        return Vec::new();
    }
    let Some(tool) = tools.iter().find(|tool| tool.name == call.tool) else {
        return vec![format!("there is no tool `{}`", call.tool)];
    };
    let mut problems = Vec::new();
    let required = tool.parameters.get("required").and_then(Value::as_array);
    for field in required.into_iter().flatten().filter_map(Value::as_str) {
        if !call.with.contains_key(field) {
            problems.push(format!("`{}` needs the field `{field}`", call.tool));
        }
    }
    if let Some(fields) = tool.parameters.get("properties").and_then(Value::as_object) {
        let unknown = call.with.keys().filter(|key| !fields.contains_key(*key));
        problems.extend(unknown.map(|key| format!("`{}` has no field `{key}`", call.tool)));
    }
    problems
}
