//! What a model wrote into a form, as the fields of that form: lines in the
//! short notation become objects, a file and a line become a place. What is
//! not understood stays as it came and is refused by the schema, by name.

use serde_json::{Map, Value, json};

/// `text — path:line` (or `text @ path:line`); the place is optional.
pub(crate) fn plan_step(given: Value) -> Value {
    match given {
        Value::String(step) => {
            let marks = [" — ", " @ ", " -- "];
            let split = marks.iter().find_map(|mark| step.rsplit_once(mark));
            match split {
                Some((text, place)) if is_place(place.trim()) => {
                    json!({"text": text.trim(), "place": place.trim()})
                }
                _ => json!({"text": step.trim()}),
            }
        }
        Value::Object(mut step) => {
            for name in ["step", "title", "action", "what"] {
                take(&mut step, name, "text");
            }
            Value::Object(placed(step))
        }
        other => other,
    }
}

/// One word that looks like a path, perhaps with a line.
fn is_place(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(char::is_whitespace)
        && (text.contains('.') || text.contains('/'))
}

/// `[kind/severity] path:line what is there -> what to do`, with `F2` before it
/// where it is one of an earlier round.
pub(crate) fn finding(given: Value) -> Value {
    let line = match given {
        Value::String(line) => line,
        Value::Object(finding) => return Value::Object(placed(finding)),
        other => return other,
    };
    let read = || {
        let (number, rest) = numbered(&line);
        let (label, rest) = rest.trim().strip_prefix('[')?.split_once(']')?;
        let (kind, severity) = label.split_once('/')?;
        let (place, rest) = rest.trim().split_once(char::is_whitespace)?;
        let (problem, fix) = arrow(rest)?;
        Some(json!({
            "number": number, "kind": kind.trim(), "severity": severity.trim(),
            "place": place, "problem": problem, "fix": fix,
        }))
    };
    read().unwrap_or_else(|| Value::String(line.clone()))
}

/// `F2 …` is about the second finding of this review.
fn numbered(line: &str) -> (Option<&str>, &str) {
    let line = line.trim();
    let Some((id, rest)) = line.split_once(char::is_whitespace) else {
        return (None, line);
    };
    let id = id.trim_end_matches(':');
    let digits = id.strip_prefix('F').unwrap_or_default();
    let is_id = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_id {
        (Some(id), rest.trim())
    } else {
        (None, line)
    }
}

/// `area/severity: note`.
pub(crate) fn risk(given: Value) -> Value {
    let read = |line: &str| {
        let (label, note) = line.split_once(':')?;
        let (area, severity) = label.split_once('/')?;
        Some(json!({"area": area.trim(), "severity": severity.trim(), "note": note.trim()}))
    };
    match given {
        Value::Object(mut risk) => {
            for (alias, name) in [
                ("risk", "note"),
                ("description", "note"),
                ("category", "area"),
            ] {
                take(&mut risk, alias, name);
            }
            Value::Object(risk)
        }
        other => other.as_str().and_then(read).unwrap_or(other),
    }
}

/// `level: what it shows -> where it is`.
pub(crate) fn test(given: Value) -> Value {
    let read = |line: &str| {
        let (level, rest) = line.split_once(':')?;
        let (what, place) = arrow(rest)?;
        Some(json!({"level": level.trim(), "what": what, "place": place}))
    };
    match given {
        Value::Object(mut test) => {
            let aliases = [
                ("type", "level"),
                ("kind", "level"),
                ("description", "what"),
                ("name", "what"),
                ("test", "what"),
            ];
            for (alias, name) in aliases {
                take(&mut test, alias, name);
            }
            Value::Object(placed(test))
        }
        other => other.as_str().and_then(read).unwrap_or(other),
    }
}

fn arrow(text: &str) -> Option<(&str, &str)> {
    let split = ["->", "→", "=>"]
        .iter()
        .find_map(|arrow| text.split_once(arrow));
    split.map(|(before, after)| (before.trim(), after.trim()))
}

/// A file and a line in two fields are one place.
fn placed(mut item: Map<String, Value>) -> Map<String, Value> {
    for name in ["file", "path", "file_path", "location", "where"] {
        take(&mut item, name, "place");
    }
    let line = item.remove("line").or_else(|| item.remove("line_number"));
    let line = line.map(|line| line.to_string().trim_matches('"').to_owned());
    if let (Some(Value::String(place)), Some(line)) = (item.get_mut("place"), line)
        && !place.contains(':')
        && line != "null"
    {
        place.push_str(&format!(":{line}"));
    }
    item
}

fn take(item: &mut Map<String, Value>, alias: &str, name: &str) {
    if !item.contains_key(name)
        && let Some(value) = item.remove(alias)
    {
        item.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn steps_keep_their_places() {
        for (given, expected) in [
            (
                line("Parse the flag — notes.sh:40"),
                json!({"text": "Parse the flag", "place": "notes.sh:40"}),
            ),
            (
                line("Test it @ tests/run.sh"),
                json!({"text": "Test it", "place": "tests/run.sh"}),
            ),
            (line("Think — twice"), json!({"text": "Think — twice"})),
            (
                json!({"step": "Parse", "file": "a.py", "line": 4}),
                json!({"text": "Parse", "place": "a.py:4"}),
            ),
        ] {
            assert_eq!(plan_step(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn a_finding_is_read_from_a_line_and_from_fields() {
        let expected = json!({"number": null, "kind": "test", "severity": "high",
            "place": "tests/run.sh:20", "problem": "empty list not covered", "fix": "add a case"});
        assert_eq!(
            finding(line(
                "[test/high] tests/run.sh:20 empty list not covered -> add a case"
            )),
            expected
        );
        assert_eq!(finding(line("F2: [test/high] a:1 x -> y"))["number"], "F2");
        assert_eq!(
            finding(json!({"file": "a.sh", "line": "3", "kind": "test"})),
            json!({"kind": "test", "place": "a.sh:3"})
        );
        for bad in [
            "",
            "it is bad",
            "[test] a.rs:1 x -> y",
            "[test/high] a.rs:1 x",
        ] {
            assert_eq!(finding(line(bad)), line(bad));
        }
    }

    #[test]
    fn risks_and_tests_are_read_from_lines() {
        assert_eq!(
            risk(line("security/low: nothing reaches a shell")),
            json!({"area": "security", "severity": "low", "note": "nothing reaches a shell"})
        );
        assert_eq!(risk(line("all fine")), line("all fine"));
        assert_eq!(
            test(line("E2E: the flag → tests/run.sh:9")),
            json!({"level": "E2E", "what": "the flag", "place": "tests/run.sh:9"})
        );
        assert_eq!(test(line("unit")), line("unit"));
    }
}
