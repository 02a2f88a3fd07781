//! A scenario that was read and checked.

use std::collections::{BTreeMap, BTreeSet};

use butler_protocol::Role;
use regex::Regex;
use serde_json::Value;

use crate::{
    Script, Step, When,
    play::holds_all,
    render::{Catch, names_in},
    script::{Forever, Repeat, ScriptPrice, Texts},
};

/// A scenario file that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScenarioError {
    /// Where, from 1; 0 when the place is unknown.
    pub line: u64,
    pub problem: String,
}

/// A story, ready to be played.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub(crate) script: Script,
    pub(crate) roles: BTreeMap<Role, Vec<ReadyStep>>,
    /// Answers take as long as somebody who watches needs.
    pub(crate) paced: bool,
}

/// A step with its expressions compiled.
#[derive(Debug, Clone)]
pub(crate) struct ReadyStep {
    pub(crate) step: Step,
    pub(crate) line: u64,
    pub(crate) when: Option<ReadyWhen>,
    pub(crate) expect: Option<ReadyWhen>,
    pub(crate) catches: Vec<Catch>,
}

/// Conditions with their expression compiled.
#[derive(Debug, Clone)]
pub(crate) struct ReadyWhen {
    pub(crate) when: When,
    pub(crate) matches: Option<Regex>,
}

impl Scenario {
    /// Reads and checks a scenario.
    /// Errors: [`ScenarioError`] with the line, for what is no YAML, has an unknown or missing
    /// field, an expression that does not compile, a `${name}` that nothing captures, or a step
    /// that answers nothing.
    pub fn parse(yaml: &str) -> Result<Self, ScenarioError> {
        let script: Script = serde_saphyr::from_str(yaml).map_err(|error| ScenarioError {
            line: error.location().map_or(0, |place| place.line()),
            problem: error.without_snippet().to_string(),
        })?;
        if script.roles.values().all(Vec::is_empty) {
            return Err(ScenarioError {
                line: 1,
                problem: "no role has a step".to_owned(),
            });
        }
        let mut roles = BTreeMap::new();
        for (role, steps) in &script.roles {
            let mut known: BTreeSet<String> = script.vars.keys().cloned().collect();
            let ids: BTreeSet<&str> = steps.iter().filter_map(|s| s.value.id.as_deref()).collect();
            let ready = steps
                .iter()
                .map(|spanned| {
                    let line = spanned.referenced.line();
                    known.extend(spanned.value.capture.keys().cloned());
                    ready(&spanned.value, line, &known, &ids)
                        .map_err(|problem| ScenarioError { line, problem })
                })
                .collect::<Result<Vec<_>, _>>()?;
            roles.insert(*role, ready);
        }
        Ok(Self {
            script,
            roles,
            paced: false,
        })
    }

    /// Takes the aside, and the steps that several stories share, from another
    /// scenario. They stand behind the branches that a role begins with, and
    /// before its first step without a condition.
    #[must_use]
    pub fn with_shared(mut self, shared: &Self) -> Self {
        self.script.aside.clone_from(&shared.script.aside);
        for (role, steps) in &shared.roles {
            let own = self.roles.entry(*role).or_default();
            let at = own.iter().position(|ready| ready.when.is_none());
            let at = at.unwrap_or(own.len());
            own.splice(at..at, steps.iter().cloned());
        }
        self
    }

    /// The same story at a pace that people can follow.
    #[must_use]
    pub fn paced(mut self) -> Self {
        self.paced = true;
        self
    }

    /// What the story is about.
    pub fn title(&self) -> &str {
        &self.script.title
    }

    /// The words that start it.
    pub fn request(&self) -> &str {
        &self.script.request
    }

    /// Whether words ask for this story.
    pub fn belongs(&self, words: &str) -> bool {
        holds_all(words, &self.script.words)
    }

    /// Where in a text the last of the words appears for the first time.
    pub(crate) fn asked_at(&self, text: &str) -> Option<usize> {
        let words = self.script.words.iter();
        let places = words.map(|word| text.find(&word.to_lowercase()));
        places.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The roles that have lines, with how many steps.
    pub fn roles(&self) -> impl Iterator<Item = (Role, usize)> {
        self.roles.iter().map(|(role, steps)| (*role, steps.len()))
    }

    /// The tools that the scenario calls.
    pub fn tools(&self) -> BTreeSet<&str> {
        let steps = self.roles.values().flatten();
        steps
            .flat_map(|ready| ready.step.call.iter().map(|call| call.tool.as_str()))
            .collect()
    }

    /// The JSON Schema of a scenario file.
    pub fn schema() -> Value {
        schemars::schema_for!(Script).to_value()
    }

    pub(crate) const fn price(&self) -> ScriptPrice {
        self.script.price
    }
}

fn ready(
    step: &Step,
    line: u64,
    known: &BTreeSet<String>,
    ids: &BTreeSet<&str>,
) -> Result<ReadyStep, String> {
    if step.say.is_none() && step.call.is_empty() && step.fault.is_none() {
        return Err("the step answers nothing: give it `say`, `call` or `fault`".to_owned());
    }
    for name in names_used(step) {
        if !known.contains(&name) {
            return Err(format!(
                "`${{{name}}}` is captured by no step up to here, and is no var"
            ));
        }
    }
    let catches = step
        .capture
        .iter()
        .map(|(name, capture)| {
            Ok(Catch {
                name: name.clone(),
                from: capture.from,
                regex: expression(&capture.regex)?,
            })
        })
        .collect::<Result<_, String>>()?;
    Ok(ReadyStep {
        step: step.clone(),
        line,
        when: ready_when(step.when.as_ref(), ids)?,
        expect: ready_when(step.expect.as_ref(), ids)?,
        catches,
    })
}

fn ready_when(when: Option<&When>, ids: &BTreeSet<&str>) -> Result<Option<ReadyWhen>, String> {
    let Some(when) = when else { return Ok(None) };
    let referred = [&when.played, &when.not_played].into_iter().flatten();
    for id in referred.flat_map(Texts::as_slice) {
        if !ids.contains(id.as_str()) {
            return Err(format!("no step of this role has the id `{id}`"));
        }
    }
    let matches = when.tool_result_matches.as_deref().map(expression);
    Ok(Some(ReadyWhen {
        when: when.clone(),
        matches: matches.transpose()?,
    }))
}

fn expression(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("the expression `{text}` does not compile: {error}"))
}

fn names_used(step: &Step) -> Vec<String> {
    let mut names = step.say.as_deref().map(names_in).unwrap_or_default();
    for call in &step.call {
        names.extend(names_in(&Value::Object(call.with.clone()).to_string()));
    }
    names
}

impl ReadyStep {
    /// A branch for calls that were interrupted.
    pub(crate) fn is_emergency(&self) -> bool {
        let when = self.when.as_ref();
        when.is_some_and(|ready| ready.when.interrupted == Some(true))
    }

    /// How often it may be given. Interruptions can come again.
    pub(crate) fn times(&self) -> u32 {
        match self.step.repeat {
            Some(Repeat::Times(times)) => times.max(1),
            Some(Repeat::Word(Forever::Forever)) => u32::MAX,
            None if self.is_emergency() => u32::MAX,
            None => 1,
        }
    }

    /// How error texts call it.
    pub(crate) fn name(&self) -> String {
        match &self.step.id {
            Some(id) => format!("step `{id}` (line {})", self.line),
            None => format!("the step of line {}", self.line),
        }
    }
}
