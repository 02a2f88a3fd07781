//! A quiet thread's worktree goes to sleep and wakes as it was.

use std::{os::unix::fs::PermissionsExt, path::Path, process::Command};

use butler_protocol::{FAULT_VARIABLE, Role, on_fault};
use butler_repo::{Error, Forge, Merge, Repo, Worktree};
use butler_testkit::{ScratchRepo, git};

use crate::{crashes::die, support::*};

const ROOT: &str = "CODEBUTLER_TEST_SLEEP";

async fn commit(worktree: &Worktree, message: &str) {
    let made = worktree.commit_all(Role::Coder, message, &[], &go()).await;
    made.unwrap().unwrap();
}

/// A worktree with something of every kind, and what git says about it.
async fn lived_in(repo: &Repo) -> (Worktree, String) {
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, ".gitignore", "*.env\nnode_modules/\n");
    deliver(&worktree, "kept.txt", "kept\n").await;
    write(&worktree, "unpushed.txt", "1\n");
    commit(&worktree, "unpushed").await;
    write(&worktree, "kept.txt", "changed\n");
    write(&worktree, "staged.txt", "staged\n");
    git(&worktree.path, &["add", "staged.txt"]);
    write(&worktree, "staged.txt", "changed after staging\n");
    write(&worktree, "new/untracked.txt", "untracked\n");
    std::fs::remove_file(worktree.path.join("README.md")).unwrap();
    write(&worktree, "local.env", "A=1\n");
    write(&worktree, "node_modules/bin/tool", "#!/bin/sh\n");
    let tool = worktree.path.join("node_modules/bin/tool");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = git(&worktree.path, &["status", "--porcelain", "--ignored"]);
    (worktree, said)
}

fn is_as_it_was(worktree: &Worktree, said: &str) {
    let now = git(&worktree.path, &["status", "--porcelain", "--ignored"]);
    assert_eq!(now, said);
    for (file, text) in [
        ("kept.txt", "changed\n"),
        ("staged.txt", "changed after staging\n"),
        ("unpushed.txt", "1\n"),
        ("new/untracked.txt", "untracked\n"),
        ("local.env", "A=1\n"),
    ] {
        assert_eq!(read(worktree, file), text, "{file}");
    }
    assert_eq!(git(&worktree.path, &["show", ":staged.txt"]), "staged");
    let tool = std::fs::metadata(worktree.path.join("node_modules/bin/tool")).unwrap();
    assert_eq!(tool.permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn everything_comes_back_when_the_thread_is_needed_again() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (worktree, said) = lived_in(&repo).await;
    let head = worktree.head().await.unwrap();
    for _ in 0..2 {
        assert!(repo.hibernate(&thread(1), &go()).await.unwrap());
        assert!(!worktree.path.exists());
        assert!(!repo.hibernate(&thread(1), &go()).await.unwrap());
        assert_eq!(repo.reconcile(&go()).await.unwrap(), []);
        let back = repo.find(&thread(1)).await.unwrap().unwrap();
        assert_eq!(
            (&back.path, &back.branch),
            (&worktree.path, &worktree.branch)
        );
        assert_eq!(back.head().await.unwrap(), head);
        is_as_it_was(&back, &said);
    }
    assert!(!repo.hibernate(&thread(2), &go()).await.unwrap());
}

#[tokio::test]
async fn a_worktree_in_use_is_not_put_to_sleep() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (worktree, said) = lived_in(&repo).await;
    let lock = worktree.lock().await.unwrap();
    let error = repo.hibernate(&thread(1), &go()).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    drop(lock);
    is_as_it_was(&worktree, &said);
}

#[tokio::test]
async fn a_half_finished_rebase_is_continued_after_the_sleep() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    write(&worktree, "README.md", "ours\n");
    commit(&worktree, "ours").await;
    scratch.push_to_main("README.md", "theirs\n");
    repo.fetch(&go()).await.unwrap();
    let rebase = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&worktree.path);
        command.args(["-c", "user.name=you", "-c", "user.email=y@z"]);
        command.args(["-c", "core.editor=true", "rebase"]);
        command.args(args).output().unwrap().status.success()
    };
    assert!(!rebase(&["origin/main"]));
    let said = git(&worktree.path, &["status", "--porcelain"]);

    assert!(repo.hibernate(&thread(1), &go()).await.unwrap());
    assert!(!worktree.path.exists());
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    let status = back.status(&go()).await.unwrap();
    assert_eq!(status.unfinished, Some("rebase"));
    assert_eq!(git(&back.path, &["status", "--porcelain"]), said);
    assert!(read(&back, "README.md").contains("<<<<<<<"));
    write(&back, "README.md", "both\n");
    git(&back.path, &["add", "README.md"]);
    assert!(rebase(&["--continue"]));
    assert_eq!(
        git(&back.path, &["log", "-1", "--format=%s", "HEAD"]),
        "ours"
    );
    assert_eq!(
        git(&back.path, &["symbolic-ref", "--short", "HEAD"]),
        back.branch.as_str()
    );
}

#[tokio::test]
async fn a_branch_that_moved_is_not_covered_with_older_files() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let (worktree, _) = lived_in(&repo).await;
    assert!(repo.hibernate(&thread(1), &go()).await.unwrap());
    let local = format!("refs/heads/{}", worktree.branch);
    git(scratch.root(), &["update-ref", &local, "origin/main"]);
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    // The files of the branch as it is now; what only lay beside them is back.
    assert_eq!(read(&back, "README.md"), "# scratch\n");
    assert!(!back.path.join("new/untracked.txt").exists());
    assert_eq!(read(&back, "local.env"), "A=1\n");
    let saved = repo.saved(&thread(1).short(), &go()).await.unwrap();
    let kept = format!("{}:new/untracked.txt", saved[0].commit);
    assert_eq!(git(scratch.root(), &["show", &kept]), "untracked");
}

/// Not a test of its own: goes to sleep and wakes, for the test below to kill.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the victim of the test below"]
async fn sleeper() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    on_fault(die);
    let repo = Repo::open(Path::new(&root)).await.unwrap();
    repo.hibernate(&thread(1), &go()).await.unwrap();
    repo.find(&thread(1)).await.unwrap().unwrap();
}

#[tokio::test]
async fn killed_on_the_way_to_sleep_or_back_it_wakes_as_it_was() {
    for point in [
        "repo.before-save",
        "repo.after-save",
        "repo.before-sleep",
        "repo.after-sleep",
        "repo.before-remove",
        "repo.after-remove",
        "repo.after-add",
        "repo.after-files",
        "repo.before-wake",
        "repo.after-wake",
        "repo.before-unlock",
        "repo.after-unlock",
    ] {
        let scratch = ScratchRepo::new();
        let repo = open(&scratch).await;
        let (_, said) = lived_in(&repo).await;
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["sleeping::sleeper", "--exact", "--ignored"])
            .env(ROOT, scratch.root())
            .env(FAULT_VARIABLE, point)
            .output()
            .unwrap();
        assert!(!run.status.success(), "{point} was not passed");
        repo.reconcile(&go()).await.unwrap();
        let back = repo.find(&thread(1)).await.unwrap().unwrap();
        is_as_it_was(&back, &said);
    }
}

#[tokio::test]
async fn after_a_squash_merge_nothing_is_saved_needlessly() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let forge = Forge::local(&repo).unwrap();
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&worktree, "a.txt", "1\n").await;
    deliver(&worktree, "a.txt", "2\n").await;
    let head = worktree.head().await.unwrap();
    let opened = forge.create(&pull(&worktree.branch), &go()).await.unwrap();
    forge
        .merge(&Merge::of(opened.number, &head), &go())
        .await
        .unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
    assert!(!worktree.path.exists());
    let saved = |n: u32| {
        let (repo, short) = (repo.clone(), thread(n).short());
        async move { repo.saved(&short, &go()).await.unwrap() }
    };
    assert_eq!(saved(1).await, []);

    // Work that came after the merge, or was made and taken back, is not there.
    let worktree = repo.create(&thread(2), "y", &go()).await.unwrap();
    for text in ["tried\n", "2\n"] {
        write(&worktree, "a.txt", text);
        commit(&worktree, "try").await;
    }
    let head = worktree.head().await.unwrap();
    repo.remove(&thread(2), &go()).await.unwrap();
    let kept = saved(2).await;
    assert_eq!(kept.len(), 1);
    let kept = kept[0].commit.as_str();
    git(
        scratch.root(),
        &["merge-base", "--is-ancestor", head.as_str(), kept],
    );
}

#[tokio::test]
async fn the_story_so_far_is_kept_and_told_again_when_it_went_on() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let name = format!("refs/codebutler/journals/{}", thread(1).short());
    let told = || scratch.remote_file(&name, "journal.md");
    for story in ["begun\n", "begun\n", "begun and ended\n"] {
        repo.keep_journal(&thread(1), story, &go()).await.unwrap();
        assert_eq!(told().as_deref(), Some(story));
    }
    let commits = git(scratch.root(), &["rev-list", "--count", &name]);
    assert_eq!(commits, "2", "what has not changed is not written again");
    // Another machine told it meanwhile: its words stay.
    let clone = scratch.clone_as("other");
    let other = Repo::open(clone.root()).await.unwrap();
    other
        .keep_journal(&thread(1), "elsewhere\n", &go())
        .await
        .unwrap();
    assert_eq!(told().as_deref(), Some("begun and ended\n"));
}

/// What no commit holds is kept beside the branch whenever the work rests: a folder that
/// somebody deleted comes back with it, and none of it is on the branch.
#[tokio::test]
async fn work_that_was_kept_survives_its_folder() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let worktree = repo.create(&thread(1), "x", &go()).await.unwrap();
    let keep = async |worktree: &Worktree| worktree.keep_work(Role::Coder, &go()).await.unwrap();
    let kept = || git(scratch.root(), &["for-each-ref", "refs/codebutler/work"]);
    keep(&worktree).await;
    assert_eq!(kept(), "", "nothing was written yet");
    write(&worktree, "README.md", "changed\n");
    write(&worktree, "new/file.txt", "new\n");
    write(&worktree, ".gitignore", "*.tmp\n");
    write(&worktree, "moment.tmp", "x\n");
    let head = worktree.head().await.unwrap();
    let said = git(&worktree.path, &["status", "--porcelain"]);
    keep(&worktree).await;
    let first = kept();
    keep(&worktree).await;
    assert_eq!(kept(), first, "the same is kept once");
    std::fs::remove_dir_all(&worktree.path).unwrap();
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(back.head().await.unwrap(), head, "the branch is as it was");
    assert_eq!(git(&back.path, &["status", "--porcelain"]), said);
    assert_eq!(read(&back, "new/file.txt"), "new\n");
    assert!(!back.path.join("moment.tmp").exists());
    // Once it is committed, nothing needs to be kept; what is deleted later stays deleted.
    commit(&back, "all of it").await;
    back.push(&go()).await.unwrap();
    keep(&back).await;
    assert_eq!(kept(), "");
    std::fs::remove_file(back.path.join("new/file.txt")).unwrap();
    keep(&back).await;
    std::fs::remove_dir_all(&back.path).unwrap();
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    assert!(!back.path.join("new/file.txt").exists());
    // A branch that has moved since is not covered with older files; they are saved.
    write(&back, "late.txt", "late\n");
    keep(&back).await;
    std::fs::remove_file(back.path.join("late.txt")).unwrap();
    commit(&back, "moved").await;
    back.push(&go()).await.unwrap();
    std::fs::remove_dir_all(&back.path).unwrap();
    let back = repo.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(git(&back.path, &["status", "--porcelain"]), "");
    let saved = async || {
        let saved = repo.saved(&thread(1).short(), &go()).await.unwrap();
        saved.last().map(|last| last.commit.to_string())
    };
    let shown =
        |commit: &str, file: &str| git(scratch.root(), &["show", &format!("{commit}:{file}")]);
    let first = saved().await.unwrap();
    assert_eq!(shown(&first, "late.txt"), "late");
    keep(&back).await;
    assert_eq!(kept(), "");
    // A thread that ends after its folder was deleted loses nothing either.
    write(&back, "last.txt", "last\n");
    keep(&back).await;
    std::fs::remove_dir_all(&back.path).unwrap();
    repo.remove(&thread(1), &go()).await.unwrap();
    assert_eq!(kept(), "");
    assert_eq!(shown(&saved().await.unwrap(), "last.txt"), "last");
}

/// A clone elsewhere goes on with what was shared, and the one that had it cannot take that
/// back.
#[tokio::test]
async fn what_one_clone_shared_another_one_goes_on_with() {
    let scratch = ScratchRepo::new();
    let (one, clone) = (open(&scratch).await, scratch.clone_as("other"));
    let other = Repo::open(clone.root()).await.unwrap();
    let here = one.create(&thread(1), "x", &go()).await.unwrap();
    let share = async |worktree: &Worktree| {
        worktree.keep_work(Role::Coder, &go()).await.unwrap();
        worktree.share_work(&go()).await.unwrap();
    };
    let name = format!("refs/codebutler/work/{}", thread(1).short());
    let on_remote = |file: &str| scratch.remote_file(&name, file);
    // The other clone has been here before, and has files of that time.
    let old = other.find(&thread(1)).await.unwrap().unwrap();
    write(&old, "README.md", "of an earlier time\n");
    write(&here, "README.md", "first\n");
    share(&here).await;
    write(&here, "README.md", "second\n");
    write(&here, "new.txt", "new\n");
    share(&here).await;
    assert_eq!(on_remote("README.md").as_deref(), Some("second\n"));
    other.bring_work(&thread(1), &go()).await.unwrap();
    let there = other.find(&thread(1)).await.unwrap().unwrap();
    assert_eq!(read(&there, "README.md"), "second\n");
    assert_eq!(read(&there, "new.txt"), "new\n");
    let saved = other.saved(&thread(1).short(), &go()).await.unwrap();
    let shown = format!("{}:README.md", saved.last().unwrap().commit);
    assert_eq!(git(clone.root(), &["show", &shown]), "of an earlier time");
    // It goes on; the first one wakes up and shares what it had.
    write(&there, "new.txt", "by the other\n");
    share(&there).await;
    write(&here, "new.txt", "too late\n");
    share(&here).await;
    assert_eq!(on_remote("new.txt").as_deref(), Some("by the other\n"));
    // Once it is committed, nothing is left beside the branch.
    commit(&there, "all of it").await;
    there.push(&go()).await.unwrap();
    share(&there).await;
    let left = scratch.remote_git(&["for-each-ref", "refs/codebutler/work"]);
    assert_eq!(left, "");
}
