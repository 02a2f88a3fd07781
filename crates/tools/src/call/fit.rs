//! The arguments of a call as the tool's schema wants them. Values of the right
//! meaning in the wrong shape are turned silently; everything that is left is
//! named at once, so that one answer is enough to put a call right.

use serde_json::{Map, Number, Value};

use super::repair;

/// The arguments as the schema wants them, or all that is wrong with them, each
/// problem naming its field. `item` is the tool's own reader of list items.
pub(crate) fn fit(
    schema: &Value,
    arguments: &Value,
    item: &dyn Fn(&str, Value) -> Value,
) -> Result<Value, Vec<String>> {
    let Value::Object(given) = arguments else {
        return Err(vec!["the arguments must be a JSON object".to_owned()]);
    };
    let mut problems = Vec::new();
    let fitted = Fit {
        item,
        problems: &mut problems,
    }
    .object(schema, given, "");
    if problems.is_empty() {
        Ok(Value::Object(fitted))
    } else {
        Err(problems)
    }
}

/// One call being fitted.
struct Fit<'a> {
    item: &'a dyn Fn(&str, Value) -> Value,
    problems: &'a mut Vec<String>,
}

impl Fit<'_> {
    fn object(
        &mut self,
        schema: &Value,
        given: &Map<String, Value>,
        at: &str,
    ) -> Map<String, Value> {
        let empty = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&empty);
        let mut given = repair::renamed(fields, given);
        let mut fitted = Map::new();
        for (name, field) in fields {
            let label = format!("{at}{name}");
            match given.remove(name) {
                None | Some(Value::Null) if is_required(schema, name) => {
                    self.problems.push(missing(field, &label));
                }
                None | Some(Value::Null) => {}
                Some(value) => {
                    if let Some(value) = self.value(field, value, &label) {
                        fitted.insert(name.clone(), value);
                    }
                }
            }
        }
        // A server of somebody else knows fields that its schema does not name.
        if schema["additionalProperties"] == Value::Bool(true) {
            fitted.extend(given);
        }
        fitted
    }

    fn value(&mut self, field: &Value, value: Value, label: &str) -> Option<Value> {
        let kind = field["type"].as_str().unwrap_or("any");
        let fitted = match (kind, value) {
            ("array", value) => return Some(self.items(field, listed(field, value), label)),
            ("object", Value::Object(map)) if field.get("properties").is_some() => {
                return Some(Value::Object(self.object(
                    field,
                    &map,
                    &format!("{label}."),
                )));
            }
            // Of an object without named fields its own reader knows more.
            ("object", value @ Value::Object(_)) => Ok(value),
            ("string", value) => string(value, label),
            ("number", value) => number(value, label),
            ("boolean", value) => flag(&value).ok_or_else(|| wrong(label, "true or false", &value)),
            ("integer", value) => integer(field, &value, label),
            ("any", value) => Ok(value),
            ("object", value) => Err(wrong(label, &object_of(field), &value)),
            (kind, value) => Err(wrong(label, kind, &value)),
        };
        let chosen = fitted.and_then(|value| choice(field, value, label));
        chosen.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn items(&mut self, field: &Value, items: Vec<Value>, label: &str) -> Value {
        let mut fitted = Vec::new();
        for (index, value) in items.into_iter().enumerate() {
            let value = (self.item)(label, from_json(&field["items"], value));
            fitted.extend(self.value(&field["items"], value, &format!("{label}[{index}]")));
        }
        Value::Array(fitted)
    }
}

/// An object that came as its own text.
fn from_json(field: &Value, value: Value) -> Value {
    let text = value.as_str().filter(|_| field["type"] == "object");
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    read.filter(Value::is_object).unwrap_or(value)
}

fn number(value: Value, label: &str) -> Result<Value, String> {
    let written = value.as_str().and_then(|text| text.trim().parse().ok());
    match (value, written) {
        (Value::Number(number), _) | (_, Some(number)) => Ok(Value::Number(number)),
        (value, None) => Err(wrong(label, "a number", &value)),
    }
}

fn string(value: Value, label: &str) -> Result<Value, String> {
    match value {
        Value::String(text) => Ok(Value::String(text)),
        Value::Number(number) => Ok(Value::String(number.to_string())),
        // A text in paragraphs; a list of paths is not one path.
        Value::Array(lines) if is_prose(label) && lines.iter().all(Value::is_string) => {
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            Ok(Value::String(lines.join("\n")))
        }
        Value::Array(words) if label == "command" => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let plain = |word: &&str| {
                !word.contains(|c: char| !c.is_ascii_graphic() || "'\"\\$`*".contains(c))
            };
            let words = words.filter(|words| words.iter().all(plain));
            words
                .map(|words| Value::String(words.join(" ")))
                .ok_or_else(|| format!("`{label}` must be one string, as a shell reads it"))
        }
        value => Err(wrong(label, "a string", &value)),
    }
}

/// Fields that hold prose, which models also send line by line.
fn is_prose(label: &str) -> bool {
    let name = label.rsplit(['.', ']']).next().unwrap_or(label);
    [
        "text",
        "summary",
        "description",
        "question",
        "content",
        "message",
    ]
    .contains(&name)
}

fn flag(value: &Value) -> Option<Value> {
    let word = match value {
        Value::Bool(flag) => return Some(Value::Bool(*flag)),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_lowercase(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "yes" | "1" | "approved" | "approve" => Some(Value::Bool(true)),
        "false" | "no" | "0" | "rejected" | "changes_requested" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn integer(field: &Value, value: &Value, label: &str) -> Result<Value, String> {
    let number = whole(value).ok_or_else(|| wrong(label, "a whole number", value))?;
    let least = field["minimum"].as_i64().unwrap_or(i64::MIN);
    if number < least {
        return Err(format!("`{label}` must be at least {least}, not {number}"));
    }
    Ok(Value::Number(Number::from(number)))
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0);
            float.map(|float| float as i64)
        }),
        Value::String(text) => text.trim().trim_start_matches('#').parse().ok(),
        _ => None,
    }
}

/// A list in whatever form it came: JSON in a string, a bulleted text, one item
/// without its brackets, an object whose values are the items.
fn listed(field: &Value, value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            Ok(item @ Value::Object(_)) => vec![item],
            _ if text.trim().is_empty() => Vec::new(),
            _ => lines(field, &text),
        },
        value => vec![value],
    }
}

/// The lines of a bulleted or numbered text, or the names between commas where
/// nothing but names is there. Any other text is one item.
fn lines(field: &Value, text: &str) -> Vec<Value> {
    let all: Vec<&str> = text.lines().map(str::trim).collect();
    let all: Vec<&str> = all.into_iter().filter(|line| !line.is_empty()).collect();
    let bullets: Option<Vec<&str>> = all.iter().map(|line| without_bullet(line)).collect();
    let pieces: Vec<&str> = match bullets {
        Some(items) => items,
        None if all.len() > 1 => all,
        None => {
            let names: Vec<&str> = text.split(',').map(str::trim).collect();
            let plain = |name: &&str| !name.is_empty() && !name.contains(char::is_whitespace);
            let strings = field["items"]["type"] == "string";
            if strings && names.iter().all(plain) {
                names
            } else {
                vec![text.trim()]
            }
        }
    };
    pieces.into_iter().map(Value::from).collect()
}

/// `- x`, `* x`, `• x`, `1. x`, `2) x`.
fn without_bullet(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len();
    let rest = if numbered {
        digits.strip_prefix(['.', ')'])?
    } else {
        line.strip_prefix(['-', '*', '•'])?
    };
    rest.strip_prefix(' ').map(str::trim)
}

/// A string enum takes the choice in any spelling, and names its choices when
/// none was hit.
fn choice(field: &Value, value: Value, label: &str) -> Result<Value, String> {
    let (Some(choices), Some(word)) = (field["enum"].as_array(), value.as_str()) else {
        return Ok(value);
    };
    let meant = repair::our_word(word, choices);
    meant.map(Value::from).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(Value::to_string).collect();
        format!("`{label}` must be one of {}, not {value}", names.join(", "))
    })
}

fn missing(field: &Value, label: &str) -> String {
    match field["description"].as_str() {
        Some(what) => format!("`{label}` is missing: {}", first_sentence(what)),
        None => format!("`{label}` is missing"),
    }
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ")
        .map_or(text, |(first, _)| first)
        .trim_end_matches('.')
}

/// What an object is made of, for a model that sent something else.
fn object_of(field: &Value) -> String {
    let Some(fields) = field["properties"].as_object() else {
        return "an object".to_owned();
    };
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, field)| match field["enum"].as_array() {
            Some(choices) => {
                let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
                format!("`{name}` ({})", choices.join(", "))
            }
            None => format!("`{name}`"),
        })
        .collect();
    format!("an object with {}", parts.join(" and "))
}

fn wrong(label: &str, wanted: &str, value: &Value) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("`{label}` must be {wanted}, not {found}")
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|required| required.iter().any(|field| field == name))
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
