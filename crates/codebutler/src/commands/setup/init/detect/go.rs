//! Go: modules are fetched beforehand, the toolchain does the rest by itself.

use std::path::Path;

use crate::commands::setup::init::detect::{Detected, text};

pub(crate) fn detect(folder: &Path) -> Option<Detected> {
    let manifest = text(folder, "go.mod")?;
    let mut found = Detected::default();
    found.check("test", "go test ./...");
    found.check("lint", "go vet ./...");
    found.check("build", "go build ./...");
    let vendored = folder.join("vendor/modules.txt").exists();
    let requires = |line: &str| line.trim_start().starts_with("require");
    if manifest.lines().any(requires) && !vendored {
        found.prepare.push("go mod download".into());
    }
    Some(found)
}
