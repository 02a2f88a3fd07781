//! Keys that earlier releases knew and that do nothing now. A file that still has
//! one stays valid: the key is passed over, and the person is told.

use crate::{
    file::{
        document::{Document, Kind, Node},
        problem::Problem,
    },
    schema::SchemaName,
};

/// Which file, which key, and what became of it.
const REMOVED: [(SchemaName, &str, &str); 5] = [
    (
        SchemaName::Machine,
        "hub.url",
        "a hub on another machine cannot be used yet",
    ),
    (
        SchemaName::Machine,
        "hub.token",
        "a hub on another machine cannot be used yet",
    ),
    (
        SchemaName::Machine,
        "consents.mcp",
        "MCP servers are accepted with `codebutler mcp accept`",
    ),
    (
        SchemaName::Policy,
        "network",
        "the network opens by approval only",
    ),
    (
        SchemaName::Policy,
        "sandbox.caches",
        "caches of package managers are kept without it",
    ),
];

/// Takes such keys out; what to tell about each.
pub(crate) fn take_out(document: &mut Document, name: SchemaName) -> Vec<Problem> {
    let mut notices = Vec::new();
    for (_, key, why) in REMOVED.iter().filter(|(file, ..)| *file == name) {
        if let Some(line) = take(&mut document.root, key) {
            let what = format!("this key does nothing: {why}");
            let problem = Problem::with_file(&document.file, what, "Take it out of the file");
            notices.push(problem.at(line, *key));
        }
    }
    notices
}

/// Removes the field at a path of plain keys; its line.
fn take(node: &mut Node, path: &str) -> Option<usize> {
    let Kind::Map(fields) = &mut node.kind else {
        return None;
    };
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let at = fields.iter().position(|field| field.key == first)?;
    match rest {
        Some(rest) => take(&mut fields[at].value, rest),
        None => Some(fields.remove(at).line),
    }
}
