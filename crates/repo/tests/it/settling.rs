//! A conflict with the default branch, laid out and settled without git; and a
//! branch that a person deleted.

use std::path::PathBuf;

use butler_protocol::Role;
use butler_repo::{Error, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

/// The same line, changed on the default branch and here.
async fn at_odds(scratch: &ScratchRepo) -> Worktree {
    let repo = open(scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, "README.md", "ours\n").await;
    let other = scratch.clone_as("other");
    std::fs::write(other.root().join("README.md"), "theirs\n").unwrap();
    std::fs::write(other.root().join("more.txt"), "more\n").unwrap();
    git(other.root(), &["add", "--all"]);
    git(other.root(), &["commit", "--quiet", "--message", "theirs"]);
    git(other.root(), &["push", "--quiet", "origin", "HEAD:main"]);
    here
}

#[tokio::test]
async fn both_sides_are_laid_out_and_the_next_commit_has_both_as_parents() {
    let scratch = ScratchRepo::new();
    let here = at_odds(&scratch).await;
    let before = here.head().await.unwrap();
    let files = here.merge_default(&go()).await.unwrap();
    assert_eq!(files, [PathBuf::from("README.md")]);
    let laid = read(&here, "README.md");
    for part in ["<<<<<<< ", "ours\n", "=======", "theirs\n", ">>>>>>> "] {
        assert!(laid.contains(part), "{part}: {laid}");
    }
    assert_eq!(
        read(&here, "more.txt"),
        "more\n",
        "what goes together is there"
    );
    assert_eq!(here.unsettled(&go()).await.unwrap(), files);
    // A repeat, as after a crash or at the next activation, keeps what was done.
    write(&here, "README.md", "ours and theirs\n");
    assert_eq!(here.merge_default(&go()).await.unwrap(), files);
    assert_eq!(read(&here, "README.md"), "ours and theirs\n");
    assert_eq!(here.unsettled(&go()).await.unwrap(), Vec::<PathBuf>::new());
    let made = here.commit_all(Role::Coder, "settled", &[], &go()).await;
    let made = made.unwrap().unwrap();
    let parents = git(&here.path, &["rev-parse", "HEAD^1", "HEAD^2"]);
    let main = scratch.remote_git(&["rev-parse", "main"]);
    assert_eq!(parents, format!("{before}\n{main}"));
    assert_eq!(here.push(&go()).await.unwrap(), made);
    assert!(here.status(&go()).await.unwrap().is_clean());
    assert!(here.merge_default(&go()).await.unwrap().is_empty());
    let diff = here.diff(butler_repo::DiffOf::Thread, &go()).await;
    assert!(
        !diff.unwrap().contains("more.txt"),
        "not the thread's change"
    );
}

#[tokio::test]
async fn work_that_is_not_committed_is_kept_and_our_whole_side_may_win() {
    let scratch = ScratchRepo::new();
    let here = at_odds(&scratch).await;
    write(&here, "draft.txt", "draft\n");
    let files = here.merge_default(&go()).await.unwrap();
    assert_eq!(files, [PathBuf::from("README.md")]);
    assert_eq!(read(&here, "draft.txt"), "draft\n");
    write(&here, "README.md", "ours\n");
    std::fs::remove_file(here.path.join("more.txt")).unwrap();
    assert_eq!(here.merge_default(&go()).await.unwrap(), files);
    assert_eq!(read(&here, "README.md"), "ours\n", "the choice stands");
    let made = here.commit_all(Role::Coder, "ours", &[], &go()).await;
    assert!(
        made.unwrap().is_some(),
        "a merge that changes no file is one"
    );
    assert!(here.merge_default(&go()).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_goes_together_by_itself_is_left_alone() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, "ours.txt", "ours\n").await;
    let before = here.head().await.unwrap();
    assert!(here.merge_default(&go()).await.unwrap().is_empty());
    assert_eq!(here.head().await.unwrap(), before);
    assert!(here.status(&go()).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_branch_that_was_deleted_on_the_remote_is_not_pushed_again() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, "ours.txt", "ours\n").await;
    let name = format!("refs/heads/{}", here.branch);
    scratch.remote_git(&["update-ref", "-d", &name]);
    repo.fetch(&go()).await.unwrap();
    write(&here, "ours.txt", "more\n");
    here.commit_all(Role::Coder, "more", &[], &go())
        .await
        .unwrap();
    let pushed = here.push(&go()).await;
    assert!(
        matches!(pushed, Err(Error::BranchGone { .. })),
        "{pushed:?}"
    );
    assert_eq!(scratch.remote_branches(), ["main"]);
    // Restored by hand, it goes on.
    let head = git(&here.path, &["rev-parse", "HEAD^"]);
    git(
        &here.path,
        &["push", "--quiet", "origin", &format!("{head}:{name}")],
    );
    assert!(here.push(&go()).await.is_ok());
}
