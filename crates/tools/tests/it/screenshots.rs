//! Pictures of pages by a real browser in the sandbox.

use butler_policy::Judgement;
use butler_protocol::{Image, Role, ToolOutcome};
use serde_json::{Value, json};

use crate::fixture::{Fixture, call};

/// A thread with a place for its files.
fn fixture() -> (Fixture, tempfile::TempDir) {
    let beside = tempfile::tempdir().unwrap();
    let folder = beside
        .path()
        .canonicalize()
        .unwrap()
        .join("attached/abc234");
    let change = |around: &mut butler_tools::Surroundings| around.attached = Some(folder);
    (Fixture::sandboxed_with(change), beside)
}

async fn shoot(fixture: &Fixture, input: Value) -> ToolOutcome {
    fixture.call("Screenshot", input).await
}

fn picture(outcome: &ToolOutcome) -> &Image {
    assert!(outcome.ok, "{}", outcome.text);
    &outcome.images[0]
}

/// A page that says by its height whether it could read what it must not.
const PAGE: &str = "<body style='margin:0;background:#0a7'><h1>Notes</h1>";

#[tokio::test]
async fn a_page_of_the_worktree_is_seen_and_kept_with_the_threads_files() {
    let (fixture, beside) = fixture();
    fixture.write("site/index.html", PAGE);
    let input = json!({"page": "site/index.html", "width": 390, "height": 300});
    let taken = shoot(&fixture, input).await;
    assert_eq!(picture(&taken).media_type, "image/png");
    assert!(taken.text.contains("390×300"), "{}", taken.text);
    let path = taken.text.rsplit_once("kept as ").unwrap().1;
    let kept = std::fs::read(path).unwrap();
    assert_eq!(*picture(&taken), Image::new("image/png", &kept));
    // Nothing of it is left anywhere else.
    let left: Vec<_> = std::fs::read_dir(beside.path().join("attached"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with(".picture"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(
        std::fs::read_dir(fixture.root.join("site"))
            .unwrap()
            .count(),
        1
    );
}

#[tokio::test]
async fn a_server_of_the_worktree_is_started_in_the_same_cell() {
    let (fixture, _beside) = fixture();
    fixture.write("index.html", PAGE);
    let page = "http://127.0.0.1:8123/index.html";
    let served = json!({"page": page, "serve": "python3 -m http.server 8123 --bind 127.0.0.1",
        "width": 400, "height": 300});
    let served = shoot(&fixture, served).await;
    let file = shoot(
        &fixture,
        json!({"page": "index.html", "width": 400, "height": 300}),
    )
    .await;
    assert_eq!(picture(&served), picture(&file));
    let broken = json!({"page": page, "serve": "echo no such port; exit 7"});
    let broken = shoot(&fixture, broken).await;
    assert!(
        !broken.ok && broken.text.contains("no such port"),
        "{}",
        broken.text
    );
    let abroad = json!({"page": "http://example.org/", "serve": "sleep 9"});
    let abroad = shoot(&fixture, abroad).await;
    assert!(
        abroad.text.contains("not on this machine"),
        "{}",
        abroad.text
    );
}

#[tokio::test]
async fn what_the_cell_leaves_is_a_picture_or_nothing() {
    let (fixture, beside) = fixture();
    let secret = fixture.outside("secret.png", "hush");
    // The server looks for the folder of the picture and puts a link where it will be.
    let serve = format!(
        "for d in {}/attached/.picture-*; do ln -sf {} $d/picture.png; chmod 500 $d; done; sleep 1; exit 1",
        beside.path().display(),
        secret.display()
    );
    let taken = json!({"page": "http://127.0.0.1:8124/", "serve": serve});
    let taken = shoot(&fixture, taken).await;
    assert!(!taken.ok && taken.images.is_empty(), "{}", taken.text);
    assert!(!taken.text.contains("hush"), "{}", taken.text);
    let missing = shoot(&fixture, json!({"page": "../secret.png"})).await;
    assert!(!missing.ok, "{}", missing.text);
}

#[test]
fn what_serves_a_page_is_judged_like_a_command() {
    let fixture = Fixture::new();
    let judge = |role, input| fixture.judge(role, &call("Screenshot", input));
    let page = json!({"page": "index.html"});
    let serves = |command| json!({"page": "http://127.0.0.1:1/", "serve": command});
    for role in [Role::Coder, Role::Reviewer, Role::Artist] {
        assert!(
            matches!(judge(role, page.clone()), Judgement::Run(_)),
            "{role}"
        );
    }
    for role in [Role::Pm, Role::Researcher, Role::Lead] {
        assert!(
            matches!(judge(role, page.clone()), Judgement::Refuse(_)),
            "{role}"
        );
    }
    let deletes = serves("rm -rf /etc/x; python3 -m http.server 1");
    assert!(matches!(judge(Role::Coder, deletes), Judgement::Ask(_)));
    let plain = || serves("python3 -m http.server 1");
    assert!(matches!(judge(Role::Coder, plain()), Judgement::Run(_)));
    assert!(matches!(judge(Role::Reviewer, plain()), Judgement::Run(_)));
    assert!(matches!(judge(Role::Artist, plain()), Judgement::Refuse(_)));
    let network = serves("curl https://example.org");
    assert!(matches!(judge(Role::Coder, network), Judgement::Refuse(_)));
}
