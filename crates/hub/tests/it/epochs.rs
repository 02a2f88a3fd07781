//! One process per role and repo: the newest.

use std::time::Duration;

use butler_protocol::{Activity, ActivityState, Role};
use butler_slack::Ended;
use tokio::time::timeout;

use crate::world::{PATIENCE, World, peek, take, text_of};

#[tokio::test]
async fn a_newer_process_displaces_the_older_one_everywhere() {
    let world = World::start().await;
    let mut old = world.socket(Role::Pm).await;
    let root = world.say("hi", None).await;
    let envelope = peek(&mut old).await;
    let mut new = world.socket(Role::Pm).await;
    assert!(new.epoch() > old.epoch());
    assert!(timeout(PATIENCE, old.next()).await.unwrap().is_none());
    assert_eq!(old.ended(), Some(Ended::Displaced));

    let web = world
        .web_at(Role::Pm, old.shared_epoch())
        .with_patience(Duration::ZERO);
    let refused = web
        .post(&world.post("from the past", Some(&root), "k"))
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("stale_epoch"));
    assert!(old.ack(&envelope.id).await.is_err());
    assert_eq!(take(&mut new).await.id, envelope.id);

    let fresh = world.web_at(Role::Pm, new.shared_epoch());
    fresh
        .post(&world.post("from now", Some(&root), "k"))
        .await
        .unwrap();
    let thread = fresh.replies(&world.thread(&root)).await.unwrap();
    assert_eq!(thread.last().unwrap().text, "from now");
}

#[tokio::test]
async fn control_calls_of_an_older_process_are_refused() {
    let world = World::start().await;
    let old = world.socket(Role::Coder).await;
    let _new = world.socket(Role::Coder).await;
    let root = world.say("hi", None).await;
    let token = world.repo.agents[&Role::Coder].bot.clone();
    let control = butler_slack::Control::new(&world.base, token, old.shared_epoch()).unwrap();
    let activity = Activity {
        thread: world.thread(&root),
        state: ActivityState::Working,
        step: None,
        lease_seconds: 30,
    };
    let refused = control.activity(&activity).await.unwrap_err();
    assert_eq!(refused.code(), Some("stale_epoch"));
}

#[tokio::test]
async fn another_role_or_repo_is_not_displaced() {
    let world = World::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let _coder = world.socket(Role::Coder).await;
    world.say("still there?", None).await;
    assert_eq!(text_of(&take(&mut pm).await), "still there?");
    assert_eq!(pm.ended(), None);
}
