//! Knowledge travels without a code pull request, and our own append-only files
//! never conflict.

use std::os::unix::ffi::OsStrExt as _;

use butler_protocol::Role;
use butler_repo::{Error, Forge, Merge, OneFile, Repo};
use butler_testkit::{ScratchRepo, git};

use crate::support::*;

#[tokio::test]
async fn knowledge_has_a_branch_and_pull_request_of_its_own() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let code = repo.create(&thread(1), "x", &go()).await.unwrap();
    let hidden = repo.knowledge(&thread(1), &go()).await.unwrap();
    assert_ne!(hidden.path, code.path);
    assert_eq!(
        repo.find(&thread(1)).await.unwrap().unwrap().path,
        code.path
    );
    assert_eq!(repo.list(&go()).await.unwrap().len(), 1);
    deliver(&hidden, ".codebutler/roadmap.md", "1. one\n").await;
    let forge = Forge::local(&repo).unwrap();
    let opened = forge.create(&pull(&hidden.branch), &go()).await.unwrap();
    forge
        .merge(&Merge::of(opened.number, &opened.head), &go())
        .await
        .unwrap();
    assert!(
        scratch
            .remote_file("main", ".codebutler/roadmap.md")
            .is_some()
    );
    for _ in 0..2 {
        repo.remove_knowledge(&thread(1), &go()).await.unwrap();
        assert!(!hidden.path.exists() && code.path.exists());
    }
    repo.remove(&thread(1), &go()).await.unwrap();
}

#[tokio::test]
async fn direct_knowledge_lands_on_main_and_takes_nothing_else_along() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let hidden = repo.knowledge(&thread(1), &go()).await.unwrap();
    write(&hidden, ".codebutler/global.md", "rule\n");
    hidden
        .commit_all(Role::Lead, "learn", &[], &go())
        .await
        .unwrap();
    scratch.push_to_main("meanwhile.txt", "x");
    let landed = hidden.land_knowledge(&go()).await.unwrap();
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), landed.as_str());
    assert_eq!(hidden.land_knowledge(&go()).await.unwrap(), landed);
    write(&hidden, "code.rs", "fn main() {}");
    hidden
        .commit_all(Role::Lead, "sneak", &[], &go())
        .await
        .unwrap();
    let refused = hidden.land_knowledge(&go()).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert_eq!(scratch.remote_git(&["rev-parse", "main"]), landed.as_str());
}

#[tokio::test]
async fn both_sides_of_an_append_only_file_are_kept() {
    let scratch = ScratchRepo::new();
    let journal = ".codebutler/journals/thread.md";
    let repo = open(&scratch).await;
    let here = repo.create(&thread(1), "x", &go()).await.unwrap();
    deliver(&here, journal, "start\n").await;
    let there = Repo::open(scratch.clone_as("other").root()).await.unwrap();
    let there = there.find(&thread(1)).await.unwrap().unwrap();
    deliver(&there, journal, "start\ntheirs\n").await;
    deliver(&here, journal, "start\nours\n").await;
    let text = read(&here, journal);
    assert!(
        text.contains("start\n") && text.contains("theirs\n") && text.contains("ours\n"),
        "{text}"
    );
    assert!(!text.contains("<<<"), "{text}");
    let forecast = repo
        .forecast(std::slice::from_ref(&here.branch), &go())
        .await
        .unwrap();
    assert!(forecast.stale.is_empty());
}

const fn roadmap(key: &str) -> OneFile<'_> {
    OneFile {
        name: "roadmap.md",
        message: "roadmap: more",
        key,
        role: Role::Pm,
    }
}

/// Adds a line, whatever is there.
fn one_more(before: Option<&str>) -> Option<String> {
    Some(format!("{}one more\n", before.unwrap_or_default()))
}

#[tokio::test]
async fn one_file_is_changed_once_and_everything_else_stays() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let root = scratch.root();
    // Names that are no text, a link and a program stay what they are.
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(root.join(odd), "x").unwrap();
    std::fs::create_dir_all(root.join(".codebutler/skills")).unwrap();
    std::fs::write(root.join(".codebutler/skills/a.md"), "a").unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
    git(root, &["add", "--all", "--force"]);
    git(root, &["commit", "--quiet", "--message", "odd"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    let head = git(root, &["rev-parse", "HEAD"]);
    let all = || scratch.remote_git(&["ls-tree", "-r", "--full-tree", "main"]);
    let before = all();
    for _ in 0..2 {
        let made = repo
            .change_memory_file(roadmap("k1"), one_more, &go())
            .await;
        assert!(made.unwrap().is_some());
    }
    scratch.push_to_main("meanwhile.txt", "x");
    let refused = repo
        .change_memory_file(roadmap("k2"), |_| None, &go())
        .await;
    assert!(refused.unwrap().is_none());
    let file = scratch
        .remote_file("main", ".codebutler/roadmap.md")
        .unwrap();
    assert_eq!(file.trim(), "one more");
    let after = all();
    for line in before.lines() {
        assert!(after.contains(line), "{line} in {after}");
    }
    assert_eq!(
        git(root, &["rev-parse", "HEAD"]),
        head,
        "nobody's checkout moves"
    );
    let read = repo.memory_file("roadmap.md", &go()).await.unwrap();
    assert_eq!(read.as_deref(), Some("one more\n"));
}

#[tokio::test]
async fn changes_at_the_same_time_all_land() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let keys = ["a1", "b2", "c3"];
    let all = keys.map(|key| {
        let repo = &repo;
        async move { repo.change_memory_file(roadmap(key), one_more, &go()).await }
    });
    for made in futures_util::future::join_all(all).await {
        assert!(made.unwrap().is_some());
    }
    let file = scratch
        .remote_file("main", ".codebutler/roadmap.md")
        .unwrap();
    assert_eq!(file.lines().count(), 3, "{file}");
}

#[tokio::test]
async fn a_link_in_the_files_place_is_refused() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let root = scratch.root();
    std::fs::create_dir_all(root.join(".codebutler")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join(".codebutler/roadmap.md")).unwrap();
    git(root, &["add", "--all", "--force"]);
    git(root, &["commit", "--quiet", "--message", "a link"]);
    git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    let refused = repo.change_memory_file(roadmap("k"), one_more, &go()).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert!(repo.memory_file("roadmap.md", &go()).await.is_err());
}
