//! Which commands tell whether the code is good, and which make a fresh checkout
//! ready, guessed from marker files. A guess is tried, printed and written into the
//! config, where people correct it.

mod apple;
mod go;
mod make;
mod node;
mod pyproject;
mod python;
mod rust;

use std::{fs, path::Path};

pub(crate) use python::forget_tool;

/// What was found in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    /// Checks by name.
    pub checks: Vec<(String, String)>,
    /// Commands that make a fresh worktree ready.
    pub prepare: Vec<String>,
    /// What was guessed without ever having been run by us.
    pub untested: Vec<&'static str>,
}

/// A language's way to look at one folder.
type Detector = fn(&Path) -> Option<Detected>;

const LANGUAGES: [(&str, Detector); 5] = [
    ("rust", rust::detect),
    ("node", node::detect),
    ("python", python::detect),
    ("go", go::detect),
    ("swift", apple::detect),
];

/// Folders that hold other people's code or build products.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "target", "dist", "third_party"];

impl Detected {
    /// Looks at the root; when nothing is there, at the folders directly below it.
    pub(crate) fn of(root: &Path) -> Self {
        let found = Self::in_folder(root);
        if found != Self::default() {
            return found;
        }
        let mut all = Self::default();
        for name in folders(root) {
            let below = Self::in_folder(&root.join(&name));
            let inside = |command: &String| format!("cd {} && {command}", quoted(&name));
            let checks = below.checks.iter();
            all.checks
                .extend(checks.map(|(check, run)| (format!("{name}-{check}"), inside(run))));
            all.prepare.extend(below.prepare.iter().map(inside));
            all.untested.extend(below.untested);
        }
        all
    }

    fn in_folder(folder: &Path) -> Self {
        let mut all = Self::default();
        for (language, detect) in LANGUAGES {
            if let Some(found) = detect(folder) {
                all.merge(language, found);
            }
        }
        // A Makefile often wraps what was found; it counts for what nobody else has.
        for (name, command) in make::detect(folder) {
            if !all.has(&name) {
                all.checks.push((name, command));
            }
        }
        all
    }

    /// Takes another language's finds; a name that is taken gets the language in front.
    fn merge(&mut self, language: &str, found: Detected) {
        for (name, command) in found.checks {
            let name = if self.has(&name) {
                format!("{language}-{name}")
            } else {
                name
            };
            self.checks.push((name, command));
        }
        self.prepare.extend(found.prepare);
        self.untested.extend(found.untested);
    }

    fn has(&self, name: &str) -> bool {
        self.checks.iter().any(|(taken, _)| taken == name)
    }

    /// Adds a check.
    fn check(&mut self, name: &str, command: impl Into<String>) {
        self.checks.push((name.to_owned(), command.into()));
    }
}

/// Reads the flag `--check name=command`.
pub(crate) fn named_check(text: &str) -> Result<(String, String), String> {
    let parts = text
        .split_once('=')
        .map(|(name, run)| (name.trim(), run.trim()));
    match parts {
        Some((name, command)) if !name.is_empty() && !command.is_empty() => {
            Ok((name.to_owned(), command.to_owned()))
        }
        _ => Err("write it as test=cargo test".to_owned()),
    }
}

/// The folders directly below, in order, without hidden and foreign ones.
fn folders(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') && !FOREIGN.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

/// A folder's name as a shell reads it.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

/// A marker file's text, when it is there and not absurd.
fn text(folder: &Path, name: &str) -> Option<String> {
    let file = folder.join(name);
    let small = file
        .metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() < 1 << 20);
    small
        .then(|| fs::read(&file).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
