//! The real `gh` against the GitHub stand-in passes the suite of every forge.

use std::sync::Arc;

use butler_repo::{
    Author, CheckState, Edit, Error, Forge, Git, GitHubForge, PullEvent, PullState, Repo, Seen,
    Settings, Worktree, forge_of, news,
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
    forge: GitHubForge,
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
    let forge = GitHubForge::of(&repo).unwrap();
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
        matches!(forge_of(repo), Ok(chosen) if chosen.list(true, &go()).await.unwrap().is_empty())
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
