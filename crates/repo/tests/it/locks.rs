//! One writer per worktree.

use butler_repo::{Error, Repo};
use butler_testkit::ScratchRepo;

use crate::support::*;

#[tokio::test]
async fn a_worktree_has_one_holder_whoever_asks() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let held = worktree.try_lock().unwrap().unwrap();
    let elsewhere = Repo::open(scratch.root()).await.unwrap();
    let same = elsewhere.find(&thread(1)).await.unwrap().unwrap();
    assert!(same.try_lock().unwrap().is_none());
    assert!(elsewhere.try_lock(&thread(1)).unwrap().is_none());
    assert!(elsewhere.try_lock(&thread(2)).unwrap().is_some());
    let error = elsewhere.remove(&thread(1), &go()).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    // Our own work goes on under our own lock.
    deliver(&worktree, "a.txt", "a").await;
    let waiting = tokio::spawn(async move { same.lock().await.map(drop) });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(held);
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stopped_wait_ends() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let stopped = go();
    stopped.cancel();
    let error = repo.create(&thread(1), "x", &stopped).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    repo.create(&thread(1), "x", &go()).await.unwrap();
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_at_its_deadline_with_its_children() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let git = repo.git();
    // A remote that never answers: the far end only sleeps, and holds a pipe
    // whose end we see when it dies.
    let script = scratch.folder().join("hang.sh");
    let pipe = scratch.folder().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let text = format!("#!/bin/sh\nexec sleep 600 3> '{}'\n", pipe.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let far_end = tokio::task::spawn_blocking(move || std::fs::read(&pipe).unwrap());
    let error = git
        .call(["ls-remote", "ssh://nobody.invalid/x"])
        .variable("GIT_SSH_COMMAND", &script)
        .within(std::time::Duration::from_secs(1))
        .finish()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    assert!(far_end.await.unwrap().is_empty());
}

#[tokio::test]
async fn only_so_many_do_something_heavy_at_once() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let elsewhere = Repo::open(scratch.root()).await.unwrap();
    let one = repo.one_of("heavy", 2, &go()).await.unwrap();
    let _two = elsewhere.one_of("heavy", 2, &go()).await.unwrap();
    let stop = go();
    let third = tokio::spawn(async move { elsewhere.one_of("heavy", 2, &go()).await.map(drop) });
    stop.cancel();
    let refused = repo.one_of("heavy", 2, &stop).await.unwrap_err();
    assert!(matches!(refused, Error::Cancelled { .. }), "{refused}");
    assert!(!third.is_finished());
    drop(one);
    third.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_left_out_is_no_change_in_any_worktree() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "deps/a.txt", "a");
    assert!(!worktree.status(&go()).await.unwrap().is_clean());
    let exclude = scratch.root().join(".git/info/exclude");
    std::fs::write(&exclude, "# mine").unwrap();
    for _ in 0..2 {
        repo.leave_out(&["/deps/".to_owned()], &go()).await.unwrap();
        assert!(worktree.status(&go()).await.unwrap().is_clean());
    }
    assert_eq!(
        std::fs::read_to_string(exclude).unwrap(),
        "# mine\n/deps/\n"
    );
}
