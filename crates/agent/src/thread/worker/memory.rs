//! What the team has drawn before: told once in a thread to whoever designs, so that the
//! next design looks like the last. From the default branch, where only accepted things
//! are. Where nothing was drawn nothing is said.

use std::path::Path;

use butler_policy::{Right, Scope, right};
use butler_protocol::{ASSETS, EventId, Speaker};
use butler_turn::Heard;

use crate::{ThreadContext, decide::knowledge, tell::joining::by_runtime};

/// How it should look, in words; the Artist writes it.
const STYLE: &str = ".codebutler/artist/style.md";
/// More is one Read away.
const MOST: usize = 3_000;

/// Style notes and pictures, before the first message of a thread.
pub(super) async fn seen_before(context: &ThreadContext, heard: &Heard) -> Option<Heard> {
    let designs = right(context.role(), "Write") == Right::Scoped(Scope::Artist);
    if !designs || context.facts().doing.is_some() || matches!(heard.speaker, Speaker::Runtime) {
        return None;
    }
    let base = context.agent.repo.base(&context.cancel).await.ok()?;
    let text = told(&base)?;
    Some(by_runtime(EventId::new("drawn-before"), text))
}

fn told(root: &Path) -> Option<String> {
    let index = format!("{ASSETS}/README.md");
    let found = [STYLE, &index].into_iter().filter_map(|path| {
        let text = knowledge::read(root, path)?;
        let end = text.floor_char_boundary(MOST);
        let more = if end < text.len() {
            "\n(cut here; Read has the rest)"
        } else {
            ""
        };
        Some(format!("`{path}`:\n{}{more}", text[..end].trim()))
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| {
        format!(
            "What the team has agreed on and drawn before; keep to it, and use it again.\n\n{}",
            found.join("\n\n")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_is_named_and_nothing_is_said_of_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(told(root.path()), None);
        let line = "- `tray.png`: made by `m`";
        knowledge::write(root.path(), &format!("{ASSETS}/README.md"), line).unwrap();
        knowledge::write(root.path(), STYLE, &"é".repeat(MOST)).unwrap();
        let told = told(root.path()).unwrap();
        assert!(told.contains(line) && told.contains("cut here"), "{told}");
    }
}
