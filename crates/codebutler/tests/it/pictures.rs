//! Pictures, for models that see and for those that do not. The scripted model of a role
//! without eyes refuses every request that holds a picture.

use crate::{
    attached::PIXEL,
    team::{Team, says},
};

/// The parts of both stories; what is different is who sees.
const STORY: &str = include_str!("scenarios/pictures.yaml");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_without_eyes_is_told_once_what_is_in_a_picture() {
    let team = Team::start(&format!("blind: [pm]\n{STORY}")).await;
    let root = team
        .say_with_file("", "what is wrong here?", ("shot.png", PIXEL))
        .await;
    team.until(&root, "the answer", |thread| says(thread, "It is red"))
        .await;
    let log = team.log(&root, "pm");
    // Looked at twice, described once, and on the bill.
    assert_eq!(
        log.matches("`rehearsal/artist` looked at this one").count(),
        2,
        "{log}"
    );
    let paid: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"settled\"") && line.contains("-seen-"))
        .collect();
    assert_eq!(paid.len(), 1, "{log}");
    assert!(
        paid[0].contains("rehearsal/artist") && !paid[0].contains("\"cost\":0,"),
        "{paid:?}"
    );
    assert!(
        !log.contains("base64"),
        "no picture is kept for a model that cannot see it"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_sees_gets_the_picture_and_nobody_is_asked() {
    let team = Team::start(STORY).await;
    let root = team
        .say_with_file("", "what is wrong here?", ("shot.png", PIXEL))
        .await;
    team.until(&root, "the answer", |thread| {
        says(thread, "I see it myself")
    })
    .await;
    let log = team.log(&root, "pm");
    assert!(log.contains("base64") && !log.contains("-seen-"), "{log}");
    let listed = std::fs::read_dir(team.scratch.root().join(".codebutler/attached"));
    let folders = listed.unwrap().flatten().filter(|one| one.path().is_dir());
    let files = folders.flat_map(|one| std::fs::read_dir(one.path()).unwrap());
    assert_eq!(files.count(), 1, "only what was attached");
}
