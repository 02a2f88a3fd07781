//! The walk along the schema and the typed reader agree: what the first lets
//! through, the second accepts. Documents are made from the schema itself with
//! random bytes as choices, mistakes included.

use butler_config::{RepoFiles, SchemaName, Settings, schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Stands for a token in a wrong place.
const SECRET: &str = "s3cr3t-of-the-tester";

/// Bytes that are used up one by one; afterwards all are zero.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn below(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % sides.max(1)
    }
}

fn make(root: &Value, schema: &Value, dice: &mut Dice<'_>) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return make(root, &root["$defs"][name], dice);
    }
    // Now and then something that does not belong.
    if dice.below(40) == 39 {
        let odd = [
            json!(null),
            json!(SECRET),
            json!(-1.5),
            json!([1]),
            json!({"odd": 1}),
        ];
        return odd[dice.below(odd.len())].clone();
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[key].as_array() {
            return make(root, &choices[dice.below(choices.len())], dice);
        }
    }
    if let Some(word) = schema.get("const") {
        return word.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[dice.below(kinds.len())].as_str().unwrap(),
        Value::String(kind) => kind,
        _ => "null",
    };
    match kind {
        "boolean" => json!(dice.below(2) == 0),
        "integer" => json!(dice.below(300)),
        "number" => json!(dice.below(300) as f64 / 4.0),
        "string" => string(schema, dice),
        "array" => (0..dice.below(3))
            .map(|_| make(root, &schema["items"], dice))
            .collect(),
        "object" => object(root, schema, dice),
        _ => Value::Null,
    }
}

fn string(schema: &Value, dice: &mut Dice<'_>) -> Value {
    let fitting = match (schema["format"].as_str(), schema["pattern"].as_str()) {
        (Some("uri"), _) => "https://example.org/v1",
        (Some("socket-address"), _) => "[::1]:80",
        (_, Some("^xoxb-")) => "xoxb-1",
        (_, Some("^xapp-")) => "xapp-1",
        (_, Some(_)) => "0000000000000000000000000000000000000000000000000000000000000000",
        _ => "text",
    };
    let strings = [fitting, fitting, fitting, "", "pm", SECRET, "${A}", "$${A}"];
    json!(strings[dice.below(strings.len())])
}

fn object(root: &Value, schema: &Value, dice: &mut Dice<'_>) -> Value {
    let mut map = Map::new();
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        if key != "$schema" && dice.below(3) == 0 {
            map.insert(key.clone(), make(root, value, dice));
        }
    }
    if schema["additionalProperties"].is_object() {
        for name in ["one", "two"] {
            map.insert(
                name.into(),
                make(root, &schema["additionalProperties"], dice),
            );
        }
    }
    Value::Object(map)
}

fn document(name: SchemaName, bytes: &[u8]) -> String {
    let schema = schema(name);
    make(schema, schema, &mut Dice(bytes.iter())).to_string()
}

fn env(name: &str) -> Option<String> {
    match name {
        "CODEBUTLER_HOME" => Some("/nonexistent".into()),
        "A" => Some("a".into()),
        _ => None,
    }
}

/// Whether the file passed; a disagreement of the two readers stops the test.
fn passes(name: SchemaName, text: &str) -> bool {
    let said = if name == SchemaName::Machine {
        let read = Settings::check_machine("config.json".as_ref(), text, &env);
        read.map(drop).map_err(|problems| problems.to_string())
    } else {
        let mut files = RepoFiles::default();
        let place = match name {
            SchemaName::Repo => &mut files.config,
            SchemaName::Mcp => &mut files.mcp,
            _ => &mut files.policy,
        };
        *place = Some(text.to_owned());
        let read = Settings::load_from("/nonexistent".as_ref(), &files, &env);
        // What is wrong with a server takes only that server away.
        let noticed = |settings: Settings| match (name, settings.notices.as_slice()) {
            (SchemaName::Mcp, [first, ..]) => Err(first.to_string()),
            _ => Ok(()),
        };
        let read = read.map_err(|problems| problems.to_string());
        read.and_then(noticed)
    };
    if let Err(problems) = &said {
        assert!(!problems.contains(SECRET), "{problems}\n{text}");
        assert!(
            !problems.contains("does not fit its schema"),
            "{problems}\n{text}"
        );
    }
    said.is_ok()
}

proptest! {
    #[test]
    fn what_fits_the_schema_fits_the_types_and_no_value_is_told(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in SchemaName::ALL {
            passes(name, &document(name, &bytes));
        }
    }

    #[test]
    fn any_text_gives_an_answer(text in "[\\[\\]{}\",:/*a0-9 \\n\\\\$]{0,60}") {
        for name in SchemaName::ALL {
            passes(name, &text);
        }
    }
}

#[test]
fn the_made_documents_are_of_both_kinds() {
    let mut passed = [0; 4];
    for seed in 0..200_u32 {
        let bytes: Vec<u8> = (0..120_u32)
            .map(|i| (seed.wrapping_mul(2_654_435_761) ^ i.wrapping_mul(40_503)).to_le_bytes()[1])
            .collect();
        for (index, name) in SchemaName::ALL.into_iter().enumerate() {
            passed[index] += usize::from(passes(name, &document(name, &bytes)));
        }
    }
    for count in passed {
        assert!((5..195).contains(&count), "{passed:?}");
    }
}

#[test]
fn depth_is_bounded_and_nothing_overflows() {
    for name in SchemaName::ALL {
        assert!(!passes(name, &"[".repeat(200_000)));
        assert!(!passes(
            name,
            &format!("{}{}", "{\"a\":".repeat(50_000), "}".repeat(50_000))
        ));
    }
}
