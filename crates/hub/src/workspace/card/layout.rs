//! Which field of a subject has which label. The table is about words only: a
//! field that it does not know is shown all the same, under its own name.

use butler_protocol::{DecisionKind, Role};
use serde_json::{Map, Value};

use super::sheet::Part;

/// How a field is shown.
#[derive(Clone, Copy)]
enum How {
    Row,
    Prose,
    Code,
    List,
    /// What is to be done in order: text and place.
    Steps,
    /// The number of a pull request.
    Pull,
    /// The role whose words follow.
    Writer,
    /// Nanodollars, one or two.
    Money,
    YesNo(&'static str, &'static str),
    /// A call's arguments, whose names a model chose.
    Arguments,
    /// An object whose fields have labels of their own.
    Inside(&'static [Field]),
}

type Field = (&'static str, &'static str, How);

const PLAN: &[Field] = &[
    ("title", "Plan", How::Row),
    ("summary", "Summary", How::Prose),
    ("steps", "Steps", How::Steps),
    ("criteria", "Done when", How::List),
    ("files", "Files", How::List),
    ("rejected", "Not chosen", How::List),
    ("complexity", "Complexity", How::Row),
    ("estimate", "Expected cost", How::Money),
];
const COMMAND: &[Field] = &[
    ("arguments", "", How::Arguments),
    (
        "network",
        "Network",
        How::YesNo("yes, it opens for this call", "no"),
    ),
    ("root", "Working folder", How::Row),
    ("scripts", "Scripts it names", How::Row),
    ("tool", "Tool", How::Row),
    ("role", "Role", How::Row),
    ("thread", "Thread", How::Row),
];
const LEARNING: &[Field] = &[
    ("file", "File", How::Row),
    ("change", "Change", How::Inside(CHANGE)),
];
const CHANGE: &[Field] = &[
    ("is", "Change", How::Row),
    ("title", "Title", How::Row),
    ("when", "When", How::Prose),
    ("rule", "Rule", How::Prose),
    ("example", "Example", How::Prose),
    ("confidence", "Confidence", How::Row),
    ("source", "Source", How::Row),
    ("old", "Replaces", How::Code),
    ("new", "With", How::Code),
    ("why", "Why", How::Prose),
    ("reason", "Because", How::Prose),
    ("fate", "Then", How::Row),
];
const MERGE: &[Field] = &[
    ("title", "Title", How::Row),
    ("evidence", "What the runtime saw", How::List),
    ("writer", "In their own words", How::Writer),
    ("description", "Description", How::Prose),
    ("pr", "Pull request", How::Pull),
    ("head", "Reviewed commit", How::Row),
    ("tree", "Reviewed tree", How::Row),
    ("research", "Research merged with it", How::Row),
    ("knowledge", "Only knowledge", How::YesNo("yes", "no")),
];
const CAP: &[Field] = &[
    ("budget", "Budget", How::Row),
    ("cap", "It holds", How::Money),
    ("used", "Spent or set aside", How::Money),
];

/// The question over the card.
pub(super) fn title(kind: DecisionKind, subject: &Map<String, Value>) -> &'static str {
    let is = |field: &str, value: &str| subject.get(field).is_some_and(|found| found == value);
    let change = subject.get("change").unwrap_or(&Value::Null);
    match kind {
        DecisionKind::Plan => "Plan",
        DecisionKind::Command if is("tool", "Bash") => "May I run this?",
        DecisionKind::Command => "May I do this?",
        DecisionKind::Learning if change["is"] == "pruning" => "Let this go?",
        DecisionKind::Learning => "Remember this?",
        DecisionKind::Merge if subject.get("knowledge") == Some(&Value::Bool(true)) => {
            "Keep what was learned"
        }
        DecisionKind::Merge => "Ready to merge",
        DecisionKind::Cap => "Out of money",
    }
}

/// Every field of a subject, the known ones first and in their order.
pub(super) fn parts(kind: DecisionKind, subject: &Map<String, Value>) -> Vec<Part> {
    let table = match kind {
        DecisionKind::Plan => PLAN,
        DecisionKind::Command => COMMAND,
        DecisionKind::Learning => LEARNING,
        DecisionKind::Merge => MERGE,
        DecisionKind::Cap => CAP,
    };
    let mut parts = Vec::new();
    fields(&mut parts, table, subject);
    parts
}

fn fields(parts: &mut Vec<Part>, table: &[Field], object: &Map<String, Value>) {
    for (name, label, how) in table {
        if let Some(value) = object.get(*name).filter(|value| !is_empty(value)) {
            show(parts, label, *how, value);
        }
    }
    let unknown = object
        .iter()
        .filter(|(name, _)| !table.iter().any(|(known, ..)| known == name));
    for (name, value) in unknown {
        anything(parts, &quoted("Field", name), value);
    }
}

/// A list or nothing that is empty says nothing; its type brings it back.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn show(parts: &mut Vec<Part>, label: &str, how: How, value: &Value) {
    let shown = match (how, value) {
        (How::Row, Value::String(text)) => Some(Part::row(label, text)),
        (How::Writer, Value::String(role)) => writer(label, role),
        (How::Pull, Value::Number(number)) => Some(Part::row(label, &format!("#{number}"))),
        (How::Prose, Value::String(text)) => Some(Part::prose(label, text)),
        (How::Code, Value::String(text)) => Some(Part::code(label, text)),
        (How::List, Value::Array(items)) => strings(label, items),
        (How::Steps, Value::Array(items)) => steps(label, items),
        (How::Money, value) => money(value).map(|text| Part::row(label, &text)),
        (How::YesNo(yes, no), Value::Bool(is)) => {
            Some(Part::row(label, if *is { yes } else { no }))
        }
        (How::Arguments, Value::Object(map)) => return arguments(parts, map),
        (How::Inside(table), Value::Object(map)) => return fields(parts, table, map),
        _ => None,
    };
    match shown {
        Some(part) => parts.push(part),
        None => anything(parts, label, value),
    }
}

/// The command stands first; a name that a model chose is shown as such.
fn arguments(parts: &mut Vec<Part>, map: &Map<String, Value>) {
    if let Some(Value::String(command)) = map.get("command") {
        parts.push(Part::code("Command", command));
    }
    for (name, value) in map {
        match value {
            Value::String(_) if name == "command" => {}
            Value::String(text) => parts.push(Part::code(&quoted("Argument", name), text)),
            other => anything(parts, &quoted("Argument", name), other),
        }
    }
}

/// Whatever it is: a string as it is, all else as JSON.
fn anything(parts: &mut Vec<Part>, label: &str, value: &Value) {
    parts.push(match value {
        Value::String(text) if text.contains('\n') => Part::prose(label, text),
        Value::String(text) => Part::row(label, text),
        other => Part::row(&format!("{label} (JSON)"), &other.to_string()),
    });
}

fn quoted(what: &str, name: &str) -> String {
    super::verbatim::verbatim(&format!("{what} {}", Value::from(name)))
}

fn writer(label: &str, role: &str) -> Option<Part> {
    let role: Role = role.parse().ok()?;
    Some(Part::row(label, &format!("The {} writes", role.title())))
}

fn strings(label: &str, items: &[Value]) -> Option<Part> {
    let texts: Option<Vec<_>> = items
        .iter()
        .map(|item| Some((item.as_str()?, None)))
        .collect();
    Some(Part::list(label, false, texts?.into_iter()))
}

fn steps(label: &str, items: &[Value]) -> Option<Part> {
    let known = |item: &Value| {
        let fields = item.as_object()?;
        let place = fields.get("place");
        let whole = fields.len() == 1 + usize::from(place.is_some());
        (whole && place.is_none_or(Value::is_string)).then_some(())
    };
    let steps: Option<Vec<_>> = items
        .iter()
        .map(|item| {
            known(item)?;
            Some((item["text"].as_str()?, item["place"].as_str()))
        })
        .collect();
    Some(Part::list(label, true, steps?.into_iter()))
}

/// To the last nanodollar: what is shown is what is meant.
fn money(value: &Value) -> Option<String> {
    match value.as_array().map(Vec::as_slice) {
        Some([low, high]) if low == high => dollars(low),
        Some([low, high]) => Some(format!("{} to {}", dollars(low)?, dollars(high)?)),
        Some(_) => None,
        None => dollars(value),
    }
}

fn dollars(value: &Value) -> Option<String> {
    let nanos = value.as_i64()?;
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let part = format!("{:09}", nanos % 1_000_000_000);
    let (cents, rest) = part.split_at(2);
    let rest = rest.trim_end_matches('0');
    Some(format!("{sign}${}.{cents}{rest}", nanos / 1_000_000_000))
}
