//! Git itself, the repository, its remote and its default branch.

use std::{path::Path, process::Command};

use super::{Finding, Place};

/// Merge forecasts need `git merge-tree --write-tree`, which came with this version.
const OLDEST: (u32, u32) = (2, 38);

pub fn examine(place: &Place) -> Vec<Finding> {
    let mut findings = vec![version()];
    match &place.repository {
        Some(root) => {
            findings.push(remote(root));
            findings.push(default_branch(root));
        }
        None => findings.push(Finding::failed(
            "repository",
            format!("{} is not in a git repository", place.here.display()),
            "go to a repository, or run `git init` here",
        )),
    }
    findings
}

fn version() -> Finding {
    let Some(text) = git(Path::new("."), &["version"]) else {
        return Finding::failed("git", "not found", "install git 2.38 or newer");
    };
    let number = text.trim_start_matches("git version ");
    match parse(number) {
        Some(found) if found >= OLDEST => Finding::ok("git", number),
        Some(_) => Finding::failed(
            "git",
            format!("{number} is too old"),
            "install git 2.38 or newer",
        ),
        None => Finding::warning(
            "git",
            format!("unknown version {number}"),
            "make sure that it is 2.38 or newer",
        ),
    }
}

fn parse(number: &str) -> Option<(u32, u32)> {
    let mut parts = number.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

fn remote(root: &Path) -> Finding {
    match git(root, &["remote"]) {
        Some(names) if names.lines().any(|name| name == "origin") => {
            Finding::ok("remote", "origin")
        }
        Some(names) if !names.is_empty() => {
            Finding::ok("remote", names.lines().next().unwrap_or_default())
        }
        _ => Finding::warning(
            "remote",
            "none",
            "pull requests need one: `git remote add origin <address>`, a bare repository on this machine will do",
        ),
    }
}

fn default_branch(root: &Path) -> Finding {
    let of_remote = git(
        root,
        &["symbolic-ref", "--short", "refs/remotes/origin/HEAD"],
    );
    let of_remote = of_remote.map(|name| name.trim_start_matches("origin/").to_owned());
    let usual = || {
        let exists = |name: &&str| git(root, &["rev-parse", "--verify", "--quiet", name]).is_some();
        let found = ["main", "master", "trunk"].into_iter().find(exists);
        found.map(str::to_owned)
    };
    let current = || git(root, &["symbolic-ref", "--short", "HEAD"]);
    let Some(branch) = of_remote.or_else(usual).or_else(current) else {
        return Finding::warning(
            "default branch",
            "not known",
            "check out a branch, or run `git remote set-head origin --auto`",
        );
    };
    match git(root, &["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Some(_) => Finding::ok("default branch", branch),
        None => Finding::warning(
            "default branch",
            format!("{branch} has no commit yet"),
            "make a first commit, for example of what `codebutler init` wrote",
        ),
    }
}

/// What git answers about a folder, when it succeeds and says something.
pub(super) fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        // The repository is not ours: its config must not make git run programs.
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(args)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        assert_eq!(parse("2.47.3"), Some((2, 47)));
        assert_eq!(parse("2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(parse("2.45.0.windows.1"), Some((2, 45)));
        assert_eq!(parse("next"), None);
    }
}
