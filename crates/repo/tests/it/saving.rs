//! Nothing that is only here is ever thrown away.

use butler_protocol::Role;
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

#[tokio::test]
async fn removal_saves_uncommitted_staged_and_unpushed_work() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "unpushed.txt", "1");
    let unpushed = worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap()
        .unwrap();
    write(&worktree, "staged.txt", "staged");
    git(&worktree.path, &["add", "staged.txt"]);
    write(&worktree, "staged.txt", "changed after staging");
    write(&worktree, "untracked.txt", "2");
    repo.remove(&thread(1), &go()).await.unwrap();
    assert!(!worktree.path.exists());

    let saved = repo.saved(&thread(1).short(), &go()).await.unwrap();
    assert_eq!(saved.len(), 1);
    let show = |place: &str| {
        git(
            scratch.root(),
            &["show", &format!("{}{place}", saved[0].commit)],
        )
    };
    assert_eq!(show(":untracked.txt"), "2");
    assert_eq!(show(":staged.txt"), "changed after staging");
    assert_eq!(show("^2:staged.txt"), "staged");
    assert_eq!(
        git(
            scratch.root(),
            &["rev-parse", &format!("{}^1", saved[0].commit)]
        ),
        unpushed.as_str()
    );
}

#[tokio::test]
async fn removal_saves_a_half_finished_rebase_and_a_detached_head() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "README.md", "ours\n");
    let ours = worktree
        .commit_all(Role::Coder, "ours", &[], &go())
        .await
        .unwrap()
        .unwrap();
    scratch.push_to_main("README.md", "theirs\n");
    repo.fetch(&go()).await.unwrap();
    let path = worktree.path.to_str().unwrap();
    let rebase = std::process::Command::new("git")
        .args([
            "-C",
            path,
            "-c",
            "user.name=you",
            "-c",
            "user.email=y@z",
            "rebase",
            "origin/main",
        ])
        .output()
        .unwrap();
    assert!(!rebase.status.success());
    assert_eq!(
        worktree.status(&go()).await.unwrap().unfinished,
        Some("rebase")
    );
    repo.remove(&thread(1), &go()).await.unwrap();
    assert!(!worktree.path.exists());
    let saved = repo.saved(&thread(1).short(), &go()).await.unwrap();
    let half = git(
        scratch.root(),
        &["show", &format!("{}:README.md", saved[0].commit)],
    );
    assert!(half.contains("<<<<<<<") && half.contains("ours"), "{half}");
    for s in &saved {
        git(
            scratch.root(),
            &[
                "merge-base",
                "--is-ancestor",
                ours.as_str(),
                s.commit.as_str(),
            ],
        );
    }
}
