//! Rust: cargo knows everything.

use std::path::Path;

use super::{Detected, text};

pub fn detect(folder: &Path) -> Option<Detected> {
    let manifest = text(folder, "Cargo.toml")?;
    let workspace = manifest
        .lines()
        .any(|line| line.trim().starts_with("[workspace"));
    let all = if workspace { " --workspace" } else { "" };
    let mut found = Detected::default();
    found.check("test", format!("cargo test{all}"));
    found.check(
        "lint",
        format!("cargo clippy{all} --all-targets -- -D warnings"),
    );
    found.check("format", "cargo fmt --all --check");
    // Without a lock file this would write one into the checkout.
    if folder.join("Cargo.lock").exists() {
        found.prepare.push("cargo fetch --locked".into());
    }
    Some(found)
}
