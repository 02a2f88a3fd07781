//! The forge that the remote lives on: what it is, and whether it lets the team in. A plain
//! repository needs none.

use std::{path::Path, time::Duration};

use butler_repo::{
    Account, Error, ForgeHosts, ForgeKind, Settings, forge_account, gh_logged_in, gh_version,
};

use crate::{
    commands::setup::doctor::{Finding, Place, git::git},
    process,
    wiring::forge_hosts,
};

/// A forge that does not answer by then is taken for away.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let Some(root) = place.repository.as_deref() else {
        return Vec::new();
    };
    let settings = place.settings.as_ref();
    let hosts = settings.map(|settings| forge_hosts(&settings.machine));
    let forge = forge(root, &hosts.unwrap_or_default());
    let findings = [forge, fork(root), signing(root)];
    findings.into_iter().flatten().collect()
}

/// The forge of a repository, by what this machine knows of forges.
pub(crate) fn forge(root: &Path, hosts: &ForgeHosts) -> Option<Finding> {
    let asked = process::run_on_one_thread(async |cancel| {
        let asking = forge_account(root, hosts, &cancel);
        Ok(tokio::time::timeout(PATIENCE, asking).await.ok())
    });
    match asked {
        Ok(Some(Ok(Some(account)))) if account.kind == ForgeKind::GitHub => Some(gh()),
        Ok(Some(Ok(Some(account)))) => Some(hosted(&account)),
        Ok(Some(Err(error))) => trouble(&error),
        Ok(None) => Some(Finding::failed(
            "forge",
            "it does not answer",
            "see whether its page opens in a browser",
        )),
        // Git itself has a word about everything else.
        Ok(Some(Ok(None))) | Err(_) => None,
    }
}

fn hosted(account: &Account) -> Finding {
    let Account {
        host, name, lacks, ..
    } = account;
    let kind = match account.kind {
        ForgeKind::GitLab => "GitLab",
        _ => "Gitea or Forgejo",
    };
    let name = name.as_deref().unwrap_or_default();
    if lacks.is_empty() {
        return Finding::ok("forge", format!("{kind} at {host}, as {name}"));
    }
    Finding::failed(
        "forge",
        format!("{name} lacks {} at {host}", lacks.join(" and ")),
        format!("give it that there, or put the token of another account at forges.{host}.token"),
    )
}

/// What the remote has to do with; a repository that cannot be opened has its own finding.
fn trouble(error: &Error) -> Option<Finding> {
    match error {
        Error::UnknownForge { host } => Some(Finding::failed(
            "forge",
            format!("nobody says which forge {host} is"),
            format!(
                "in ~/.codebutler/config.json: \"forges\": {{\"{host}\": {{\"kind\": \"gitlab\"}}}} \
                 (github, gitlab, gitea, or plain for git alone)"
            ),
        )),
        Error::Blocked { said, .. } => Some(Finding::failed(
            "forge",
            format!("it does not let us in: {said}"),
            "make a token there, and put it at forges.<host>.token in ~/.codebutler/config.json",
        )),
        Error::Unreachable { .. } | Error::Refused { .. } => Some(Finding::failed(
            "forge",
            error.to_string(),
            "see whether its address opens in a browser",
        )),
        _ => None,
    }
}

/// Pull requests go to the remote that the team pushes to, not to what it was forked from.
fn fork(root: &Path) -> Option<Finding> {
    let names = git(root, &["remote"])?;
    let has = |wanted: &str| names.lines().any(|name| name == wanted);
    (has("origin") && has("upstream")).then(|| {
        Finding::warning(
            "fork",
            "there is a remote `upstream`; pull requests are made and merged in `origin`",
            "to work on the original, clone that: the team pushes its branches where its pull requests are",
        )
    })
}

/// The team's git has no key of the person's, and starts no program that would ask for one.
fn signing(root: &Path) -> Option<Finding> {
    // The repository's own word: over the rest stands what our git is told, which never signs.
    let local = [
        "config",
        "--local",
        "--type=bool",
        "--get",
        "commit.gpgsign",
    ];
    let here = git(root, &local);
    let everywhere = process::run_on_one_thread(async |_| {
        let settings = Settings::from_process();
        Ok(settings.signs_commits().await.unwrap_or(false))
    });
    let wanted = here.map_or(everywhere.unwrap_or(false), |here| here == "true");
    wanted.then(|| {
        Finding::warning(
            "signing",
            "your commits are signed; the team's are not",
            "where the forge demands signatures, let it squash: it signs what it makes itself",
        )
    })
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
