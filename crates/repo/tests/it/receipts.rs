//! The tree of the working files and the tree of their commit are one number.

use butler_protocol::Role;
use butler_repo::tree_of;
use butler_testkit::{ScratchRepo, git};
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
async fn the_base_is_laid_out_with_the_tests_of_the_branch() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let base = worktree.base_commit(&go()).await.unwrap();
    write(&worktree, "code.txt", "fixed");
    write(&worktree, "tests/new.sh", "grep fixed code.txt");
    write(&worktree, "tests/[a].sh", "odd name");
    worktree
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap();
    assert_eq!(worktree.base_commit(&go()).await.unwrap(), base);
    let files = ["tests/new.sh".to_owned(), "tests/[a].sh".to_owned()];
    let trial = repo.lay_out(&base, &go()).await.unwrap();
    trial.lay_over(&worktree, &files, &go()).await.unwrap();
    let path = trial.path.clone();
    let there = |name: &str| path.join(name).exists();
    assert!(!there("code.txt") && there("tests/new.sh") && there("tests/[a].sh"));
    // Checks litter, and some are killed in the middle of it.
    std::fs::write(path.join("litter"), "x").unwrap();
    std::fs::write(path.join("tests/new.sh"), "bent").unwrap();
    std::fs::write(
        git(&path, &["rev-parse", "--git-path", "index.lock"]).trim(),
        "",
    )
    .unwrap();
    let other = {
        let repo = repo.clone();
        let base = base.clone();
        tokio::spawn(async move { repo.lay_out(&base, &go()).await })
    };
    tokio::task::yield_now().await;
    assert!(there("litter"), "whoever comes second waits");
    drop(trial);
    other.await.unwrap().unwrap();
    assert!(!there("litter") && !there("tests/new.sh"));
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
    assert!(git(repo.root(), &["for-each-ref", "refs/codebutler/saved"]).is_empty());
    assert!(repo.reconcile(&go()).await.unwrap().is_empty());
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
