//! Knowledge travels without a code pull request, and our own append-only files
//! never conflict.

use butler_protocol::Role;
use butler_repo::{Error, Forge, Repo};
use butler_testkit::ScratchRepo;

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
        .merge(opened.number, &opened.head, &go())
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
