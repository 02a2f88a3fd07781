//! Pushing while others push.

use butler_protocol::Role;
use butler_repo::{Error, Repo};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

#[tokio::test]
async fn a_push_rebases_on_what_another_clone_pushed() {
    let scratch = ScratchRepo::new();
    let here = open(&scratch)
        .await
        .create(&thread(1), "x", &go())
        .await
        .unwrap();
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(1)).await.unwrap().unwrap();
    deliver(&there, "theirs.txt", "theirs").await;
    deliver(&here, "ours.txt", "ours").await;
    assert_eq!(read(&here, "theirs.txt"), "theirs");
    let merges = git(&here.path, &["rev-list", "--merges", "--count", "HEAD"]);
    assert_eq!(merges, "0");
    assert_eq!(
        scratch
            .remote_file(here.branch.as_str(), "ours.txt")
            .as_deref(),
        Some("ours")
    );
    // A repeat changes nothing.
    let head = here.head().await.unwrap();
    assert_eq!(here.push(&go()).await.unwrap(), head);
}

#[tokio::test]
async fn a_conflict_names_its_files_and_leaves_everything_as_it_was() {
    let scratch = ScratchRepo::new();
    let here = open(&scratch)
        .await
        .create(&thread(1), "x", &go())
        .await
        .unwrap();
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(1)).await.unwrap().unwrap();
    deliver(&there, "README.md", "theirs\n").await;
    write(&here, "README.md", "ours\n");
    let ours = here
        .commit_all(Role::Coder, "ours", &[], &go())
        .await
        .unwrap()
        .unwrap();
    let Err(Error::Conflict { files, .. }) = here.push(&go()).await else {
        panic!("a conflict was expected");
    };
    assert_eq!(files, [std::path::PathBuf::from("README.md")]);
    assert_eq!(here.head().await.unwrap(), ours);
    assert_eq!(read(&here, "README.md"), "ours\n");
    assert!(here.status(&go()).await.unwrap().is_clean());
    assert_eq!(
        scratch
            .remote_file(here.branch.as_str(), "README.md")
            .as_deref(),
        Some("theirs\n")
    );
}

#[tokio::test]
async fn a_rebase_on_the_default_branch_keeps_the_old_tip_and_never_overwrites_others() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, "ours.txt", "ours").await;
    let old = here.head().await.unwrap();
    scratch.push_to_main("main.txt", "main");
    let new = here.rebase_on_default(&go()).await.unwrap();
    assert_ne!(new, old);
    assert_eq!(read(&here, "main.txt"), "main");
    assert_eq!(
        scratch.remote_git(&["rev-parse", here.branch.as_str()]),
        new.as_str()
    );
    let saved = repo.saved(&thread(1).short(), &go()).await.unwrap();
    assert_eq!(saved.len(), 1);
    git(
        scratch.root(),
        &[
            "merge-base",
            "--is-ancestor",
            old.as_str(),
            saved[0].commit.as_str(),
        ],
    );
    assert_eq!(here.rebase_on_default(&go()).await.unwrap(), new);
}

#[tokio::test]
async fn a_rebase_that_was_killed_before_its_push_is_pushed_and_copies_nothing() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, "ours.txt", "ours").await;
    scratch.push_to_main("main.txt", "main");
    repo.fetch(&go()).await.unwrap();
    git(&here.path, &["rebase", "--quiet", "origin/main"]);
    let head = here.head().await.unwrap();
    assert_eq!(here.push(&go()).await.unwrap(), head);
    let branch = here.branch.as_str();
    assert_eq!(
        scratch.remote_git(&["rev-list", "--count", &format!("main..{branch}")]),
        "1"
    );
    assert_eq!(
        repo.saved(&thread(1).short(), &go()).await.unwrap().len(),
        1
    );

    // The same, but somebody added to the branch meanwhile: that must not go.
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(1)).await.unwrap().unwrap();
    deliver(&there, "theirs.txt", "theirs").await;
    scratch.push_to_main("main.txt", "more");
    repo.fetch(&go()).await.unwrap();
    git(&here.path, &["rebase", "--quiet", "origin/main"]);
    here.push(&go()).await.unwrap();
    assert_eq!(
        scratch.remote_file(branch, "theirs.txt").as_deref(),
        Some("theirs")
    );
    assert_eq!(
        scratch.remote_file(branch, "ours.txt").as_deref(),
        Some("ours")
    );
}

/// What others merged meanwhile is not what the branch changed since.
#[tokio::test]
async fn what_changed_since_leaves_out_what_came_from_the_default_branch() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "mine.txt", "one\n").await;
    let before = worktree.head().await.unwrap();
    deliver(&worktree, "mine.txt", "one\ntwo\n").await;
    let plain = repo
        .changed_since(&before, &worktree.head().await.unwrap(), &go())
        .await
        .unwrap();
    assert!(plain.contains("+two") && !plain.contains("+one"), "{plain}");

    scratch.push_to_main("theirs.txt", "theirs\n");
    repo.fetch(&go()).await.unwrap();
    worktree.rebase_on_default(&go()).await.unwrap();
    let head = worktree.head().await.unwrap();
    let since = repo.changed_since(&before, &head, &go()).await.unwrap();
    assert!(since.contains("+two"), "{since}");
    assert!(
        !since.contains("theirs") && !since.contains("+one"),
        "{since}"
    );
    let same = repo.changed_since(&head, &head, &go()).await.unwrap();
    assert_eq!(same, "");

    let tree = repo.tree_in(&worktree.path, &go()).await.unwrap();
    assert_eq!(tree, worktree.tree().await.unwrap());
}
