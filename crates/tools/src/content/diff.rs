//! What changed between two texts, for the model to check its own work.

use std::time::{Duration, Instant};

use similar::{
    DiffOp, DiffTag,
    algorithms::{Capture, Compact, Replace, myers},
    group_diff_ops,
    udiff::UnifiedHunkHeader,
};

/// After so long the diff is coarse instead of small.
const PATIENCE: Duration = Duration::from_millis(300);

/// Lines of a diff that are shown.
const LINES: usize = 120;
/// Lines around a change that are shown.
const CONTEXT: usize = 2;

/// A change in numbers and as a unified diff.
pub(crate) struct Change {
    pub added: usize,
    pub removed: usize,
    /// The hunks, without file headers, capped.
    pub hunks: String,
}

/// Compares two texts line by line.
pub(crate) fn change(old: &str, new: &str) -> Change {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let (mut added, mut removed) = (0, 0);
    let mut lines = Vec::new();
    for hunk in group_diff_ops(operations(&old, &new), CONTEXT) {
        lines.push(UnifiedHunkHeader::new(&hunk).to_string());
        for part in &hunk {
            if part.tag() == DiffTag::Equal {
                lines.extend(marked(' ', &old[part.old_range()]));
                continue;
            }
            removed += part.old_range().len();
            added += part.new_range().len();
            lines.extend(marked('-', &old[part.old_range()]));
            lines.extend(marked('+', &new[part.new_range()]));
        }
    }
    let mut hunks: String = lines
        .iter()
        .take(LINES)
        .map(|line| format!("{}\n", crate::content::clip::line(line)))
        .collect();
    if lines.len() > LINES {
        hunks.push_str(&format!(
            "[{} more lines of diff: use Read to see the file]\n",
            lines.len() - LINES
        ));
    }
    Change {
        added,
        removed,
        hunks,
    }
}

/// What leads from one to the other. The one algorithm is named, because the
/// crate's usual way in has all six of them compiled for our kind of line.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut steps = Compact::new(Replace::new(Capture::new()), old, new);
    let until = Some(Instant::now() + PATIENCE);
    let Ok(()) = myers::diff_deadline(&mut steps, old, 0..old.len(), new, 0..new.len(), until);
    steps.into_inner().into_inner().into_ops()
}

fn marked(mark: char, lines: &[&str]) -> impl Iterator<Item = String> {
    let end = ['\r', '\n'];
    lines
        .iter()
        .map(move |line| format!("{mark}{}", line.trim_end_matches(end)))
}
