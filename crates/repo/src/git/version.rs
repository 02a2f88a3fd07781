//! Which git this is. Merge forecasts need `git merge-tree --write-tree`, so that
//! an older one is refused at the start and not in the middle of a thread.

use std::{ffi::OsString, time::Duration};

use super::{
    Settings,
    process::{Ask, run},
};
use crate::{Error, Result};

/// The oldest that will do.
const OLDEST: (u32, u32) = (2, 38);

/// The version of git on this machine, as in `2.47.3`.
/// Fails with [`Error::TooOld`] below 2.38; when there is no git.
pub async fn git_version() -> Result<String> {
    version(&Settings::from_process()).await
}

pub(crate) async fn version(settings: &Settings) -> Result<String> {
    let (args, variables) = ([OsString::from("version")], settings.plain());
    let asked = Ask::new("git", &args, &variables, Duration::from_secs(30));
    let ended = run(asked).await?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let number = text.trim().trim_start_matches("git version ").to_owned();
    match parse(&number) {
        Some(found) if found < OLDEST => Err(Error::TooOld { found: number }),
        // One that names itself otherwise may do.
        _ => Ok(number),
    }
}

fn parse(number: &str) -> Option<(u32, u32)> {
    let mut parts = number.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        assert_eq!(parse("2.47.3"), Some((2, 47)));
        assert_eq!(parse("2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(parse("2.45.0.windows.1"), Some((2, 45)));
        assert_eq!(parse("next"), None);
    }

    #[tokio::test]
    async fn an_old_git_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        fs::write(&program, "#!/bin/sh\necho git version 2.37.9\n").unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let path = (OsString::from("PATH"), folder.path().as_os_str().to_owned());
        // The program is looked up in the PATH that it is given.
        let refused = version(&Settings::from_variables([path])).await;
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains("2.37.9") && error.contains("2.38"),
            "{error}"
        );
    }
}
