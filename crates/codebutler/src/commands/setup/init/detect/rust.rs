//! Rust: cargo knows everything.

use std::path::Path;

use crate::commands::setup::init::detect::{Detected, text};

pub(crate) fn detect(folder: &Path) -> Option<Detected> {
    let manifest = text(folder, "Cargo.toml")?;
    let section = |start: &str| manifest.lines().any(|line| line.trim().starts_with(start));
    let workspace = section("[workspace");
    let all = if workspace { " --workspace" } else { "" };
    let mut found = Detected::default();
    found.check("test", format!("cargo test{all}"));
    found.check(
        "lint",
        format!("cargo clippy{all} --all-targets -- -D warnings"),
    );
    found.check("format", "cargo fmt --all --check");
    let needs = [
        "[dependencies",
        "[dev-dependencies",
        "[build-dependencies",
        "[target.",
    ];
    if folder.join("Cargo.lock").exists() {
        found.prepare.push("cargo fetch --locked".into());
    } else if workspace || needs.iter().any(|start| section(start)) {
        found.prepare.push("cargo fetch".into());
    }
    Some(found)
}
