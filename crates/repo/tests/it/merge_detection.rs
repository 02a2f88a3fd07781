//! After a squash git says "not merged"; we say how we know that it is.

use butler_repo::{Forge, Merge, Merged};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

#[tokio::test]
async fn a_squashed_branch_is_recognised_and_later_work_is_not_lost() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "1\n").await;
    deliver(&worktree, "a.txt", "2\n").await;
    let head = worktree.head().await.unwrap();
    assert_eq!(repo.merged(&head, None, &go()).await.unwrap(), None);
    let forge = Forge::local(&repo).unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    assert_eq!(
        repo.merged(&head, Some(&opened), &go()).await.unwrap(),
        None
    );
    forge
        .merge(&Merge::of(opened.number, &head), &go())
        .await
        .unwrap();
    let merged = forge.view(opened.number, &go()).await.unwrap();
    assert_eq!(
        repo.merged(&head, Some(&merged), &go()).await.unwrap(),
        Some(Merged::ByPull)
    );
    assert_eq!(
        repo.merged(&head, None, &go()).await.unwrap(),
        Some(Merged::ByContent)
    );
    // Main goes on and takes the lines away again: still recognised by its patch.
    scratch.push_to_main("a.txt", "2\nmore\n");
    scratch.push_to_main("a.txt", "2\n");
    repo.fetch(&go()).await.unwrap();
    git(scratch.root(), &["cherry", "origin/main", head.as_str()]);
    assert!(repo.merged(&head, None, &go()).await.unwrap().is_some());
    scratch.push_to_main("a.txt", "rewritten\n");
    repo.fetch(&go()).await.unwrap();
    assert_eq!(
        repo.merged(&head, None, &go()).await.unwrap(),
        Some(Merged::ByPatch)
    );
    let base = repo.resolve("origin/main").await.unwrap().unwrap();
    assert_eq!(
        repo.merged(&base, None, &go()).await.unwrap(),
        Some(Merged::ByHistory)
    );
    write(&worktree, "later.txt", "later");
    let later = worktree
        .commit_all(butler_protocol::Role::Coder, "later", &[], &go())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        repo.merged(&later, Some(&merged), &go()).await.unwrap(),
        None
    );
}

/// Asked after a crash in the middle of the clean-up: a branch that is half gone
/// must not be made again for the answer.
#[tokio::test]
async fn what_a_merge_changed_is_known_without_its_branch() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "1\n").await;
    deliver(&worktree, "dir/b c.txt", "2\n").await;
    let head = worktree.head().await.unwrap();
    let forge = Forge::local(&repo).unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    let merged = forge
        .merge(&Merge::of(opened.number, &head), &go())
        .await
        .unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
    let expected = ["a.txt", "dir/b c.txt"].map(std::path::PathBuf::from);
    assert_eq!(repo.files_of(&merged, &go()).await.unwrap(), expected);
    assert_eq!(scratch.remote_branches(), ["main"]);
    // A service merged it: the commit is on the remote, and not here yet.
    scratch.push_to_main("c.txt", "3\n");
    let theirs = scratch.remote_git(&["rev-parse", "main"]);
    let theirs = butler_protocol::CommitSha::new(theirs.trim());
    let expected = [std::path::PathBuf::from("c.txt")];
    assert_eq!(repo.files_of(&theirs, &go()).await.unwrap(), expected);
}
