//! What people see: asked for, designed, built, looked at by a real browser, sent back by
//! the Artist, reviewed and merged, with a picture that was drawn for it. And what all of
//! this costs where nobody needs it: nothing.

use butler_testkit::{Answers, ImageStandIn, ScratchRepo};
use serde_json::{Value, json};

use crate::{
    attached::PIXEL,
    said::{ended, place, texts},
    team::{Team, says},
};

const STORY: &str = include_str!("scenarios/surface.yaml");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_designed_drawn_seen_mended_and_merged() {
    let images = ImageStandIn::start(PIXEL).await;
    images.answer(Answers::Address, json!({"cost": 0.04}));
    let before = |root: &std::path::Path| {
        std::fs::create_dir(root.join("site")).unwrap();
        std::fs::write(root.join("site/index.html"), "<body><p>Notes</p>\n").unwrap();
        butler_testkit::git(root, &["add", "site"]);
        butler_testkit::git(root, &["commit", "--quiet", "--message", "a page"]);
        butler_testkit::git(root, &["push", "--quiet", "origin", "HEAD:main"]);
    };
    let team = Team::start_drawing(STORY, &images, before).await;
    let root = team.say("show that there are no notes").await;
    // Drawn, paid, and put before a person.
    team.press(&root, "accept").await;
    let thread = team
        .until(&root, "the plan", |thread| {
            says(thread, "Show that there are no notes")
        })
        .await;
    assert!(says(&thread, "Keep this picture?"), "{thread}");
    for words in ["one line in the middle", "artist/assets/empty-tray.png"] {
        assert!(
            says(&thread, words),
            "the plan's card has the design: {words}"
        );
    }
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    let thread = team.until(&root, "the report", ended).await;
    in_order(&thread);
    pictures(&team, &root, &thread).await;
    merged(&team.scratch);
    let asked = images.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["prompt"], "an empty tray, flat");
    assert_eq!(images.keys_at_addresses(), 0);
    let log = team.log(&root, "artist");
    let paid = log.lines().filter(|line| line.contains("-picture-"));
    let paid: Vec<&str> = paid.filter(|line| line.contains("\"settled\"")).collect();
    assert_eq!(paid.len(), 1, "{paid:?}");
    assert!(paid[0].contains("40000000"), "4 cents: {}", paid[0]);
}

fn in_order(thread: &Value) {
    let steps = [
        "How does a page without notes look?",
        "*Purpose:* tell that nothing is wrong",
        "is ready for a look at its pictures, round 1",
        "what I see in the pictures of",
        "The Artist looked at it",
        "round 1: approved",
    ];
    let places: Vec<usize> = steps.iter().map(|words| place(thread, words)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// Both looks were at pictures of before and after, which stand in the thread.
async fn pictures(team: &Team, root: &str, thread: &Value) {
    let messages = thread["messages"].as_array().unwrap();
    let shown: Vec<&Value> = messages
        .iter()
        .filter(|message| message["text"].to_string().contains("How it looks"))
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    for message in shown {
        let file = &message["files"][0];
        let name = file["name"].as_str().unwrap();
        assert_eq!(name, "1-site-index-html-390-before-after.png");
        let bytes = team.file(file["id"].as_str().unwrap()).await;
        let bytes = bytes.bytes().await.unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 1_000);
        if let Some(folder) = std::env::var_os("CODEBUTLER_SHOW_PICTURES") {
            let name = format!("{}.png", message["ts"].as_str().unwrap());
            std::fs::write(std::path::Path::new(&folder).join(name), &bytes).unwrap();
        }
    }
    let coder = team.log(root, "coder");
    assert_eq!(
        coder.matches("Screenshot\",\"description").count(),
        1,
        "offered"
    );
}

/// The page, the picture and where it comes from are on the default branch.
fn merged(scratch: &ScratchRepo) {
    let page = scratch.remote_file("main", "site/index.html").unwrap();
    assert!(page.contains("color:#111"), "{page}");
    let folder = ".codebutler/artist/assets";
    let listed = scratch.remote_git(&["ls-tree", "--name-only", &format!("main:{folder}")]);
    assert_eq!(listed.trim(), "README.md\nempty-tray.png");
    let index = scratch.remote_file("main", &format!("{folder}/README.md"));
    let index = index.unwrap();
    for part in [
        "`empty-tray.png`: made by `drawer` on 20",
        "accepted by",
        "an empty tray, flat",
    ] {
        assert!(index.contains(part), "{index}");
    }
}

/// The same change to what nobody sees: no Artist, no picture, no word about either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_pays_for_pictures_that_nobody_needs() {
    let images = ImageStandIn::start(PIXEL).await;
    let story = include_str!("scenarios/ideal_feature.yaml");
    let team = Team::start_drawing(story, &images, |_| ()).await;
    let root = team.say("add a --json flag to list").await;
    team.press(&root, "approve").await;
    team.until(&root, "the merge card", |thread| {
        says(thread, "Ready to merge")
    })
    .await;
    assert!(images.asked().is_empty());
    assert_eq!(team.log(&root, "artist"), "");
    for role in ["pm", "coder", "reviewer", "lead"] {
        let log = team.log(&root, role);
        let offered = log.lines().filter(|line| line.contains("\"t\":\"prompt\""));
        for line in offered {
            for tool in ["Screenshot", "GenerateImage", "EditImage"] {
                assert!(!line.contains(tool), "{role} carries {tool}");
            }
        }
    }
    let thread = team.thread(&root).await.unwrap();
    assert!(
        !texts(&thread)
            .iter()
            .any(|text| text.contains("How it looks"))
    );
}
