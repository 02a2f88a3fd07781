//! The real `gh` against the GitHub stand-in passes the suite of every forge.

use std::sync::Arc;

use butler_repo::{
    Author, CheckState, Edit, Error, Forge, Git, PullEvent, PullState, Repo, Seen, Settings,
    Worktree, news,
};
use butler_testkit::{GitHub, PersonComment, ScratchRepo};

use crate::{
    forge_suite::{life, refusals, remark},
    support::*,
};

struct Stage {
    scratch: ScratchRepo,
    github: GitHub,
    repo: Repo,
    forge: Forge,
    worktree: Worktree,
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
    let forge = Forge::github(&repo).unwrap();
    let worktree = repo.create(&thread(1), "Greet", &go()).await.unwrap();
    Some(Stage {
        scratch,
        github,
        repo,
        forge,
        worktree,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn github_lives_a_whole_life() {
    let Some(stage) = stage().await else { return };
    life(&stage.scratch, &stage.forge, &stage.worktree).await;
    let message = stage
        .scratch
        .remote_git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        message.starts_with("Add a greeting (#1)\n\nBetter words."),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn github_refuses_what_it_must() {
    let Some(stage) = stage().await else { return };
    refusals(&stage.scratch, &stage.forge, &stage.worktree).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_never_makes_a_second_one() {
    let Some(stage) = stage().await else { return };
    let Stage {
        github,
        forge,
        worktree,
        scratch,
        ..
    } = &stage;
    deliver(worktree, "hello.txt", "hello\n").await;
    github.lose_answers(1);
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    assert_eq!(opened.number.0, 1);
    assert_eq!(github.count("POST", "/pulls"), 1);
    github.lose_answers(1);
    forge
        .comment(opened.number, &remark("once", None), &go())
        .await
        .unwrap();
    assert_eq!(
        forge
            .view(opened.number, &go())
            .await
            .unwrap()
            .comments
            .len(),
        1
    );
    github.lose_answers(2);
    let edit = Edit {
        title: Some("New".into()),
        body: None,
    };
    assert_eq!(
        forge.edit(opened.number, &edit, &go()).await.unwrap().title,
        "New"
    );
    github.lose_answers(1);
    let merged = forge
        .merge(opened.number, &opened.head, &go())
        .await
        .unwrap();
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), merged.as_str());
    assert_eq!(github.count("PUT", "/merge"), 1);
    assert!(
        !scratch
            .remote_branches()
            .contains(&worktree.branch.to_string())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn people_and_red_checks_are_news() {
    let Some(stage) = stage().await else { return };
    let Stage {
        github,
        forge,
        worktree,
        repo,
        ..
    } = &stage;
    deliver(worktree, "hello.txt", "hello\n").await;
    assert!(
        matches!(Forge::of(repo), Ok(chosen) if chosen.list(true, &go()).await.unwrap().is_empty())
    );
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    forge
        .comment(opened.number, &remark("ours", None), &go())
        .await
        .unwrap();
    github.say(PersonComment {
        number: 1,
        login: "ana",
        body: "Why?",
    });
    github.check(opened.head.as_str(), "test", "failure");
    github.check(opened.head.as_str(), "lint", "success");
    let viewed = forge.view(opened.number, &go()).await.unwrap();
    let checks = forge.checks(opened.number, &go()).await.unwrap();
    assert_eq!(checks.len(), 2);
    let mut seen = Seen::default();
    let first = news(&mut seen, &viewed, &checks);
    let [PullEvent::Comment(comment), PullEvent::CheckFailed(check)] = first.as_slice() else {
        panic!("{first:?}");
    };
    assert_eq!(
        (comment.author.clone(), comment.body.as_str()),
        (Author::Person("ana".into()), "Why?")
    );
    assert_eq!(
        (check.name.as_str(), check.state),
        ("test", CheckState::Failed)
    );
    assert!(news(&mut seen, &viewed, &checks).is_empty());
    let closed = forge.close(opened.number, &go()).await.unwrap();
    assert_eq!(
        news(&mut seen, &closed, &[]),
        [PullEvent::Ended(PullState::Closed)]
    );
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
    let forge = Forge::github(&repo).unwrap();
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
