//! What exactly a person approves, and its hash.
//!
//! The subject is everything that gives a call its meaning: tool, arguments,
//! role, thread, root, the repo scripts it names by hash, and whether it would
//! get the network. Change any of it and the approval is void. The call's own id
//! is not part of it: after the click the model makes the same call again, and
//! single use is kept by whoever records the approval as used.

use butler_protocol::{Sha256Hex, ToolCall};
use serde_json::{Map, Value, json};

use crate::Circumstances;

/// The subject of a question.
pub(crate) fn subject(
    call: &ToolCall,
    scripts: &[(String, Sha256Hex)],
    network: bool,
    c: &Circumstances<'_>,
) -> Value {
    let mut scripts: Vec<Value> = scripts
        .iter()
        .map(|(path, sha256)| json!({"path": path, "sha256": sha256}))
        .collect();
    scripts.sort_by_key(Value::to_string);
    canonical(&json!({
        "tool": call.name,
        "arguments": call.arguments,
        "role": c.role,
        "thread": c.thread,
        "root": c.root,
        "scripts": scripts,
        "network": network,
    }))
}

/// The hash of a canonical value.
pub(crate) fn hash(subject: &Value) -> Sha256Hex {
    Sha256Hex::of(subject.to_string())
}

/// The same value with the keys of every object in order, so that equal calls
/// have equal hashes however their arguments were written.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let sorted: Map<String, Value> = entries
                .into_iter()
                .map(|(key, value)| (key.clone(), canonical(value)))
                .collect();
            Value::Object(sorted)
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}
