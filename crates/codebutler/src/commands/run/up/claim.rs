//! One team per repository and machine. Two would speak with one voice: the hub
//! lets the newer process of a role in and sends the older one away, so that
//! twelve agents displace each other without end.
//!
//! The claim is a lock on a file, not the file: however the process ends, even
//! by `kill -9`, the lock ends with it.

use std::{
    fs::{File, TryLockError},
    io::{Read, Write},
    path::Path,
};

use crate::{CliError, process::running, wiring};

/// Held as long as the team runs.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Open means locked; children do not inherit it.
    _file: File,
}

impl Claim {
    /// Takes the repo at `root` for this process.
    pub(crate) fn take(home: &Path, root: &Path) -> Result<Self, CliError> {
        let repo = wiring::repo_name(home, root)?;
        let services = running::services(home, &repo);
        if !services.is_empty() {
            let error = CliError::user(format!("the team of {repo} runs already, as services"));
            return Err(error.hint("`codebutler status` shows them, `codebutler stop` ends them"));
        }
        let mut file = running::lockable(&running::team_file(home, &repo))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(&repo, file)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.write_all(std::process::id().to_string().as_bytes())?;
        Ok(Self { _file: file })
    }
}

/// Names the process that has the repo, once it has written itself down.
fn taken(repo: &str, mut file: File) -> CliError {
    let mut pid = String::new();
    let written = file.read_to_string(&mut pid).is_ok() && !pid.is_empty();
    let (process, end) = if written {
        (format!(" (process {pid})"), format!("`kill {pid}`"))
    } else {
        (String::new(), "Ctrl-C in its terminal".to_owned())
    };
    CliError::user(format!("the team of {repo} runs already{process}")).hint(format!(
        "`codebutler link` gives a link to its page; {end} ends it"
    ))
}

#[cfg(test)]
mod tests {
    use crate::commands::run::up::claim::*;

    #[test]
    fn a_repo_is_claimed_once_and_free_again_when_the_claim_ends() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home");
        let (app, site) = (scratch.path().join("app"), scratch.path().join("site"));
        let first = Claim::take(&home, &app).unwrap();
        let second = Claim::take(&home, &app).unwrap_err().plain();
        let pid = std::process::id();
        assert_eq!(
            second,
            format!("the team of app runs already (process {pid})")
        );
        Claim::take(&home, &site).unwrap();
        drop(first);
        // The file is still there; it is the lock that counts.
        assert!(home.join("run/app.team").exists());
        Claim::take(&home, &app).unwrap();
    }
}
