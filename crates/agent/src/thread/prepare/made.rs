//! What a preparation made, kept for the next folder that needs the same: copied
//! instead of installed, without network and in a fraction of the time.
//!
//! Kept is only what lies in folders of installed packages. Whatever else a
//! command makes (a build, generated code) may depend on code, and is made anew.
//! All copying happens in the sandbox, so that a link in a worktree leads us
//! nowhere. Paths of the old folder in scripts and links, as Python's environments
//! have them, are made those of the new one.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use butler_protocol::Sha256Hex;
use butler_sandbox::Network;
use butler_tools::{Cache, RuntimeCommand};
use serde::{Deserialize, Serialize};

use super::needs::is_lock;

/// What package managers fill.
pub(crate) const INSTALLED: &[&str] = &[
    "node_modules",
    ".venv",
    "venv",
    "Pods",
    ".bundle",
    ".pnp.cjs",
    ".pnp.js",
    ".pnp.loader.mjs",
    ".yarn",
    "__pycache__",
];

/// So many kept ones stay, the last used ones.
const MOST: usize = 4;

/// The list beside the files.
const LIST: &str = "made.json";

/// What was made in one folder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Made {
    /// The folder.
    root: PathBuf,
    /// What lies in it, from its top.
    entries: Vec<String>,
}

/// The kept ones of a repo.
#[derive(Debug, Clone)]
pub(crate) struct PreparedCache {
    root: PathBuf,
}

impl PreparedCache {
    /// Those beside a cache.
    pub(crate) fn of(cache: &Cache) -> Self {
        Self {
            root: cache.root().join("prepared"),
        }
    }

    /// What is kept for these needs.
    pub(crate) fn find(&self, key: &Sha256Hex) -> Option<Made> {
        let list = self.root.join(key.as_str()).join(LIST);
        let made = serde_json::from_slice(&fs::read(&list).ok()?).ok()?;
        // Used now: the others go first.
        if let Ok(file) = fs::File::options().append(true).open(&list) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(made)
    }

    /// Copies what is kept into a folder.
    pub(crate) fn restoring(&self, key: &Sha256Hex, made: &Made, root: &Path) -> RuntimeCommand {
        let kept = self.root.join(key.as_str()).join("files");
        let mut script = String::from("set -e\n");
        for entry in &made.entries {
            let (from, to) = (quoted(&kept.join(entry)), quoted(Path::new(entry)));
            let parent = quoted(Path::new(entry).parent().unwrap_or(Path::new(".")));
            script.push_str(&format!(
                "rm -rf ./{to}\nmkdir -p ./{parent}\ncp -a {from} ./{to}\n"
            ));
            script.push_str(&moved(&made.root, root, &to));
        }
        RuntimeCommand {
            readable: vec![kept],
            ..RuntimeCommand::new(script, Network::Loopback)
        }
    }

    /// Copies what was made to a place beside, which [`PreparedCache::keep`] makes the kept one.
    pub(crate) fn keeping(&self, made: &Made) -> std::io::Result<(RuntimeCommand, PathBuf)> {
        fs::create_dir_all(&self.root)?;
        let beside = self.root.join(format!("new-{}", std::process::id()));
        if beside.exists() {
            fs::remove_dir_all(&beside)?;
        }
        let files = beside.join("files");
        fs::create_dir_all(&files)?;
        let mut script = String::from("set -e\n");
        for entry in &made.entries {
            let (from, to) = (quoted(Path::new(entry)), quoted(&files.join(entry)));
            let parent = files.join(entry);
            let parent = quoted(parent.parent().unwrap_or(&files));
            script.push_str(&format!("mkdir -p {parent}\ncp -a ./{from} {to}\n"));
        }
        let command = RuntimeCommand {
            writable: vec![files],
            ..RuntimeCommand::new(script, Network::Loopback)
        };
        Ok((command, beside))
    }

    /// Makes what was copied the one for these needs, and lets the oldest go.
    pub(crate) fn keep(&self, key: &Sha256Hex, made: &Made, beside: &Path) -> std::io::Result<()> {
        fs::write(beside.join(LIST), serde_json::to_vec(made)?)?;
        let place = self.root.join(key.as_str());
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::rename(beside, place)?;
        let mut kept: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.root)?
            .flatten()
            .filter_map(|entry| {
                let used = fs::metadata(entry.path().join(LIST))
                    .ok()?
                    .modified()
                    .ok()?;
                Some((used, entry.path()))
            })
            .collect();
        kept.sort();
        let surplus = kept.len().saturating_sub(MOST);
        for (_, path) in kept.into_iter().take(surplus) {
            fs::remove_dir_all(path)?;
        }
        Ok(())
    }
}

impl Made {
    /// What appeared in a folder, if another folder can use it: nothing but
    /// installed packages, and those from nothing.
    pub(crate) fn of(root: &Path, before: &[String], after: &[String]) -> Option<Self> {
        let from_nothing = !before.iter().any(|entry| is_installed(entry));
        let entries: Vec<String> = after
            .iter()
            .filter(|entry| !before.contains(entry))
            .map(|entry| entry.trim_end_matches('/').to_owned())
            .collect();
        let plain = entries
            .iter()
            .all(|entry| (is_installed(entry) || is_lock(entry)) && !entry.contains('\n'));
        (from_nothing && plain).then(|| Self {
            root: root.to_owned(),
            entries,
        })
    }
}

/// Whether something untracked is a folder of installed packages.
pub(crate) fn is_installed(entry: &str) -> bool {
    let mut parts = entry.trim_end_matches('/').split('/');
    parts.any(|part| INSTALLED.contains(&part) || part.ends_with(".egg-info"))
}

/// Makes the paths of the old folder those of the new one, in texts and links.
fn moved(old: &Path, new: &Path, entry: &str) -> String {
    if old == new {
        return String::new();
    }
    let (plain, from) = (
        quoted(old),
        quoted(Path::new(&pattern(&old.to_string_lossy()))),
    );
    let to = quoted(Path::new(&replacement(&new.to_string_lossy())));
    let target = quoted(new);
    format!(
        "{{ LC_ALL=C grep -rlIF -- {plain} ./{entry} || true; }} | while IFS= read -r file; do
  LC_ALL=C sed s/{from}/{to}/g \"$file\" > \"$TMPDIR/moved\" && cat \"$TMPDIR/moved\" > \"$file\"
done
find ./{entry} -type l -lname {plain}'/*' | while IFS= read -r link; do
  old=$(readlink \"$link\") && ln -sfn {target}\"${{old#{plain}}}\" \"$link\"
done
"
    )
}

/// A text that sed finds as it stands.
fn pattern(text: &str) -> String {
    escaped(text, "\\.*[]^$/")
}

/// A text that sed puts as it stands.
fn replacement(text: &str) -> String {
    escaped(text, "\\&/")
}

/// A text in which these letters stand for themselves.
pub(crate) fn escaped(text: &str, special: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if special.contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// A path as a shell reads it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn only_installed_packages_serve_another_folder_and_only_from_nothing() {
        let root = Path::new("/r");
        let made = |before: &[&str], after: &[&str]| Made::of(root, &list(before), &list(after));
        let found = made(
            &["target/"],
            &[
                "target/",
                "node_modules/",
                "web/node_modules/",
                "x.egg-info/",
            ],
        );
        assert_eq!(
            found.unwrap().entries,
            ["node_modules", "web/node_modules", "x.egg-info"]
        );
        assert_eq!(
            made(&[], &[]).unwrap().entries,
            list(&[]),
            "as cargo and go leave it"
        );
        assert!(made(&[], &["node_modules/", "dist/"]).is_none(), "a build");
        assert!(
            made(&["node_modules/"], &["node_modules/", ".venv/"]).is_none(),
            "older packages"
        );
    }

    #[test]
    fn the_last_used_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let prepared = PreparedCache::of(&Cache::at(folder.path().to_owned(), None));
        let made = Made::of(Path::new("/r"), &[], &[]).unwrap();
        let key = |n: usize| Sha256Hex::of(n.to_string());
        for n in 0..MOST + 2 {
            let (_, beside) = prepared.keeping(&made).unwrap();
            prepared.keep(&key(n), &made, &beside).unwrap();
            assert!(prepared.find(&key(0)).is_some(), "used each time");
        }
        assert_eq!(fs::read_dir(&prepared.root).unwrap().count(), MOST);
        assert!(prepared.find(&key(1)).is_none());
    }
}
