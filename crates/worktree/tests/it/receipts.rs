//! The tree of the working files and the tree of their commit are one number.

use butler_testkit::{ScratchRepo, git};
use butler_vocab::Role;
use butler_worktree::tree_of;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::support::*;

#[tokio::test]
async fn journals_do_not_change_the_tree_and_code_does() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let start = worktree.tree().await.unwrap();
    assert_eq!(tree_of(worktree.git(), "HEAD").await.unwrap(), start);
    write(&worktree, ".codebutler/journals/t.md", "story");
    assert_eq!(worktree.tree().await.unwrap(), start);
    write(&worktree, "new.txt", "x");
    let changed = worktree.tree().await.unwrap();
    assert_ne!(changed, start);
    assert_eq!(worktree.status(&go()).await.unwrap().changes.len(), 2);
    assert_eq!(
        git(&worktree.path, &["diff", "--cached", "--name-only"]),
        "",
        "the index is untouched"
    );
    let commit = worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(tree_of(repo.git(), commit.as_str()).await.unwrap(), changed);
    assert_eq!(worktree.tree().await.unwrap(), changed);
}

#[tokio::test]
async fn a_change_of_equal_length_in_the_same_instant_is_seen() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    for round in 0..20 {
        write(&worktree, "a.txt", &format!("{round:03}"));
        worktree
            .commit_all(Role::Coder, "x", &[], &go())
            .await
            .unwrap()
            .unwrap();
        let before = worktree.tree().await.unwrap();
        write(&worktree, "a.txt", &format!("{:03}", 900 - round));
        assert_ne!(worktree.tree().await.unwrap(), before, "round {round}");
    }
}

#[test]
fn whatever_was_done_to_the_files_the_commit_has_their_tree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scratch = ScratchRepo::new();
    let worktree = runtime.block_on(async {
        let repo = open(&scratch).await;
        repo.create(&thread(1), "x", &go()).await.unwrap()
    });
    let steps = prop::collection::vec(("[a-c](/[a-c]){0,2}", prop::option::of(".{0,8}")), 1..6);
    let mut runner = TestRunner::new(Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&steps, |steps| {
            for (path, text) in steps {
                let path = worktree.path.join(path);
                for place in path.ancestors().take_while(|p| *p != worktree.path) {
                    if place.is_file() {
                        std::fs::remove_file(place).unwrap();
                    }
                }
                let _ = std::fs::remove_dir_all(&path);
                if let Some(text) = text {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(&path, text).unwrap();
                }
            }
            runtime.block_on(async {
                let before = worktree.tree().await.unwrap();
                worktree
                    .commit_all(Role::Coder, "x", &[], &go())
                    .await
                    .unwrap();
                assert_eq!(tree_of(worktree.git(), "HEAD").await.unwrap(), before);
                assert!(worktree.status(&go()).await.unwrap().is_clean());
            });
            Ok(())
        })
        .unwrap();
}
