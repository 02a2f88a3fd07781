//! What changed between two texts, for the model to check its own work.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// After so long the diff is coarse instead of small.
const PATIENCE: Duration = Duration::from_millis(300);

/// Lines of a diff that are shown.
const LINES: usize = 120;

/// A change in numbers and as a unified diff.
pub(crate) struct Change {
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// The hunks, without file headers, capped.
    pub hunks: String,
}

/// Compares two texts line by line.
pub(crate) fn change(old: &str, new: &str) -> Change {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let full = diff
        .unified_diff()
        .context_radius(2)
        .missing_newline_hint(false)
        .to_string();
    let total = full.lines().count();
    let mut hunks: String = full
        .lines()
        .take(LINES)
        .map(|line| format!("{}\n", crate::clip::line(line.trim_end_matches('\r'))))
        .collect();
    if total > LINES {
        hunks.push_str(&format!(
            "[{} more lines of diff: use Read to see the file]\n",
            total - LINES
        ));
    }
    Change {
        added,
        removed,
        hunks,
    }
}
