//! A branch on a branch: what it changes is its own, and when the one below is
//! merged it goes to the default branch without carrying that along.

use butler_protocol::BranchName;
use butler_repo::{DiffOf, Forge, NewPull, PullState, Repo, Worktree, tree_of};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

/// Two branches, the second on the first, both changing the same lines.
async fn two(scratch: &ScratchRepo, repo: &Repo) -> (Worktree, Worktree) {
    scratch.push_to_main("list.txt", LINES);
    let below = repo.create(&thread(3), "below", &go()).await.unwrap();
    let text = LINES.replace("two", "two by the first");
    deliver(&below, "list.txt", &text).await;
    repo.stack(&thread(2), &below.branch, &go()).await.unwrap();
    let above = repo.create(&thread(2), "above", &go()).await.unwrap();
    assert_eq!(read(&above, "list.txt"), text, "it begins on the first");
    deliver(
        &above,
        "list.txt",
        &text.replace("first", "first, then the second"),
    )
    .await;
    (below, above)
}

fn on(base: &BranchName, branch: &BranchName) -> NewPull {
    NewPull {
        base: Some(base.clone()),
        ..pull(branch)
    }
}

/// The life of a stack on any forge.
pub(crate) async fn life(scratch: &ScratchRepo, forge: &Forge, repo: &Repo) {
    let (below, above) = two(scratch, repo).await;
    let first = forge.create(&pull(&below.branch), &go()).await.unwrap();
    let second = forge.create(&on(&below.branch, &above.branch), &go()).await;
    let second = second.unwrap();
    assert_eq!(second.base, below.branch);
    let diff = forge.diff(second.number, &go()).await.unwrap();
    assert!(
        !diff.contains("-two\n") && diff.contains("+two by the first, then"),
        "{diff}"
    );
    for _ in 0..2 {
        forge
            .merge(&butler_repo::Merge::of(first.number, &first.head), &go())
            .await
            .unwrap();
    }
    let now = forge.view(second.number, &go()).await.unwrap();
    assert_eq!((now.base.as_str(), &now.state), ("main", &PullState::Open));
    let reviewed = tree_of(repo.git(), second.head.as_str()).await.unwrap();
    let head = above.unstack(&go()).await.unwrap();
    assert_ne!(head, second.head);
    assert_eq!(tree_of(repo.git(), head.as_str()).await.unwrap(), reviewed);
    forge
        .merge(&butler_repo::Merge::of(second.number, &head), &go())
        .await
        .unwrap();
    let text = scratch.remote_file("main", "list.txt").unwrap();
    assert_eq!(
        text,
        LINES.replace("two", "two by the first, then the second")
    );
    let log = scratch.remote_git(&["log", "--format=%s", "-3", "main"]);
    assert_eq!(log.matches("Add a greeting").count(), 2, "{log}");
}

#[tokio::test]
async fn what_stood_on_a_merged_branch_stands_on_the_default_branch() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    life(&scratch, &Forge::local(&repo).unwrap(), &repo).await;
}

#[tokio::test]
async fn a_stacked_branch_counts_only_its_own_work_until_and_after_it_moves() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (below, above) = two(&scratch, &repo).await;
    let own = |diff: &str| !diff.contains("-two\n") && diff.contains("+two by the first, then");
    let diff = above.diff(DiffOf::Thread, &go()).await.unwrap();
    assert!(own(&diff), "{diff}");
    let head = above.head().await.unwrap();
    let changes = repo.changes_of(&thread(2), &head, &go()).await.unwrap();
    assert_eq!(changes.files[0].lines, Some((1, 1)), "{changes:?}");
    let stack = above.stacked(&go()).await.unwrap().unwrap();
    assert_eq!(
        (&stack.branch, &stack.at),
        (&below.branch, &below.head().await.unwrap())
    );
    // The default branch moves, and the one below is squashed onto it.
    scratch.push_to_main("meanwhile.txt", "meanwhile");
    let forge = Forge::local(&repo).unwrap();
    let first = forge.create(&pull(&below.branch), &go()).await.unwrap();
    forge
        .merge(&butler_repo::Merge::of(first.number, &first.head), &go())
        .await
        .unwrap();
    let moved = above.unstack(&go()).await.unwrap();
    assert_eq!(above.stacked(&go()).await.unwrap(), None);
    let diff = above.diff(DiffOf::Thread, &go()).await.unwrap();
    assert!(own(&diff), "{diff}");
    assert_eq!(above.unstack(&go()).await.unwrap(), moved, "once");
    // Killed between the move and the push: the old tip is still on the remote.
    let name = format!("{head}:refs/heads/{}", above.branch);
    git(
        &above.path,
        &["push", "--quiet", "--force", "origin", &name],
    );
    assert_eq!(above.push(&go()).await.unwrap(), moved);
    let there = scratch.remote_git(&["rev-parse", above.branch.as_str()]);
    assert_eq!(there.trim(), moved.as_str());
    repo.remove(&thread(2), &go()).await.unwrap();
    assert_eq!(repo.begun_on(&thread(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_conflict_of_a_stacked_branch_is_only_about_what_it_did_itself() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (below, above) = two(&scratch, &repo).await;
    let forge = Forge::local(&repo).unwrap();
    deliver(&above, "other.txt", "ours\n").await;
    scratch.push_to_main("other.txt", "theirs\n");
    let first = forge.create(&pull(&below.branch), &go()).await.unwrap();
    forge
        .merge(&butler_repo::Merge::of(first.number, &first.head), &go())
        .await
        .unwrap();
    let refused = above.unstack(&go()).await;
    assert!(
        matches!(refused, Err(butler_repo::Error::Conflict { .. })),
        "{refused:?}"
    );
    for _ in 0..2 {
        let files = above.merge_default(&go()).await.unwrap();
        assert_eq!(files, [std::path::PathBuf::from("other.txt")]);
    }
    assert!(read(&above, "list.txt").contains("then the second"));
    assert!(!read(&above, "list.txt").contains("<<<<"));
}
