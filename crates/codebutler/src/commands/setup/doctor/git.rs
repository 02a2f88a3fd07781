//! Git itself, the repository, its remote and its default branch.

use std::{path::Path, time::Duration};

use butler_repo::{Error, Git, Repo, git_version};

use crate::commands::setup::doctor::{Finding, Place};
use crate::{commands::no_repository, process};

/// A remote that does not answer by then is taken for away.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
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
    let asked = process::run_on_one_thread(async |_| Ok(git_version().await));
    match asked {
        Ok(Ok(number)) => Finding::ok("git", number),
        Ok(Err(error @ Error::TooOld { .. })) => {
            Finding::failed("git", error.to_string(), "install git 2.38 or newer")
        }
        _ => Finding::failed("git", "not found", "install git 2.38 or newer"),
    }
}

/// Whether there is one, without asking it.
pub(crate) fn remote(root: &Path) -> Finding {
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
    let asked =
        process::run_on_one_thread(async |_| Ok(Git::at(folder).call(args).finish().await.ok()));
    let text = asked.ok()??.text();
    (!text.is_empty()).then_some(text)
}
