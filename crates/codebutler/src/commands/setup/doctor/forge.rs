//! GitHub's gh, which is needed only where the remote is GitHub.

use butler_repo::{Settings, gh_logged_in, gh_version};

use crate::commands::setup::doctor::{Finding, Place, git::git};
use crate::process;

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let root = place.repository.as_deref();
    let address = root.and_then(|root| git(root, &["remote", "get-url", "origin"]));
    match address {
        Some(address) if is_github(&address) => vec![gh()],
        _ => Vec::new(),
    }
}

/// Whether an address of any of git's spellings is at GitHub.
fn is_github(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    host == "github.com" || host.ends_with(".github.com")
}

fn gh() -> Finding {
    let asked = process::run_on_one_thread(async |_| {
        let settings = Settings::from_process();
        let logged_in = gh_logged_in(&settings).await.ok();
        Ok((logged_in, gh_version(&settings).await.unwrap_or_default()))
    });
    let (logged_in, version) = asked.unwrap_or_default();
    match logged_in {
        Some(true) => Finding::ok("gh", format!("{version}, logged in")),
        Some(false) => Finding::failed(
            "gh",
            format!("{version}, not logged in"),
            "run `gh auth login`",
        ),
        None => Finding::failed(
            "gh",
            "not found, but the remote is at GitHub",
            "install GitHub's command line, https://cli.github.com",
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::doctor::forge::*;

    #[test]
    fn github_is_known_by_its_host_in_every_spelling() {
        for yes in [
            "git@github.com:you/app.git",
            "https://github.com/you/app",
            "https://token@github.com/you/app",
            "ssh://git@ssh.github.com:443/you/app.git",
        ] {
            assert!(is_github(yes), "{yes}");
        }
        for no in [
            "../github.com/app.git",
            "https://example.org/github.com/app",
            "git@notgithub.com:you/app",
            "/srv/git/app.git",
        ] {
            assert!(!is_github(no), "{no}");
        }
    }
}
