//! Trying a repo's commands for `init` and `doctor`: once, in the sandbox, in a
//! checkout of ours. The person's own files are not touched.

use std::{
    env,
    path::{Path, PathBuf},
};

use butler_agent::{Tried, TryOut};
use butler_repo::Repo;
use butler_sandbox::{Sandbox, Strength};
use butler_tools::{Check, Preparing};

use crate::{CliError, process};

/// What to try.
pub(crate) struct Commands<'a> {
    /// The repository.
    pub root: &'a Path,
    /// The machine's folder.
    pub home: &'a Path,
    /// Further certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// Commands that make a fresh worktree ready.
    pub prepare: &'a [String],
    /// The checks.
    pub checks: &'a [Check],
}

/// Tries them. Nothing when there is no commit yet, when it was stopped, or when
/// nothing would confine them.
pub(crate) fn try_out(
    commands: &Commands<'_>,
    telling: impl FnMut(&str),
) -> Result<Option<Tried>, CliError> {
    process::run(async |cancel| {
        let sandbox = Sandbox::new(env::current_exe()?).map_err(CliError::internal)?;
        if matches!(sandbox.strength(), Strength::None { .. }) {
            return Ok(None);
        }
        let repo = Repo::open(commands.root)
            .await
            .map_err(CliError::internal)?;
        let try_out = TryOut {
            repo: &repo,
            sandbox: &sandbox,
            person_home: process::person_home(),
            home: commands.home.to_owned(),
            ca_file: commands.ca_file.clone(),
            prepare: commands.prepare,
            checks: commands.checks,
        };
        try_out
            .run(telling, &cancel)
            .await
            .map_err(CliError::internal)
    })
}

/// Whether a check could not even begin.
pub(crate) fn lacks_tool(end: &Preparing) -> bool {
    let words = [
        "No module named",
        "command not found",
        "no such command",
        "not found",
        "Error 127",
    ];
    end.missing || words.iter().any(|words| end.last_line().contains(words))
}

/// How it ended, with the line that mostly says why.
pub(crate) fn said(end: &Preparing) -> String {
    match end.last_line().as_str() {
        "" => end.verdict.clone(),
        line => format!("{}: {line}", end.verdict),
    }
}
