//! A repository that asks for a sign-off gets one, and no other does.

use butler_protocol::Role;
use butler_testkit::ScratchRepo;

use crate::support::*;

#[tokio::test]
async fn commits_are_signed_off_where_the_default_branch_asks_for_it() {
    let scratch = ScratchRepo::new();
    let repo = open(&scratch).await;
    let before = repo.create(&thread(1), "Before", &go()).await.unwrap();
    write(&before, "a.txt", "a\n");
    // A branch cannot ask for itself.
    write(&before, ".github/dco.yml", "require:\n  members: true\n");
    before
        .commit_all(Role::Coder, "Add a", &key("a"), &go())
        .await
        .unwrap()
        .unwrap();
    let log = |path: &std::path::Path| butler_testkit::git(path, &["log", "-1", "--format=%B"]);
    assert!(!log(&before.path).contains("Signed-off-by"));

    scratch.push_to_main(".github/dco.yml", "require:\n  members: true\n");
    let after = repo.create(&thread(2), "After", &go()).await.unwrap();
    write(&after, "b.txt", "b\n");
    for _ in 0..2 {
        after
            .commit_all(Role::Coder, "Add b", &key("b"), &go())
            .await
            .unwrap()
            .unwrap();
    }
    let message = log(&after.path);
    let signed = "Signed-off-by: CodeButler coder <coder@codebutler.invalid>";
    assert_eq!(message.matches(signed).count(), 1, "{message}");
    assert!(message.contains("CodeButler-Key: b"), "{message}");
}
