//! Many at once. The full sizes take minutes and run at night.

use std::sync::Arc;

use butler_protocol::Role;
use butler_repo::{Error, Repo, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

async fn one_life(root: Arc<std::path::PathBuf>, n: u32) {
    let repo = Repo::open(&root).await.unwrap();
    let worktree = repo.create(&thread(n), "Parallel", &go()).await.unwrap();
    write(&worktree, &format!("{n}.txt"), "x");
    worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap()
        .unwrap();
    worktree.push(&go()).await.unwrap();
    repo.remove(&thread(n), &go()).await.unwrap();
    assert!(!worktree.path.exists());
}

async fn many_lives(rounds: u32) {
    let scratch = ScratchRepo::new();
    let root = Arc::new(scratch.root().to_owned());
    for round in 0..rounds {
        let all: Vec<_> = (0..16)
            .map(|n| tokio::spawn(one_life(Arc::clone(&root), round * 100 + n)))
            .collect();
        for one in all {
            one.await.unwrap();
        }
    }
    assert_eq!(scratch.remote_branches().len() as u32, rounds * 16 + 1);
    assert_eq!(
        git(scratch.root(), &["worktree", "list"]).lines().count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_worktrees_live_side_by_side() {
    many_lives(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_worktrees_live_side_by_side_twenty_times() {
    if nightly() {
        many_lives(20).await;
    }
}

async fn push_many(worktree: Worktree, name: &'static str, count: u32) {
    for n in 0..count {
        write(&worktree, &format!("{name}/{n}.txt"), name);
        worktree
            .commit_all(Role::Coder, &format!("{name} {n}"), &[], &go())
            .await
            .unwrap()
            .unwrap();
        // Being outpaced is an answer, not a failure: the caller asks again.
        while let Err(error) = worktree.push(&go()).await {
            assert!(matches!(error, Error::Outpaced { .. }), "{error}");
        }
    }
}

async fn two_clones(count: u32) {
    let scratch = ScratchRepo::new();
    let here = open(&scratch)
        .await
        .create(&thread(1), "x", &go())
        .await
        .unwrap();
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(1)).await.unwrap().unwrap();
    let a = tokio::spawn(push_many(here.clone(), "here", count));
    let b = tokio::spawn(push_many(there, "there", count));
    a.await.unwrap();
    b.await.unwrap();
    let branch = here.branch.as_str();
    assert_eq!(
        scratch.remote_git(&["rev-list", "--merges", "--count", branch]),
        "0"
    );
    let own = scratch.remote_git(&["rev-list", "--count", &format!("main..{branch}")]);
    assert_eq!(own, (2 * count).to_string());
    let files = scratch.remote_git(&["ls-tree", "-r", "--name-only", branch]);
    assert_eq!(files.lines().count() as u32, 2 * count + 1);
    assert!(here.try_lock().unwrap().is_some());
    assert!(!here.git().git_dir().unwrap().join("index.lock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clones_push_to_one_branch_and_lose_nothing() {
    two_clones(8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clones_push_two_hundred_times_and_lose_nothing() {
    if nightly() {
        two_clones(100).await;
    }
}
