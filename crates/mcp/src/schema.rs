//! A server's schema as every provider of models accepts it: an object, no
//! references, no unions, bounded.

use serde_json::{Map, Value, json};

/// A schema that is larger as it came is not even looked at.
const RAW_BYTES: usize = 1 << 20;
/// How deep objects may nest.
const DEPTH: usize = 6;
/// How large a schema may be; a larger one keeps only the names and kinds of its fields.
const BYTES: usize = 12 << 10;

/// Keywords that stay as they are.
const KEPT: &str = "minimum maximum minLength maxLength minItems maxItems pattern required enum";

/// The flat schema of a tool's input.
pub(crate) fn flat(schema: &Value) -> Value {
    if schema.to_string().len() > RAW_BYTES {
        return anything();
    }
    let flattened = Flattener { root: schema }.flat(schema, DEPTH);
    if flattened["properties"].is_null() || flattened["type"] != "object" {
        return anything();
    }
    if flattened.to_string().len() <= BYTES {
        return flattened;
    }
    let fields = flattened["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(name, field)| (name.clone(), bare(field)));
    let mut bare = json!({"type": "object", "properties": fields.collect::<Map<_, _>>()});
    if flattened["required"].is_array() {
        bare["required"] = flattened["required"].clone();
    }
    if bare.to_string().len() > BYTES {
        return anything();
    }
    bare
}

/// The server knows what it takes.
fn anything() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": true})
}

fn bare(field: &Value) -> Value {
    match field.get("type") {
        Some(kind) if kind == "array" => json!({"type": "array", "items": {}}),
        Some(kind) => json!({"type": kind}),
        None => json!({}),
    }
}

struct Flattener<'a> {
    root: &'a Value,
}

impl Flattener<'_> {
    fn flat(&self, schema: &Value, depth: usize) -> Value {
        let Some(given) = schema.as_object() else {
            return json!({});
        };
        let told = given.get("description").and_then(Value::as_str);
        if depth == 0 {
            return described(json!({}), told);
        }
        if let Some(name) = given.get("$ref").and_then(Value::as_str) {
            let found = name.strip_prefix('#').and_then(|at| self.root.pointer(at));
            // A schema that holds itself ends at the depth.
            let inner = found.map(|found| self.flat(found, depth - 1));
            return described(inner.unwrap_or_else(|| json!({})), told);
        }
        if let Some(variants) = variants(given) {
            return described(self.union(&variants, depth), told);
        }
        let mut flat = Map::new();
        if let Some(kind) = kind(given) {
            flat.insert("type".to_owned(), kind);
        }
        if let Some(constant) = given.get("const") {
            flat.insert("enum".to_owned(), json!([constant]));
        }
        for key in KEPT.split(' ') {
            if let Some(value) = given.get(key) {
                flat.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(Value::Object(fields)) = given.get("properties") {
            let fields = fields.iter();
            let fields = fields.map(|(name, field)| (name.clone(), self.flat(field, depth - 1)));
            flat.insert("type".to_owned(), json!("object"));
            flat.insert(
                "properties".to_owned(),
                fields.collect::<Map<_, _>>().into(),
            );
            let more = given.get("additionalProperties");
            if more.is_some_and(|more| *more != Value::Bool(false)) {
                flat.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
        }
        if flat.get("type") == Some(&json!("array")) {
            let items = given.get("items").map(|items| self.flat(items, depth - 1));
            flat.insert("items".to_owned(), items.unwrap_or_else(|| json!({})));
        }
        described(flat.into(), told)
    }

    /// One variant is itself; constants are a choice; of others anything goes, and the
    /// server decides.
    fn union(&self, variants: &[&Value], depth: usize) -> Value {
        if let [only] = variants {
            return self.flat(only, depth - 1);
        }
        let constants = variants.iter().map(|one| one.get("const").cloned());
        match constants.collect::<Option<Vec<_>>>() {
            Some(constants) => json!({"enum": constants}),
            None => json!({}),
        }
    }
}

/// The variants of a union, without the one that is nothing.
fn variants(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    let lists = ["anyOf", "oneOf", "allOf"].iter();
    let list = lists
        .filter_map(|key| schema.get(*key)?.as_array())
        .next()?;
    // An object with conditions on its fields is still that object.
    let object = schema.contains_key("properties");
    (!object).then(|| list.iter().filter(|one| one["type"] != "null").collect())
}

fn kind(schema: &Map<String, Value>) -> Option<Value> {
    let kind = schema.get("type")?;
    let several = match kind {
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut real = several.iter().filter(|one| *one != "null");
    match (real.next(), real.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

fn described(mut flat: Value, told: Option<&str>) -> Value {
    if let (Value::Object(map), Some(told)) = (&mut flat, told) {
        let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().take(400).collect();
        map.insert("description".to_owned(), line.into());
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &Value, flattened: &Value) {
        assert_eq!(flat(given), *flattened, "{given}");
    }

    #[test]
    fn references_and_unions_are_gone() {
        check(
            &json!({
                "$schema": "x", "type": "object", "additionalProperties": false,
                "$defs": {"P": {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}}},
                "properties": {
                    "at": {"$ref": "#/$defs/P", "description": "where\n it is"},
                    "many": {"type": "array", "items": {"$ref": "#/$defs/P"}},
                    "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                    "maybe": {"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]},
                    "one": {"oneOf": [{"const": "a"}, {"const": "b"}]}
                },
                "required": ["at"]
            }),
            &json!({
                "type": "object", "required": ["at"],
                "properties": {
                    "at": {"type": "object", "properties": {"x": {"type": "integer"}}, "description": "where it is"},
                    "many": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
                    "either": {},
                    "maybe": {"type": "string"},
                    "one": {"enum": ["a", "b"]}
                }
            }),
        );
    }

    #[test]
    fn what_holds_itself_ends_and_what_is_no_object_is_one() {
        let given = json!({"type": "object", "properties": {"self": {"$ref": "#"}}});
        assert!(flat(&given).to_string().len() < 400, "{}", flat(&given));
        let nothing = anything();
        for given in [
            json!(null),
            json!([]),
            json!({"type": "string"}),
            json!({"$ref": "#"}),
        ] {
            check(&given, &nothing);
        }
    }

    #[test]
    fn a_huge_schema_keeps_names_and_kinds_or_nothing() {
        let field =
            json!({"type": "string", "description": "x".repeat(300), "enum": ["y".repeat(200)]});
        let many = |count: usize| {
            let fields = (0..count).map(|n| (format!("f{n}"), field.clone()));
            json!({"type": "object", "properties": fields.collect::<Map<_, _>>(), "required": ["f1"]})
        };
        let flattened = flat(&many(100));
        assert_eq!(flattened["properties"]["f1"], json!({"type": "string"}));
        assert_eq!(flattened["required"], json!(["f1"]));
        assert_eq!(flat(&many(3_000)), anything());
    }
}
