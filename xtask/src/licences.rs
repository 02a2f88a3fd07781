//! Licences of everything that is built into the binary, crates that may not be
//! there at all, and crates that may be there once only. Reads cargo's own tree,
//! so it needs no network; `deny.toml` says the same for those who have
//! cargo-deny, which also knows security advisories: those cannot be looked up
//! offline.

use anyhow::{Context, Result, ensure};

use crate::{Place, say, spdx, steps::command};

/// A second TLS stack, and what brings one.
const BANNED: [&str; 4] = ["openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys"];

/// Large crates that must not be compiled twice.
const ONCE: [&str; 4] = ["hyper", "rustls", "tokio-tungstenite", "html5ever"];

/// A crate of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// Whether everything is in order; what is not is said.
pub(crate) fn check(place: &Place) -> Result<bool> {
    let packages = read(&tree(place)?);
    ensure!(packages.len() > 1, "cargo listed no crates");
    let complaints = judge(&packages);
    for complaint in &complaints {
        say::line(complaint);
    }
    if complaints.is_empty() {
        say::line(&format!(
            "{} crates, licences in order (advisories need cargo-deny and a network)",
            packages.len()
        ));
    }
    Ok(complaints.is_empty())
}

/// The list that comes with a package: every crate in it and its licence.
pub(crate) fn list(place: &Place) -> Result<String> {
    let packages = read(&tree(place)?);
    let lines = packages
        .iter()
        .filter(|one| !one.name.starts_with("xtask"))
        .map(|one| format!("{} {}: {}\n", one.name, one.version, one.licence));
    let text = "CodeButler is MIT or Apache-2.0, as you like; both texts are beside this file.\n\
                Crates that are built into the binary, and their licences:\n\n";
    Ok(std::iter::once(text.to_owned()).chain(lines).collect())
}

fn tree(place: &Place) -> Result<String> {
    // Development dependencies are not shipped; other platforms' crates may not be fetched.
    let words = [
        "cargo",
        "tree",
        "--workspace",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}\t{l}",
    ];
    let output = command(&place.root, &words, &[])?
        .output()
        .context("cannot run cargo tree")?;
    ensure!(
        output.status.success(),
        "cargo tree failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Each crate once. A line is `name v1.2.3 (place)`, a tab, and the licence.
fn read(tree: &str) -> Vec<Package> {
    let mut packages: Vec<Package> = tree
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.split_once('\t')?;
            let mut words = package.split_whitespace();
            Some(Package {
                name: words.next()?.to_owned(),
                version: words.next()?.to_owned(),
                // Cargo marks what it has listed before.
                licence: licence.trim_end_matches(" (*)").trim().to_owned(),
            })
        })
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

fn judge(packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Package {
        name,
        version,
        licence,
    } in packages
    {
        if !spdx::is_allowed(licence) {
            complaints.push(format!(
                "{name} {version}: the licence \"{licence}\" is not allowed"
            ));
        }
        if BANNED.contains(&name.as_str()) {
            complaints.push(format!("{name} {version}: banned, we have one TLS stack"));
        }
    }
    for name in ONCE {
        let versions: Vec<_> = packages.iter().filter(|one| one.name == name).collect();
        if versions.len() > 1 {
            let versions: Vec<_> = versions.iter().map(|one| one.version.as_str()).collect();
            complaints.push(format!(
                "{name}: built {} times: {}",
                versions.len(),
                versions.join(", ")
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(tree: &str) -> Vec<String> {
        judge(&read(tree))
    }

    #[test]
    fn an_orderly_tree_has_no_complaints() {
        let tree = "codebutler v0.1.0 (/x/crates/codebutler)\tMIT OR Apache-2.0\n\
                    rustls v0.23.46\tApache-2.0 OR ISC OR MIT\n\
                    rustls v0.23.46\tApache-2.0 OR ISC OR MIT (*)\n\nnot a crate\n";
        assert_eq!(complaints(tree), Vec::<String>::new());
        assert_eq!(read(tree).len(), 2);
    }

    #[test]
    fn each_kind_of_trouble_is_named() {
        let tree = "html2md v0.2.1\tGPL-3.0-only\nnolicence v1.0.0\t\n\
                    openssl-sys v0.9.0\tMIT\nhyper v0.14.0\tMIT\nhyper v1.7.0\tMIT\n";
        let found = complaints(tree);
        assert_eq!(found.len(), 4, "{found:?}");
        for word in [
            "html2md",
            "nolicence",
            "openssl-sys",
            "hyper: built 2 times",
        ] {
            assert!(
                found.iter().any(|line| line.contains(word)),
                "{word}: {found:?}"
            );
        }
    }
}
