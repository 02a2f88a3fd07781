//! Which calls of one turn may run at the same time.
//!
//! Batches keep the order of the calls: all of one batch run in parallel, then
//! the next batch starts. A call opens a new batch when it would see or disturb
//! what an earlier call of the current one does.

use butler_protocol::ToolCall;

use crate::{Inside, call::repair};

/// What a call touches, as far as its name and path tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Touch {
    /// Nothing of the worktree, and nothing that has an order.
    Nothing,
    /// Looks at one file.
    Reads(String),
    /// Looks at many.
    ReadsAll,
    /// Changes one file.
    Writes(String),
    /// Anything: commands, posts, tools from outside.
    Everything,
}

/// The calls in batches of indices: independent ones together, the order kept.
pub fn batches(calls: &[ToolCall]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut current: Vec<Touch> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let touch = touch(call);
        let alone = current.iter().any(|other| disturbs(other, &touch));
        match batches.last_mut() {
            Some(batch) if !alone => {
                batch.push(index);
                current.push(touch);
            }
            _ => {
                batches.push(vec![index]);
                current = vec![touch];
            }
        }
    }
    batches
}

fn touch(call: &ToolCall) -> Touch {
    match call.name.as_str() {
        "Read" => Touch::Reads(file(call)),
        "Grep" | "Glob" | "GitLog" | "GitDiff" | "GitStatus" => Touch::ReadsAll,
        "Write" | "Edit" => Touch::Writes(file(call)),
        "WebFetch" | "WebSearch" | "Research" | "ReadThread" | "ListThreads" | "ReadMemory"
        | "GHStatus" | "Checklist" => Touch::Nothing,
        _ => Touch::Everything,
    }
}

fn disturbs(a: &Touch, b: &Touch) -> bool {
    use Touch::{Everything, Nothing, Reads, ReadsAll, Writes};
    match (a, b) {
        (Everything, _) | (_, Everything) => true,
        (Nothing, _) | (_, Nothing) => false,
        (Writes(one), Writes(other) | Reads(other)) | (Reads(one), Writes(other)) => one == other,
        (Writes(_), ReadsAll) | (ReadsAll, Writes(_)) => true,
        (Reads(_) | ReadsAll, Reads(_) | ReadsAll) => false,
    }
}

/// The file of a call in one spelling. Case does not count: on some file
/// systems `A` and `a` are one file, and keeping order costs nothing elsewhere.
fn file(call: &ToolCall) -> String {
    let call = repair::aliases(call);
    let text = call.arguments.get("path").and_then(|path| path.as_str());
    let text = text.unwrap_or_default();
    Inside::parse(text.trim_start_matches('/'), &[])
        .map(|inside| inside.as_str().to_lowercase())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use butler_protocol::CallId;
    use serde_json::{Value, json};

    use super::*;

    fn batched(calls: &[(&str, Value)]) -> Vec<Vec<usize>> {
        let calls: Vec<ToolCall> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| ToolCall {
                id: CallId::new(format!("c{index}")),
                name: (*name).to_owned(),
                arguments: arguments.clone(),
                problem: None,
            })
            .collect();
        batches(&calls)
    }

    #[test]
    fn readers_and_writers_of_different_files_run_together() {
        let a = json!({"path": "a"});
        let b = json!({"path": "b"});
        assert_eq!(batched(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(
            batched(&[
                ("Read", a.clone()),
                ("Grep", json!({})),
                ("Read", a.clone())
            ]),
            [[0, 1, 2]]
        );
        assert_eq!(
            batched(&[
                ("Write", a.clone()),
                ("Edit", b.clone()),
                ("Read", json!({"path": "c"}))
            ]),
            [[0, 1, 2]]
        );
        assert_eq!(
            batched(&[
                ("Research", json!({})),
                ("Research", json!({})),
                ("Write", a)
            ]),
            [[0, 1, 2]]
        );
    }

    #[test]
    fn writes_to_one_file_keep_their_order_in_any_spelling() {
        for other in [
            json!({"path": "./src/../a.rs"}),
            json!({"file_path": "a.rs"}),
            json!({"path": "A.RS"}),
        ] {
            assert_eq!(
                batched(&[("Edit", json!({"path": "a.rs"})), ("Edit", other.clone())]),
                [[0], [1]],
                "{other}"
            );
        }
    }

    #[test]
    fn commands_and_posts_stand_alone() {
        assert_eq!(
            batched(&[
                ("Read", json!({"path": "a"})),
                ("Bash", json!({"command": "make"})),
                ("Read", json!({"path": "a"})),
                ("SendMessage", json!({})),
                ("mcp__x__y", json!({})),
            ]),
            [[0], [1], [2], [3], [4]]
        );
        assert_eq!(
            batched(&[("Grep", json!({})), ("Write", json!({"path": "a"}))]),
            [[0], [1]]
        );
    }
}
