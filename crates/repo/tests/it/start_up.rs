//! A start looks, repairs links and locks, and harms nothing.

use std::{fs, process::Command};

use butler_protocol::Role;
use butler_repo::{Odd, Repo, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

fn rebase_halfway(worktree: &Worktree) {
    let path = worktree.path.to_str().unwrap();
    let output = Command::new("git")
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
    assert!(!output.status.success());
}

/// Every file below a folder with its bytes, `.git` included.
fn everything(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(everything(&entry.path())),
            _ => all.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn whatever_state_a_worktree_is_in_every_start_leaves_it_so() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let half = repo.create(&thread(1), "half", &go()).await.unwrap();
    write(&half, "README.md", "ours\n");
    half.commit_all(Role::Coder, "ours", &[], &go())
        .await
        .unwrap();
    let dirty = repo.create(&thread(2), "dirty", &go()).await.unwrap();
    write(&dirty, "README.md", "changed\n");
    write(&dirty, "new.txt", "new");
    let loose = repo.create(&thread(3), "loose", &go()).await.unwrap();
    git(&loose.path, &["checkout", "--quiet", "--detach"]);
    git(
        &loose.path,
        &["commit", "--quiet", "--allow-empty", "-m", "on no branch"],
    );
    scratch.push_to_main("README.md", "theirs\n");
    repo.fetch(&go()).await.unwrap();
    rebase_halfway(&half);
    write(&half, "extra.txt", "untracked in a rebase");
    let stray = scratch.root().join(".codebutler/branches/stray");
    put(&stray, "file.txt", "x");

    let states = || {
        [&half, &dirty, &loose].map(|w| {
            (
                everything(&w.path),
                git(&w.path, &["status", "--porcelain"]),
                git(&w.path, &["rev-parse", "HEAD"]),
            )
        })
    };
    let before = states();
    for _ in 0..3 {
        let repo = Repo::open(scratch.root()).await.unwrap();
        let odd: Vec<_> = repo.reconcile(&go()).await.unwrap();
        let has = |worktree: &Worktree, what: Odd| {
            odd.iter()
                .any(|o| o.path == worktree.path && o.what == what)
        };
        assert!(has(&half, Odd::Unfinished("rebase")), "{odd:?}");
        assert!(has(&dirty, Odd::Uncommitted(2)), "{odd:?}");
        assert!(has(&loose, Odd::Detached), "{odd:?}");
        assert!(
            odd.iter().any(|o| o.path == stray && o.what == Odd::Stray),
            "{odd:?}"
        );
    }
    assert_eq!(states(), before);
    assert!(stray.join("file.txt").exists());
    assert_eq!(
        repo.saved(&thread(1).short(), &go()).await.unwrap().len(),
        1,
        "one copy, not one per start"
    );

    let saved = half.settle(&go()).await.unwrap();
    assert!(saved.is_some());
    assert_eq!(half.status(&go()).await.unwrap().unfinished, None);
    assert_eq!(read(&half, "README.md"), "ours\n");
    assert_eq!(read(&half, "extra.txt"), "untracked in a rebase");
    assert_eq!(half.settle(&go()).await.unwrap(), None);
}

#[tokio::test]
async fn a_moved_clone_finds_its_worktrees_again() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "a.txt", "uncommitted");
    let moved = scratch.folder().join("moved");
    fs::rename(scratch.root(), &moved).unwrap();
    let repo = Repo::open(&moved).await.unwrap();
    let again = repo.find(&thread(1)).await.unwrap().unwrap();
    assert!(again.path.starts_with(moved.canonicalize().unwrap()));
    assert_eq!(read(&again, "a.txt"), "uncommitted");
    again
        .commit_all(Role::Coder, "x", &[], &go())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn an_old_index_lock_is_moved_aside_and_a_fresh_one_is_respected() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let lock = worktree.git().git_dir().unwrap().join("index.lock");
    fs::write(&lock, "").unwrap();
    assert!(repo.reconcile(&go()).await.unwrap().is_empty());
    assert!(lock.exists());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options()
        .write(true)
        .open(&lock)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let odd = repo.reconcile(&go()).await.unwrap();
    assert_eq!(odd[0].what, Odd::StaleLock);
    assert!(!lock.exists());
}

/// `git init --bare` names `master` on many machines, and most people push `main`.
#[tokio::test]
async fn a_remote_whose_head_names_a_branch_that_nobody_pushed_still_has_a_default_branch() {
    let scratch = ScratchRepo::new();
    scratch.remote_git(&["symbolic-ref", "HEAD", "refs/heads/never-pushed"]);
    forget_head(&scratch);
    assert_eq!(open(&scratch).await.default_branch().as_str(), "main");

    // Not called main, and the only one beside our own.
    scratch.remote_git(&["branch", "--move", "main", "develop"]);
    scratch.remote_git(&["branch", "codebutler/feature-1", "develop"]);
    forget_head(&scratch);
    assert_eq!(open(&scratch).await.default_branch().as_str(), "develop");

    // Two, and nobody says which: the remedy is named.
    scratch.remote_git(&["branch", "release", "develop"]);
    forget_head(&scratch);
    let error = Repo::open(scratch.root()).await.unwrap_err().to_string();
    assert!(error.contains("git remote set-head origin"), "{error}");
}

/// A clone that was made before the first push does not know the remote's HEAD.
fn forget_head(scratch: &ScratchRepo) {
    let known = scratch.root().join(".git/refs/remotes/origin/HEAD");
    if known.exists() {
        fs::remove_file(known).unwrap();
    }
}

#[tokio::test]
async fn worktrees_of_versions_without_marks_are_marked_once_and_a_persons_own_never() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let base = repo.base(&go()).await.unwrap();
    let mark = worktree.git().git_dir().unwrap().join("codebutler");
    let git_dir = scratch.root().join(".git");
    fs::remove_file(&mark).unwrap();
    fs::remove_file(git_dir.join("worktrees/_base/codebutler")).unwrap();
    assert!(repo.list(&go()).await.unwrap().is_empty());

    // As the earlier version left it: locks and worktrees, and no marks.
    fs::remove_file(git_dir.join("codebutler/marked")).unwrap();
    assert_eq!(repo.base(&go()).await.unwrap(), base);
    let found = repo.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(found.path, worktree.path);
    assert!(mark.exists());

    // From then on what has no mark is the person's.
    let place = base.with_file_name(format!("y-{}", thread(2).short()));
    let branch = format!("codebutler/y-{}", thread(2).short());
    git(scratch.root(), &["branch", &branch, "origin/main"]);
    let args = [
        "worktree",
        "add",
        "--quiet",
        place.to_str().unwrap(),
        &branch,
    ];
    git(scratch.root(), &args);
    put(&place, "anas.txt", "untracked");
    let made = repo.create(&thread(2), "y", &go()).await.unwrap();
    assert_ne!(made.path, place);
    repo.remove(&thread(2), &go()).await.unwrap();
    assert!(place.join("anas.txt").exists() && !made.path.exists());
}
