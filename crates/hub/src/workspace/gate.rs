//! The last gate: every outbound text, block, name and title passes the
//! redactor here as well, whatever the sender did before.

use butler_policy::{Found, Redactor};
use serde_json::Value;

/// Takes secrets out of text; true when something was taken out.
pub(crate) fn clean_text(redactor: &Redactor, text: &mut String) -> bool {
    let redaction = redactor.redact(text);
    let altered = redaction.text != *text;
    if altered {
        note(&redaction.findings);
        *text = redaction.text;
    }
    altered
}

/// The same for a file, if it is text in any encoding.
pub(crate) fn clean_file(redactor: &Redactor, bytes: Vec<u8>) -> Vec<u8> {
    let (bytes, findings) = redactor.redact_file(bytes);
    note(&findings);
    bytes
}

fn note(findings: &[Found]) {
    for found in findings {
        tracing::warn!(
            kind = found.kind,
            length_bytes = found.length,
            "redacted outbound text"
        );
    }
}

/// The same for every string inside a value, keys left alone.
pub(crate) fn clean_value(redactor: &Redactor, value: &mut Value) -> bool {
    match value {
        Value::String(text) => clean_text(redactor, text),
        Value::Array(items) => clean_each(redactor, items.iter_mut()),
        Value::Object(fields) => clean_each(redactor, fields.values_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// All of them, also after the first that was altered.
fn clean_each<'a>(redactor: &Redactor, values: impl Iterator<Item = &'a mut Value>) -> bool {
    let altered = values.filter_map(|value| clean_value(redactor, value).then_some(()));
    altered.count() > 0
}

/// What an agent wants to say: text, blocks, metadata.
pub(crate) struct Outbound<'a> {
    pub(crate) text: &'a mut String,
    pub(crate) blocks: Option<&'a mut Value>,
    pub(crate) attachments: Option<&'a mut Value>,
    pub(crate) metadata: Option<&'a mut Value>,
    pub(crate) names: Vec<&'a mut String>,
}

/// Cleans all of it.
pub(crate) fn pass(redactor: &Redactor, out: Outbound<'_>) {
    clean_text(redactor, out.text);
    for name in out.names {
        clean_text(redactor, name);
    }
    let values = [out.blocks, out.attachments, out.metadata];
    for value in values.into_iter().flatten() {
        clean_value(redactor, value);
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::Secret;
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_known_leaves_in_any_string() {
        let secret = ["hunter2-", "correct-horse"].concat();
        let redactor = Redactor::new(&[Secret::new(secret.clone())], &[]).unwrap();
        let mut text = format!("the key is {secret}");
        let mut blocks = json!([{"type": "section", "text": {"text": text.clone()},
            "accessory": {"value": secret.clone(), "alt_text": secret.clone()}}]);
        let mut name = secret.clone();
        let outbound = Outbound {
            text: &mut text,
            blocks: Some(&mut blocks),
            attachments: None,
            metadata: None,
            names: vec![&mut name],
        };
        pass(&redactor, outbound);
        assert!(!format!("{text}{blocks}{name}").contains(&secret));
        assert!(text.starts_with("the key is "), "{text}");
    }
}
