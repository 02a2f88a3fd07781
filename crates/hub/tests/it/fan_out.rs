//! Every role gets everything, in order per thread, until it acknowledges.

use std::collections::{BTreeMap, HashSet};

use butler_protocol::{Activity, ActivityState, EventId, Role, StampKind};
use butler_slack::{Ended, Envelope, Socket};
use serde_json::json;
use tokio::time::timeout;

use crate::world::{PATIENCE, World, peek, take, text_of};

/// The next event that was not there before, acknowledged. A connection that is
/// cut may take an acknowledgement with it, so the hub is right to send the
/// event again; it keeps its id, and that is what subscribers know it by.
async fn take_new(socket: &mut Socket, seen: &mut HashSet<EventId>) -> Envelope {
    loop {
        let envelope = take(socket).await;
        if seen.insert(envelope.event_id()) {
            return envelope;
        }
    }
}

#[tokio::test]
async fn six_roles_hear_a_person_and_five_hear_a_role() {
    let world = World::start().await;
    let mut sockets = Vec::new();
    for role in Role::ALL {
        sockets.push((role, world.socket(role).await));
    }
    let root = world.say("@codebutler.coder hello <b>", None).await;
    let post = world.post("from the pm", Some(&root), "k");
    world.web(Role::Pm).post(&post).await.unwrap();
    world.say("last", Some(&root)).await;
    for (role, socket) in &mut sockets {
        let first = take(socket).await;
        assert_eq!(text_of(&first), "@codebutler.coder hello &lt;b&gt;");
        let stamp = first.stamp.clone().unwrap();
        assert_eq!((stamp.from, stamp.to), (None, vec![Role::Coder]));
        assert_eq!(stamp.thread, Some(world.thread(&root)));
        let mut rest = vec![text_of(&take(socket).await)];
        if *role != Role::Pm {
            rest.push(text_of(&take(socket).await));
        }
        let expected: &[&str] = match role {
            Role::Pm => &["last"],
            _ => &["from the pm", "last"],
        };
        assert_eq!(rest, expected, "{role}");
    }
}

#[tokio::test]
async fn a_thread_waits_for_its_acknowledgement_and_others_do_not() {
    let world = World::start().await;
    let mut socket = world.socket(Role::Pm).await;
    let one = world.say("one.1", None).await;
    world.say("one.2", Some(&one)).await;
    let first = peek(&mut socket).await;
    assert_eq!(text_of(&first), "one.1");
    world.say("two.1", None).await;
    // Not `one.2`: its thread has an unacknowledged envelope.
    assert_eq!(text_of(&take(&mut socket).await), "two.1");
    socket.ack(&first.id).await.unwrap();
    assert_eq!(text_of(&take(&mut socket).await), "one.2");
}

#[tokio::test]
async fn what_was_not_acknowledged_comes_again_after_either_side_went_away() {
    let mut world = World::start().await;
    let root = world.say("before anybody listened", None).await;
    let mut socket = world.socket(Role::Coder).await;
    let unacknowledged = peek(&mut socket).await;
    drop(socket);
    world.say("while away", Some(&root)).await;
    world.down().await;
    world.up().await;
    let mut socket = world.socket(Role::Coder).await;
    let again = take(&mut socket).await;
    assert_eq!(again.id, unacknowledged.id);
    assert_eq!(again.event_id(), unacknowledged.event_id());
    assert_eq!(text_of(&take(&mut socket).await), "while away");
    // The hub goes away under a living socket: it comes back by itself.
    world.down().await;
    world.up().await;
    world.say("after", Some(&root)).await;
    assert_eq!(text_of(&take(&mut socket).await), "after");
}

#[tokio::test]
async fn sockets_survive_drops_and_refreshes_without_loss_or_disorder() {
    let world = World::start().await;
    let mut socket = world.socket(Role::Lead).await;
    let root = world.say("0", None).await;
    let mut seen = HashSet::new();
    let mut heard = vec![text_of(&take_new(&mut socket, &mut seen).await)];
    for n in 1..12 {
        if n % 2 == 0 {
            let kind = if n % 4 == 0 { "drop" } else { "refresh" };
            world
                .person(&world.ana, "v1/test/shake", &json!({"kind": kind}))
                .await;
        }
        world.say(&n.to_string(), Some(&root)).await;
        heard.push(text_of(&take_new(&mut socket, &mut seen).await));
    }
    let expected: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_socket_that_was_switched_off_does_not_come_back() {
    let world = World::start().await;
    let mut socket = world.socket(Role::Artist).await;
    world
        .person(
            &world.ana,
            "v1/test/shake",
            &json!({"kind": "link_disabled"}),
        )
        .await;
    assert!(timeout(PATIENCE, socket.next()).await.unwrap().is_none());
    assert_eq!(socket.ended(), Some(Ended::Disabled));
}

#[tokio::test]
async fn six_subscribers_and_many_threads_through_restarts() {
    const THREADS: usize = 12;
    const PER_THREAD: usize = 10;
    let mut world = World::start().await;
    let mut readers = Vec::new();
    for role in Role::ALL {
        let mut socket = world.socket(role).await;
        readers.push(tokio::spawn(async move {
            let mut heard: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let mut seen = HashSet::new();
            for _ in 0..THREADS * PER_THREAD {
                let envelope = take_new(&mut socket, &mut seen).await;
                let stamp = envelope.stamp.clone().unwrap();
                let thread = stamp.thread.unwrap().to_string();
                heard.entry(thread).or_default().push(text_of(&envelope));
            }
            // The last acknowledgements are on their way: wait until heard.
            (heard, socket)
        }));
    }
    let mut roots = Vec::new();
    for n in 0..THREADS {
        roots.push(world.say(&format!("{n}.0"), None).await);
    }
    for turn in 1..PER_THREAD {
        if turn % 3 == 0 {
            world.down().await;
            world.up().await;
        }
        for (n, root) in roots.iter().enumerate() {
            world.say(&format!("{n}.{turn}"), Some(root)).await;
        }
    }
    for reader in readers {
        let (heard, _socket) = reader.await.unwrap();
        assert_eq!(heard.len(), THREADS);
        for (n, root) in roots.iter().enumerate() {
            let expected: Vec<String> = (0..PER_THREAD).map(|turn| format!("{n}.{turn}")).collect();
            assert_eq!(heard[&world.thread(root).to_string()], expected);
        }
    }
}

#[tokio::test]
async fn the_stamp_says_who_is_at_work() {
    let world = World::start().await;
    let mut socket = world.socket(Role::Lead).await;
    let root = world.say("a", None).await;
    let control = world.control(Role::Coder);
    let activity = |state| Activity {
        thread: world.thread(&root),
        state,
        step: Some("running cargo test".into()),
        lease_seconds: 30,
    };
    control
        .activity(&activity(ActivityState::Working))
        .await
        .unwrap();
    world.say("b", Some(&root)).await;
    control
        .activity(&activity(ActivityState::Idle))
        .await
        .unwrap();
    world.say("c", Some(&root)).await;
    let mut active = Vec::new();
    for _ in 0..3 {
        let stamp = take(&mut socket).await.stamp.unwrap();
        assert_eq!(stamp.kind, StampKind::Message);
        active.push(stamp.active);
    }
    assert_eq!(active, [None, Some(Role::Coder), None]);
}

#[tokio::test]
async fn reactions_reach_the_others_with_their_thread() {
    let world = World::start().await;
    let mut lead = world.socket(Role::Lead).await;
    let root = world.say("a", None).await;
    let reply = world.say("b", Some(&root)).await;
    let web = world.web(Role::Pm);
    web.react(&world.channel(), &reply, "eyes").await.unwrap();
    web.react(&world.channel(), &reply, "eyes").await.unwrap();
    // All roles are one user, as in Slack.
    world
        .web(Role::Coder)
        .react(&world.channel(), &reply, "eyes")
        .await
        .unwrap();
    web.unreact(&world.channel(), &reply, "eyes").await.unwrap();
    web.unreact(&world.channel(), &reply, "eyes").await.unwrap();
    take(&mut lead).await;
    take(&mut lead).await;
    for expected in ["reaction_added", "reaction_removed"] {
        let envelope = take(&mut lead).await;
        assert_eq!(envelope.payload["event"]["type"], expected);
        let stamp = envelope.stamp.unwrap();
        assert_eq!(stamp.thread, Some(world.thread(&root)));
        assert_eq!(stamp.from, Some(Role::Pm));
    }
}
