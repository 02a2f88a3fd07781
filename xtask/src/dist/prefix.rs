//! The folder that is packed: `bin` and `share`, as below `/usr`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context, Result};

use super::output;
use crate::{Place, licences};

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/codebutler"),
    ("zsh", "share/zsh/site-functions/_codebutler"),
    ("fish", "share/fish/vendor_completions.d/codebutler.fish"),
];

/// What people find in `share/doc/codebutler` besides the list of licences.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Makes the folder anew.
pub(super) fn fill(place: &Place, binary: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let to = |path: &str| -> Result<_> {
        let path = folder.join(path);
        let parent = path.parent().context("a path without a folder")?;
        fs::create_dir_all(parent)?;
        Ok(path)
    };
    let installed = to("bin/codebutler")?;
    fs::copy(binary, &installed)?;
    fs::set_permissions(&installed, fs::Permissions::from_mode(0o755))?;
    let program = binary.to_string_lossy();
    for (shell, path) in COMPLETIONS {
        fs::write(
            to(path)?,
            output(folder, &[&program, "completions", shell])?,
        )?;
    }
    let pages = to("share/man/man1/codebutler.1")?;
    let pages = pages.parent().unwrap_or(folder).to_string_lossy();
    output(folder, &[&program, "man", &pages])?;
    for name in DOCUMENTS {
        let target = to(&format!("share/doc/codebutler/{name}"))?;
        fs::copy(place.root.join(name), target).with_context(|| format!("cannot copy {name}"))?;
    }
    fs::write(
        to("share/doc/codebutler/LICENCES.txt")?,
        licences::list(place)?,
    )?;
    Ok(())
}
