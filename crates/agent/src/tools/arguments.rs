//! From what a model wrote into a tool call to the typed thing it means. A
//! missing or unreadable field is an error that names it, never a guess.

use butler_protocol::{
    Complexity, Finding, FindingKind, Plan, PlanStep, PlannedTest, Risk, Severity, TestLevel,
};
use serde::Deserialize;
use serde_json::Value;

/// What ProposePlan is called with.
#[derive(Debug, Deserialize)]
pub struct PlanArguments {
    #[serde(default)]
    title: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    steps: Vec<String>,
    #[serde(default)]
    criteria: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    complexity: Option<Complexity>,
}

/// Reads a plan.
///
/// # Errors
/// Names the first field that is missing or wrong, and what it should hold.
pub fn plan(input: &Value) -> Result<Plan, String> {
    let raw: PlanArguments = PlanArguments::deserialize(input)
        .map_err(|error| format!("the plan cannot be read: {error}"))?;
    let text = |field: &str, value: &str, what: &str| {
        if value.trim().is_empty() {
            Err(format!("`{field}` is missing: give {what}"))
        } else {
            Ok(value.trim().to_owned())
        }
    };
    if raw.steps.is_empty() {
        return Err("`steps` is missing: give the steps in order, each with its place, as in \"Parse the flag — notes.sh:40\"".to_owned());
    }
    if raw.criteria.is_empty() {
        return Err(
            "`criteria` is missing: give what a person can check when it is done".to_owned(),
        );
    }
    Ok(Plan {
        title: text("title", &raw.title, "one line that names the change")?,
        summary: text("summary", &raw.summary, "a paragraph: what and why")?,
        steps: raw.steps.iter().map(|step| plan_step(step)).collect(),
        criteria: raw.criteria,
        files: raw.files,
        rejected: Vec::new(),
        complexity: raw
            .complexity
            .ok_or("`complexity` is missing: simple, medium or complex")?,
        estimate: None,
    })
}

/// `text — path:line` (or `text @ path:line`); the place is optional.
fn plan_step(step: &str) -> PlanStep {
    let split = [" — ", " @ ", " -- "]
        .iter()
        .find_map(|mark| step.rsplit_once(mark));
    match split {
        Some((text, place)) if is_place(place.trim()) => PlanStep {
            text: text.trim().to_owned(),
            place: Some(place.trim().to_owned()),
        },
        _ => PlanStep {
            text: step.trim().to_owned(),
            place: None,
        },
    }
}

/// One word that looks like a path, perhaps with a line.
fn is_place(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(char::is_whitespace)
        && (text.contains('.') || text.contains('/'))
}

/// Reads `[kind/severity] path:line what is there -> what to do`.
///
/// # Errors
/// Says which part could not be read and shows the form.
pub fn finding(number: usize, text: &str) -> Result<Finding, String> {
    const FORM: &str = "write `[kind/severity] path:line what is there -> what to do`, kind one of security, test, quality, consistency, plan, severity one of low, medium, high";
    let bad = |what: &str| format!("finding {number}: {what} is missing or not understood; {FORM}");
    let rest = text
        .trim()
        .strip_prefix('[')
        .ok_or_else(|| bad("the opening bracket"))?;
    let (label, rest) = rest
        .split_once(']')
        .ok_or_else(|| bad("the closing bracket"))?;
    let (kind, severity) = label
        .split_once('/')
        .ok_or_else(|| bad("`kind/severity`"))?;
    let (place, rest) = rest
        .trim()
        .split_once(char::is_whitespace)
        .ok_or_else(|| bad("the place"))?;
    let (evidence, fix) = ["->", "→"]
        .iter()
        .find_map(|arrow| rest.split_once(arrow))
        .ok_or_else(|| bad("`-> what to do`"))?;
    Ok(Finding {
        id: format!("F{number}"),
        kind: word::<FindingKind>(kind).ok_or_else(|| bad("the kind"))?,
        severity: word::<Severity>(severity).ok_or_else(|| bad("the severity"))?,
        place: place.to_owned(),
        evidence: evidence.trim().to_owned(),
        fix: fix.trim().to_owned(),
    })
}

/// Reads `area/severity: note`.
///
/// # Errors
/// Shows the form.
pub fn risk(text: &str) -> Result<Risk, String> {
    let read = || {
        let (label, note) = text.split_once(':')?;
        let (area, severity) = label.trim().split_once('/')?;
        Some(Risk {
            area: area.trim().to_lowercase(),
            severity: word(severity)?,
            note: note.trim().to_owned(),
        })
    };
    read().ok_or_else(|| {
        format!("risk `{text}` is not understood; write `area/severity: note`, as in `security/low: no input reaches a shell`")
    })
}

/// Reads `level: what it shows -> where it is`.
///
/// # Errors
/// Shows the form.
pub fn test(text: &str) -> Result<PlannedTest, String> {
    let read = || {
        let (level, rest) = text.split_once(':')?;
        let (what, place) = ["->", "→"]
            .iter()
            .find_map(|arrow| rest.split_once(arrow))?;
        let place = place.trim();
        let missing = place.eq_ignore_ascii_case("missing");
        Some(PlannedTest {
            level: word::<TestLevel>(level)?,
            what: what.trim().to_owned(),
            place: (!missing && !place.is_empty()).then(|| place.to_owned()),
        })
    };
    read().ok_or_else(|| {
        format!("test `{text}` is not understood; write `level: what it shows -> where it is`, level one of unit, integration, e2e; after the arrow a place, `missing`, or why none is needed")
    })
}

fn word<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::String(text.trim().to_lowercase())).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments() -> Value {
        json!({
            "title": "Add --json",
            "summary": "Machines want to read the list.",
            "steps": ["Parse the flag — notes.sh:40", "Test it @ tests/run.sh", "Think — twice"],
            "criteria": ["it prints an array"],
            "files": ["notes.sh"],
            "complexity": "simple"
        })
    }

    #[test]
    fn steps_keep_their_places() {
        let plan = plan(&arguments()).unwrap();
        let places: Vec<_> = plan.steps.iter().map(|s| s.place.as_deref()).collect();
        assert_eq!(places, [Some("notes.sh:40"), Some("tests/run.sh"), None]);
        assert_eq!(plan.steps[2].text, "Think — twice");
    }

    #[test]
    fn a_missing_field_is_named() {
        for field in ["title", "summary", "steps", "criteria", "complexity"] {
            let mut broken = arguments();
            broken.as_object_mut().unwrap().remove(field);
            let error = plan(&broken).unwrap_err();
            assert!(error.contains(&format!("`{field}`")), "{field}: {error}");
        }
        assert!(plan(&json!({"steps": 3})).is_err());
    }

    #[test]
    fn findings_are_read_or_refused_with_the_form() {
        let finding = finding(
            2,
            "[test/high] tests/run.sh:20 empty list not covered -> add a case",
        )
        .unwrap();
        assert_eq!(
            (
                finding.id.as_str(),
                finding.kind,
                finding.severity,
                finding.place.as_str()
            ),
            ("F2", FindingKind::Test, Severity::High, "tests/run.sh:20")
        );
        assert_eq!(
            (finding.evidence.as_str(), finding.fix.as_str()),
            ("empty list not covered", "add a case")
        );
        for bad in [
            "",
            "it is bad",
            "[test] a.rs:1 x -> y",
            "[style/high] a.rs:1 x -> y",
            "[test/high] a.rs:1 x",
        ] {
            let error = super::finding(1, bad).unwrap_err();
            assert!(
                error.contains("[kind/severity] path:line"),
                "{bad}: {error}"
            );
        }
    }

    #[test]
    fn risks_are_read_or_refused_with_the_form() {
        let risk = risk("security/low: nothing reaches a shell").unwrap();
        assert_eq!(
            (risk.area.as_str(), risk.severity),
            ("security", Severity::Low)
        );
        assert!(super::risk("all fine").is_err());
    }

    #[test]
    fn tests_are_read_or_refused_with_the_form() {
        let there = super::test("E2E: the flag → tests/run.sh:9").unwrap();
        assert_eq!(
            (there.level, there.what.as_str(), there.place.as_deref()),
            (TestLevel::E2e, "the flag", Some("tests/run.sh:9"))
        );
        assert_eq!(super::test("unit: x -> Missing").unwrap().place, None);
        for bad in ["", "unit", "unit: x", "smoke: x -> y"] {
            let error = super::test(bad).unwrap_err();
            assert!(error.contains("level: what it shows"), "{bad}: {error}");
        }
    }
}
