//! Make: targets with the usual names.

use std::path::Path;

use crate::commands::setup::init::detect::text;

const TARGETS: [&str; 4] = ["test", "check", "lint", "build"];

pub(crate) fn detect(folder: &Path) -> Vec<(String, String)> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let Some(makefile) = files.iter().find_map(|name| text(folder, name)) else {
        return Vec::new();
    };
    let defined = |target: &&str| makefile.lines().any(|line| defines(line, target));
    let found = TARGETS.into_iter().filter(defined);
    found
        .map(|target| (target.to_owned(), format!("make {target}")))
        .collect()
}

/// Whether a line is the rule of a target: `test:`, `build test: deps`, not `test := x`.
fn defines(line: &str, target: &str) -> bool {
    if line.starts_with(['\t', ' ', '#', '.']) {
        return false;
    }
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    let assignment = rest.starts_with(['=', ':']) || targets.contains('=');
    !assignment && targets.split_whitespace().any(|word| word == target)
}
