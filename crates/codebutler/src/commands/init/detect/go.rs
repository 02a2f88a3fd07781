//! Go: the toolchain fetches what it needs by itself.

use std::path::Path;

use super::{Detected, text};

pub fn detect(folder: &Path) -> Option<Detected> {
    text(folder, "go.mod")?;
    let mut found = Detected::default();
    found.check("test", "go test ./...");
    found.check("lint", "go vet ./...");
    found.check("build", "go build ./...");
    Some(found)
}
