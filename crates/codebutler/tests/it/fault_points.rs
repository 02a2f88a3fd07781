//! Every fault point of the source is named once, comes in a pair, and is in
//! the one list that says what the names mean; and a process really dies there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
};

use butler_protocol::{FAULT_LOG_VARIABLE, FAULT_POINTS, FAULT_VARIABLE};

use crate::scratch::Scratch;

/// Names of `fault("…")` calls in product code, with how often each stands there.
fn in_source(folder: &Path, found: &mut BTreeMap<String, usize>) {
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            in_source(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines().map(str::trim_start) {
                if let Some(rest) = line.strip_prefix("fault(\"") {
                    let name = rest.split('"').next().unwrap();
                    *found.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }
}

#[test]
fn every_point_is_unique_paired_and_described() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for name in fs::read_dir(crates).unwrap() {
        let source = name.unwrap().path().join("src");
        if source.is_dir() {
            in_source(&source, &mut found);
        }
    }
    let twice: Vec<_> = found.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "named more than once: {twice:?}");
    let pair = |step: &str| {
        let (name, what) = step.split_once('.').unwrap();
        [
            format!("{name}.before-{what}"),
            format!("{name}.after-{what}"),
        ]
    };
    let listed: BTreeSet<String> = FAULT_POINTS
        .iter()
        .flat_map(|(step, _)| pair(step))
        .collect();
    let found: BTreeSet<String> = found.into_keys().collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "not in the list of protocol's fault/points.rs: {missing:?}; listed and not in the source: {stale:?}"
    );
    let mut steps: Vec<_> = FAULT_POINTS.iter().map(|(step, _)| *step).collect();
    steps.dedup();
    assert!(steps.len() == FAULT_POINTS.len() && steps.is_sorted());
    assert!(FAULT_POINTS.iter().all(|(_, about)| !about.is_empty()));
}

#[test]
fn a_process_dies_at_its_point_once_and_notes_what_it_passes() {
    let scratch = Scratch::new();
    let log = scratch.home().with_extension("faults");
    let start = || {
        let mut command = scratch.codebutler(&["init", "--yes"]);
        command
            .env(FAULT_VARIABLE, "init/init.after-file:2")
            .env(FAULT_LOG_VARIABLE, &log);
        command.output().unwrap()
    };
    let killed = start();
    assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
    let passed = fs::read_to_string(&log).unwrap();
    let expected = [
        "init/init.before-file",
        "init/init.after-file",
        "init/init.before-file",
        "init/init.after-file killed",
    ];
    assert_eq!(passed.lines().collect::<Vec<_>>(), expected);
    // Once somebody died, the same variables kill nobody any more.
    let again = start();
    assert_eq!(again.status.signal(), None, "{again:?}");
}
