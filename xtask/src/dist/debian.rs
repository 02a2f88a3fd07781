//! The Debian package: the same prefix below `/usr`, and what it needs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

use super::{OLDEST_GLIBC, output};

/// Packs the prefix as `codebutler_<version>_<architecture>.deb`.
pub(super) fn pack(out: &Path, prefix: &Path, version: &str) -> Result<PathBuf> {
    let architecture = architecture(std::env::consts::ARCH);
    let root = out.join("debian");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    fs::create_dir_all(root.join("DEBIAN"))?;
    let (from, to) = (prefix.to_string_lossy(), root.join("usr"));
    output(out, &["cp", "-a", &from, &to.to_string_lossy()])?;
    fs::write(root.join("DEBIAN/control"), control(version, architecture))?;
    // Policy wants a package's licences under this name.
    let documents = to.join("share/doc/codebutler");
    fs::copy(documents.join("LICENCES.txt"), documents.join("copyright"))?;
    let name = format!("codebutler_{version}_{architecture}.deb");
    // Every dpkg reads gzip, and it is packed in seconds.
    output(
        out,
        &[
            "dpkg-deb",
            "--root-owner-group",
            "-Zgzip",
            "--build",
            "debian",
            &name,
        ],
    )?;
    fs::remove_dir_all(&root)?;
    Ok(out.join(name))
}

/// Debian's word for a processor.
fn architecture(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn control(version: &str, architecture: &str) -> String {
    format!(
        "Package: codebutler\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The CodeButler authors <noreply@codebutler.invalid>\n\
         Depends: git, ca-certificates, libc6 (>= {OLDEST_GLIBC})\n\
         Recommends: gh\n\
         Section: devel\n\
         Priority: optional\n\
         Homepage: https://github.com/codebutler/codebutler\n\
         Description: a software team that lives in a Slack channel\n \
         Describe what you want in a thread; the team asks, plans, builds, reviews\n \
         and opens a pull request. Works with Slack, or with the workspace it brings.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_one_field_a_line_and_an_indented_description() {
        let text = control("0.1.0", architecture("x86_64"));
        assert!(
            text.contains("\nVersion: 0.1.0\nArchitecture: amd64\n"),
            "{text}"
        );
        let (fields, description) = text.split_once("Description: ").unwrap();
        assert!(fields.lines().all(|line| line.contains(": ")), "{text}");
        assert!(
            description
                .lines()
                .skip(1)
                .all(|line| line.starts_with(' ')),
            "{text}"
        );
    }
}
