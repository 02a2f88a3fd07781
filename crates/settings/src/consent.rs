//! What a person on this machine agreed to, by hash.
//!
//! The hash covers the meaning of what was shown (keys in order, comments
//! left out) and belongs to one repo: the same words may be harmless in one
//! repository and not in another.

use std::path::Path;

use butler_vocab::Sha256Hex;
use serde_json::{Map, Value};

use crate::machine::Consent;

/// The loosening parts of a repo's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loosening {
    /// The hash of the whole policy, to be agreed to.
    pub sha256: Sha256Hex,
    /// Each part in words.
    pub parts: Vec<String>,
    /// Whether a person on this machine has agreed, so that they have effect.
    pub agreed: bool,
}

/// The hash of a value, whatever the order of its keys.
pub(crate) fn hash(what: &str, value: &Value) -> Sha256Hex {
    Sha256Hex::of(format!("{what}\n{}", in_order(value)))
}

/// Whether one of the consents is for this repo and hash.
pub(crate) fn agreed(consents: &[Consent], root: &Path, sha256: &Sha256Hex) -> bool {
    let mut consents = consents.iter();
    consents.any(|one| Path::new(&one.repo) == root && one.sha256 == sha256.as_str())
}

fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries = entries.into_iter();
            Value::Object(Map::from_iter(
                entries.map(|(key, value)| (key.clone(), in_order(value))),
            ))
        }
        Value::Array(items) => items.iter().map(in_order).collect(),
        other => other.clone(),
    }
}
