//! Git itself, the repository, its remote and its default branch.

use std::{path::Path, process::Command, time::Duration};

use butler_worktree::Repo;

use super::{Finding, Place};
use crate::{commands::no_repository, process};

/// A remote that does not answer by then is taken for away.
const PATIENCE: Duration = Duration::from_secs(20);
/// Merge forecasts need `git merge-tree --write-tree`, which came with this version.
const OLDEST: (u32, u32) = (2, 38);

pub fn examine(place: &Place) -> Vec<Finding> {
    let mut findings = vec![version()];
    match &place.repository {
        Some(root) => {
            findings.push(remote(root));
            findings.push(default_branch(root));
        }
        None => {
            let (what, fix) = no_repository(&place.here);
            findings.push(Finding::failed("repository", what, fix));
        }
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
        _ => Finding::failed(
            "remote",
            "none",
            "agents cannot start without one: `git remote add origin <address>`, a bare repository on this machine will do",
        ),
    }
}

/// The same question as the agents ask, so that what is fine here is fine there.
fn default_branch(root: &Path) -> Finding {
    let asked = process::run_on_one_thread(async |_| {
        let asking = Repo::default_branch_at(root);
        let answer = tokio::time::timeout(PATIENCE, asking).await;
        Ok(answer.map_err(|_| "the remote does not answer".to_owned()))
    });
    let branch = match asked {
        Ok(Ok(Ok(branch))) => branch,
        Ok(Ok(Err(error))) => return unknown_branch(&error.to_string()),
        Ok(Err(error)) => return unknown_branch(&error),
        Err(error) => return unknown_branch(&error.plain()),
    };
    match git(root, &["rev-parse", "--verify", "--quiet", "HEAD"]) {
        Some(_) => Finding::ok("default branch", branch.to_string()),
        None => Finding::warning(
            "default branch",
            format!("{branch} has no commit yet"),
            "make a first commit, for example of what `codebutler init` wrote",
        ),
    }
}

fn unknown_branch(why: &str) -> Finding {
    Finding::failed(
        "default branch",
        why.lines().next().unwrap_or_default(),
        "agents cannot start without it: push the branch, or `git remote set-head origin <branch>`",
    )
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
