//! What a plan that is proposed again has that the one before had not, in plain
//! lines: a person who asked for a change should not have to look for it.

use butler_protocol::{Plan, PlanStep};

use crate::tell::render;

/// More of a line helps nobody to see what changed.
const LINE: usize = 160;

/// A line for each change.
pub(crate) fn between(old: &Plan, new: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if old.title != new.title {
        lines.push(format!("title: was {}", quoted(&old.title)));
    }
    if old.summary != new.summary {
        lines.push("summary: written anew".to_owned());
    }
    steps(&old.steps, &new.steps, &mut lines);
    list("criterion", &old.criteria, &new.criteria, &mut lines);
    list("file", &old.files, &new.files, &mut lines);
    list("not chosen", &old.rejected, &new.rejected, &mut lines);
    if old.complexity != new.complexity {
        let was = format!("{:?}", old.complexity).to_lowercase();
        lines.push(format!("complexity: was {was}"));
    }
    if let (Some((low, high)), true) = (old.estimate, old.estimate != new.estimate) {
        lines.push(format!("expected cost: was {}", low.to(high)));
    }
    if let (Some(cap), true) = (new.cap, old.cap != new.cap) {
        lines.push(format!("it may cost at most {cap}"));
    }
    if let (Some(model), true) = (&new.model, old.model != new.model) {
        lines.push(format!("built by the model {}", quoted(model)));
    }
    if lines.is_empty() {
        lines.push("nothing: it is the same plan".to_owned());
    }
    lines
}

/// A step that stands at the place of one that is gone is that one, changed.
fn steps(old: &[PlanStep], new: &[PlanStep], lines: &mut Vec<String>) {
    let in_old = |step: &PlanStep| old.iter().find(|one| one.text == step.text);
    let in_new = |step: &PlanStep| new.iter().any(|one| one.text == step.text);
    for (at, step) in new.iter().enumerate() {
        let number = at + 1;
        match (in_old(step), old.get(at).filter(|was| !in_new(was))) {
            (Some(was), _) if was.place == step.place => {}
            (Some(_), _) => {
                let place = step.place.as_deref().unwrap_or("no place");
                lines.push(format!(
                    "step {number} is at another place: {}",
                    short(place)
                ));
            }
            (None, Some(was)) => {
                lines.push(format!("step {number} changed: was {}", quoted(&was.text)));
            }
            (None, None) => lines.push(format!("step {number} added: {}", quoted(&step.text))),
        }
    }
    for (at, was) in old.iter().enumerate() {
        let replaced = new.get(at).is_some_and(|now| in_old(now).is_none());
        if !in_new(was) && !replaced {
            lines.push(format!("step removed: {}", quoted(&was.text)));
        }
    }
}

fn list(what: &str, old: &[String], new: &[String], lines: &mut Vec<String>) {
    let added = new.iter().filter(|one| !old.contains(one));
    lines.extend(added.map(|one| format!("{what} added: {}", quoted(one))));
    let removed = old.iter().filter(|one| !new.contains(one));
    lines.extend(removed.map(|one| format!("{what} removed: {}", quoted(one))));
}

fn quoted(text: &str) -> String {
    format!("“{}”", short(text))
}

fn short(text: &str) -> String {
    render::one_line(text, LINE)
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Complexity, Usd};

    use super::*;

    fn plan(steps: &[(&str, Option<&str>)], criteria: &[&str], files: &[&str]) -> Plan {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let step = |(text, place): &(&str, Option<&str>)| PlanStep {
            text: (*text).to_owned(),
            place: place.map(str::to_owned),
        };
        Plan {
            title: "Add list --json".into(),
            summary: "s".into(),
            steps: steps.iter().map(step).collect(),
            criteria: owned(criteria),
            files: owned(files),
            rejected: Vec::new(),
            complexity: Complexity::Simple,
            estimate: Some((Usd::from_cents(10), Usd::from_cents(20))),
            cap: None,
            model: None,
            design: None,
        }
    }

    #[test]
    fn every_change_is_a_line() {
        let old = plan(
            &[("parse", Some("a:1")), ("print", None), ("clean up", None)],
            &["prints an array"],
            &["notes.sh"],
        );
        let mut new = plan(
            &[
                ("parse", Some("a:9")),
                ("print sorted", None),
                ("clean up", None),
                ("test", None),
            ],
            &["prints an array", "sorted"],
            &["tests/run.sh"],
        );
        new.complexity = Complexity::Medium;
        new.estimate = Some((Usd::from_cents(16), Usd::from_nanos(161_000_000)));
        assert_eq!(
            between(&old, &new),
            [
                "step 1 is at another place: a:9",
                "step 2 changed: was “print”",
                "step 4 added: “test”",
                "criterion added: “sorted”",
                "file added: “tests/run.sh”",
                "file removed: “notes.sh”",
                "complexity: was simple",
                "expected cost: was $0.10 to $0.20",
            ]
        );
        assert_eq!(
            between(&new, &old)[..3],
            [
                "step 1 is at another place: a:1",
                "step 2 changed: was “print sorted”",
                "step removed: “test”",
            ]
        );
        assert_eq!(between(&old, &old), ["nothing: it is the same plan"]);
    }
}
