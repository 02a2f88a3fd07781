//! Every persisted step that has fault points, in one list: `points.txt`, a step and what
//! is written, or told to somebody else, in it. A step `crate.step` has two points:
//! `crate.before-step` and `crate.after-step`. A test compares the list with the source,
//! so a new point needs a line there.

use std::sync::LazyLock;

/// Each step with what is written, or told to somebody else, in it.
pub static FAULT_POINTS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("points.txt").lines();
    let steps = lines.filter_map(|line| line.split_once(' '));
    steps.map(|(step, about)| (step, about.trim())).collect()
});
