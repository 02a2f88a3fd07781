//! Node: the scripts of `package.json`, run by the package manager whose lock
//! file is there.

use std::path::Path;

use serde_json::Value;

use crate::commands::setup::init::detect::{Detected, text};

/// Scripts that check something and end by themselves, in the order of cost.
const SCRIPTS: [&str; 6] = [
    "format:check",
    "lint",
    "typecheck",
    "type-check",
    "build",
    "test",
];

pub(crate) fn detect(folder: &Path) -> Option<Detected> {
    let package: Value = serde_json::from_str(&text(folder, "package.json")?).ok()?;
    let (manager, install) = manager(folder, package["packageManager"].as_str());
    let mut found = Detected::default();
    for name in SCRIPTS {
        let script = package["scripts"][name].as_str();
        if script.is_some_and(|script| !is_placeholder(script)) {
            found.check(&name.replace(':', "-"), format!("{manager} run {name}"));
        }
    }
    let needs = |key: &str| package[key].as_object().is_some_and(|map| !map.is_empty());
    if needs("dependencies") || needs("devDependencies") || package["workspaces"].is_array() {
        found.prepare.push(install.into());
    }
    Some(found)
}

/// What `npm init` writes, which always fails.
fn is_placeholder(script: &str) -> bool {
    script.contains("no test specified")
}

/// By its lock file, else by the name in `package.json`. Without a lock file none
/// is written: it would become part of a change that nobody asked for.
fn manager(folder: &Path, named: Option<&str>) -> (&'static str, &'static str) {
    let has = |name: &str| folder.join(name).exists();
    let named = |name: &str| named.is_some_and(|named| named.starts_with(name));
    if has("pnpm-lock.yaml") {
        ("pnpm", "pnpm install --frozen-lockfile")
    } else if has("yarn.lock") && has(".yarnrc.yml") {
        ("yarn", "yarn install --immutable")
    } else if has("yarn.lock") {
        // The flag that version 1 knows and later ones still accept.
        ("yarn", "yarn install --frozen-lockfile")
    } else if has("bun.lock") || has("bun.lockb") {
        ("bun", "bun install --frozen-lockfile")
    } else if has("package-lock.json") || has("npm-shrinkwrap.json") {
        ("npm", "npm ci")
    } else if named("pnpm@") {
        ("pnpm", "pnpm install --no-lockfile")
    } else if named("yarn@1") {
        ("yarn", "yarn install --no-lockfile")
    } else {
        ("npm", "npm install --no-package-lock")
    }
}
