//! Every usual emoji, as `build.rs` wrote them: the sign, its name, its short codes.

use std::{collections::HashMap, sync::LazyLock};

/// A line for each: the sign, its name, its short codes.
const ALL: &str = include_str!(concat!(env!("OUT_DIR"), "/emoji.txt"));

static BY_CODE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let all = ALL.lines().flat_map(|line| {
        let mut parts = line.split('\t');
        let sign = parts.next().unwrap_or_default();
        // Some have none.
        let codes = parts.skip(1).filter(|code| !code.is_empty());
        codes.map(move |code| (code, sign))
    });
    all.collect()
});

/// The names of all, in words.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.lines().filter_map(|line| line.split('\t').nth(1))
}

/// The sign of a usual short code.
pub(crate) fn of_code(code: &str) -> Option<&'static str> {
    BY_CODE.get(code).copied()
}
