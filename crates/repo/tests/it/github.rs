//! The real `gh` against the GitHub stand-in passes the suite of every forge.

use std::sync::Arc;

use butler_protocol::PrNumber;
use butler_repo::{Error, Forge, ForgeHosts, Git, Repo, Settings, Worktree};
use butler_testkit::{GitHub, PersonComment, ScratchRepo};

use crate::{
    forge_suite::{self, life, refusals},
    support::*,
};

struct Stage {
    scratch: ScratchRepo,
    github: GitHub,
    forge: Forge,
    worktree: Worktree,
}

impl Stage {
    fn lent(&self) -> forge_suite::Stage<'_> {
        forge_suite::Stage {
            scratch: &self.scratch,
            github: &self.github,
            forge: &self.forge,
            worktree: &self.worktree,
        }
    }
}

/// Whether the real gh is here. In CI it must be; elsewhere its tests say that
/// they did not run.
#[expect(
    clippy::print_stdout,
    reason = "a skipped test must not look like a passed one"
)]
pub(crate) fn has_gh() -> bool {
    let found = std::process::Command::new("gh")
        .arg("--version")
        .output()
        .is_ok();
    let needed = ["CI", "CODEBUTLER_REQUIRE_GH"];
    let needed = needed.iter().any(|name| std::env::var_os(name).is_some());
    assert!(found || !needed, "gh is required here: cargo xtask setup");
    if !found {
        println!("SKIPPED: no gh here; `cargo xtask setup` installs it");
    }
    found
}

/// Nothing when this machine has no `gh` and need not have it.
async fn stage() -> Option<Stage> {
    if !has_gh() {
        return None;
    }
    let scratch = ScratchRepo::new();
    let github = GitHub::serve(&scratch);
    let settings = Settings::from_variables(github.variables());
    let git = Git::with(scratch.root(), Arc::new(settings));
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    let worktree = repo.create(&thread(1), "Greet", &go()).await.unwrap();
    Some(Stage {
        scratch,
        github,
        forge,
        worktree,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn github_lives_a_whole_life() {
    let Some(stage) = stage().await else { return };
    life(&stage.scratch, &stage.forge, &stage.worktree, "0").await;
    let message = stage
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        message.starts_with("Add a greeting (#1)\n\nBetter words."),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn github_moves_what_stood_on_a_merged_branch() {
    let Some(stage) = stage().await else { return };
    let repo = stage.worktree.repo();
    crate::stacking::life(&stage.scratch, &stage.forge, repo).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_refuses_what_it_must() {
    let Some(stage) = stage().await else { return };
    refusals(&stage.scratch, &stage.forge, &stage.worktree).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_never_makes_a_second_one() {
    let Some(stage) = stage().await else { return };
    forge_suite::lost_answers(&stage.lent(), (("POST", "/pulls"), ("PUT", "/merge"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_news() {
    let Some(stage) = stage().await else { return };
    forge_suite::what_others_do_is_news(&stage.lent(), true).await;
}

/// Fifty threads with open pull requests cost one request when nothing happens, and one
/// more when something did.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_pull_requests_are_one_request() {
    let Some(stage) = stage().await else { return };
    let Stage { github, forge, .. } = &stage;
    github.open_many(50);
    let all: Vec<PrNumber> = (1..=50).map(PrNumber).collect();
    let before = github.requests();
    let first = forge.glance(&all, &go()).await.unwrap().unwrap();
    assert_eq!((first.len(), github.requests()), (50, before + 1));
    assert_eq!(forge.glance(&all, &go()).await.unwrap().unwrap(), first);
    github.say(PersonComment {
        number: 7,
        login: "ana",
        body: "Why?",
    });
    let later = forge.glance(&all, &go()).await.unwrap().unwrap();
    let moved: Vec<&PrNumber> = all
        .iter()
        .filter(|one| first[*one] != later[*one])
        .collect();
    assert_eq!(moved, [&PrNumber(7)]);
    let before = github.requests();
    let seen = forge.look(&all, &go()).await.unwrap();
    assert_eq!((seen.len(), github.requests()), (50, before + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_at_all_is_an_error_with_the_command() {
    let Some(stage) = stage().await else { return };
    let Stage { github, forge, .. } = stage;
    drop(github);
    std::fs::remove_file(stage.scratch.folder().join("github-home/gh.sock")).unwrap();
    let error = forge.list(true, &go()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Failed { command, .. } if command.starts_with("gh api")),
        "{error}"
    );
}

/// gh holds the person's token. A gh that looks around where it is started, as most of
/// its commands do, finds no repository: nothing that a command of an agent could have
/// put into a config or an attributes file is run by it.
#[tokio::test(flavor = "multi_thread")]
async fn gh_never_runs_where_a_command_could_have_written_a_config() {
    let Some(stage) = stage().await else { return };
    let folder = stage.scratch.folder();
    let (ran, seen) = (folder.join("hostile-ran"), folder.join("seen"));
    let program = folder.join("hostile.sh");
    script(&program, &format!("touch '{}'", ran.display()));
    for (root, config) in [
        (
            stage.scratch.root(),
            stage.scratch.root().join(".git/config"),
        ),
        (
            &stage.worktree.path,
            stage.scratch.root().join(".git/config"),
        ),
    ] {
        let program = program.display();
        let hostile = format!(
            "\n[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\
             [credential]\n\thelper = !{program}\n[filter \"x\"]\n\tclean = {program}\n\
             [remote \"origin\"]\n\tgh-resolved = evil/evil\n"
        );
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &hostile).unwrap();
        std::fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
    }
    // The real gh, behind one that does first what gh's other commands do.
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("gh"));
    let real = real.into_iter().find(|gh| gh.exists()).unwrap();
    script(
        &tools.join("gh"),
        &format!(
            "{{ pwd; echo \"$GH_REPO\"; git status; git add -A; git remote -v; git fetch; }} \
             >>'{}' 2>&1 </dev/null\nexec '{}' \"$@\"",
            seen.display(),
            real.display()
        ),
    );
    let mut variables = stage.github.variables();
    let first = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path)));
    variables.retain(|(name, _)| name != "PATH");
    variables.push(("PATH".into(), first.unwrap()));
    variables.push(("GH_REPO".into(), "evil/evil".into()));
    let git = Git::with(
        &stage.worktree.path,
        Arc::new(Settings::from_variables(variables)),
    );
    let repo = Repo::open_with(git).await.unwrap();
    let forge = Forge::of(&repo, &ForgeHosts::default()).await.unwrap();
    forge.list(true, &go()).await.unwrap();
    let seen = std::fs::read_to_string(seen).unwrap();
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some("/"), "{seen}");
    assert!(lines.next().unwrap().starts_with("github.com/"), "{seen}");
    assert!(seen.contains("not a git repository"), "{seen}");
    assert!(!ran.exists(), "{seen}");
}

fn script(path: &std::path::Path, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
