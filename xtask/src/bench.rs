//! Runs the benches on the binary as it is packaged. Each prints a table and says which
//! bars are met; the tables are kept under `target/bench/`.

use std::fs;

use anyhow::{Context, Result};

use crate::{Place, steps::succeeds};

/// The benches of `bench/`, by name.
pub(crate) const BENCHES: [&str; 7] = [
    "turns", "idle", "pages", "company", "load", "servers", "threads",
];

/// Builds what is measured and runs one bench, or all. Whether all bars are met.
pub(crate) fn run(place: &Place, only: Option<&str>, quick: bool) -> Result<bool> {
    let build = [
        "cargo",
        "build",
        "--profile",
        "dist",
        "--package",
        "codebutler",
        "--package",
        "butler-bench",
    ];
    if !succeeds(&place.root, &build, &[])? {
        return Ok(false);
    }
    let built = place.target.join("dist");
    let name = |file: &str| built.join(file).display().to_string();
    let (bench, binary) = (name("butler-bench"), name("codebutler"));
    let results = place.target.join("bench");
    fs::create_dir_all(&results).with_context(|| results.display().to_string())?;
    let mut met = true;
    for one in BENCHES
        .into_iter()
        .filter(|one| only.is_none_or(|name| name == *one))
    {
        let file = results.join(format!("{one}.md")).display().to_string();
        let mut words = vec![bench.as_str(), one, "--binary", &binary, "--out", &file];
        words.extend(quick.then_some("--quick"));
        met &= succeeds(&place.root, &words, &[])?;
    }
    Ok(met)
}
