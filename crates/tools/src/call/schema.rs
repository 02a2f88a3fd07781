//! The schema of an input type, flattened to what every provider accepts: no
//! references, no unions, no formats, fields in the order of the struct.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The flat schema of `T`, an object.
pub fn flat<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = flatten(&schema.to_value());
    // The struct's own comment is for people who read the code; the tool has a description.
    if let Value::Object(map) = &mut value {
        map.shift_remove("description");
        // A tool without fields still says that it takes an object of none.
        map.entry("properties").or_insert_with(|| json!({}));
    }
    value
}

fn flatten(schema: &Value) -> Value {
    let Value::Object(given) = schema else {
        return schema.clone();
    };
    if let Some(only) = only_variant(given) {
        return flatten(&with_description(only, given));
    }
    if let Some(choices) = string_choices(given) {
        return choices;
    }
    let mut flat = Map::new();
    for (key, value) in given {
        match (key.as_str(), value) {
            ("title" | "format" | "$schema" | "$defs" | "additionalProperties" | "default", _) => {}
            ("type", Value::Array(types)) => {
                let kind = types.iter().find(|kind| **kind != "null");
                flat.insert(key.clone(), kind.cloned().unwrap_or(json!("string")));
            }
            ("properties", Value::Object(fields)) => {
                let fields = fields
                    .iter()
                    .map(|(name, field)| (name.clone(), flatten(field)));
                flat.insert(key.clone(), Value::Object(fields.collect()));
            }
            ("items", items) => {
                let mut item = flatten(items);
                // As with the whole: the type's own comment is for who reads the code.
                if let Value::Object(map) = &mut item {
                    map.shift_remove("description");
                }
                flat.insert(key.clone(), item);
            }
            ("enum", Value::Array(values)) => {
                let values = values.iter().filter(|value| !value.is_null()).cloned();
                flat.insert(key.clone(), Value::Array(values.collect()));
            }
            ("description", Value::String(text)) => {
                flat.insert(key.clone(), Value::String(one_line(text)));
            }
            _ => {
                flat.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(ordered(flat))
}

/// Keywords in one order everywhere, whatever order the derive macro made.
fn ordered(flat: Map<String, Value>) -> Map<String, Value> {
    const ORDER: [&str; 3] = ["type", "description", "enum"];
    let rank = |key: &str| ORDER.iter().position(|known| *known == key);
    let mut entries: Vec<(String, Value)> = flat.into_iter().collect();
    entries.sort_by_key(|(key, _)| rank(key).unwrap_or(ORDER.len()));
    entries.into_iter().collect()
}

/// `anyOf [X, null]` and `allOf [X]` are X.
fn only_variant(schema: &Map<String, Value>) -> Option<&Value> {
    let variants = ["anyOf", "allOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(*key)?.as_array())?;
    let mut real = variants
        .iter()
        .filter(|variant| variant["type"] != json!("null"));
    match (real.next(), real.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// An enum whose variants have comments comes as `oneOf` constants. What a model
/// needs to know of them says the comment of the field.
fn string_choices(schema: &Map<String, Value>) -> Option<Value> {
    let variants = schema.get("oneOf")?.as_array()?;
    let mut names = Vec::new();
    for variant in variants {
        let grouped = variant.get("enum").and_then(Value::as_array).cloned();
        let values = match variant.get("const") {
            Some(value) => vec![value.clone()],
            None => grouped?,
        };
        for value in values {
            names.push(value.as_str()?.to_owned());
        }
    }
    let own = schema.get("description").and_then(Value::as_str);
    let text = own.map(one_line).unwrap_or_default();
    Some(json!({"type": "string", "description": text, "enum": names}))
}

/// A comment on the field is nearer to its use than one on its type.
fn with_description(variant: &Value, outer: &Map<String, Value>) -> Value {
    let mut merged = variant.clone();
    if let (Value::Object(map), Some(text)) = (&mut merged, outer.get("description")) {
        map.insert("description".to_owned(), text.clone());
    }
    merged
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Not shown.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Sample {
        /// Where
        /// it is.
        path: String,
        /// From 1.
        #[schemars(range(min = 1))]
        offset: Option<u32>,
        /// How.
        #[serde(default)]
        mode: Mode,
        /// Maybe how.
        other: Option<Mode>,
        /// Several.
        edits: Option<Vec<Part>>,
    }

    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        /// One by one.
        #[default]
        Lines,
        /// Names.
        Files,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Part {
        /// Before.
        old: String,
    }

    #[test]
    fn unions_references_and_formats_are_gone_and_order_stays() {
        assert_eq!(
            flat::<Sample>().to_string(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where it is."},
                    "offset": {"type": "integer", "description": "From 1.", "minimum": 1},
                    "mode": {
                        "type": "string",
                        "description": "How.", "enum": ["lines", "files"]
                    },
                    "other": {
                        "type": "string",
                        "description": "Maybe how.", "enum": ["lines", "files"]
                    },
                    "edits": {
                        "type": "array", "description": "Several.",
                        "items": {
                            "type": "object",
                            "properties": {"old": {"type": "string", "description": "Before."}},
                            "required": ["old"]
                        }
                    }
                },
                "required": ["path"]
            })
            .to_string()
        );
    }
}
