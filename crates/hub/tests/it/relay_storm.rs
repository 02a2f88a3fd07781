//! Bad weather: connections cut every moment, an outage, events told twice,
//! echoes before answers. Nothing is lost and nothing comes twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use butler_protocol::Role;
use butler_slack::Socket;
use butler_testkit::Disconnect;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    slack_world::SlackWorld,
    world::{PATIENCE, text_of},
};

/// How much: small in the gate, more at night.
fn size() -> usize {
    if std::env::var_os("CODEBUTLER_NIGHTLY").is_some() {
        40
    } else {
        6
    }
}

/// Everything that a role hears, by text, until all of `expected` were heard;
/// a text that comes twice under two events is a doubled message.
async fn listen(mut socket: Socket, expected: BTreeSet<String>) -> BTreeMap<String, Value> {
    let mut heard: BTreeMap<String, Value> = BTreeMap::new();
    let mut events = BTreeSet::new();
    while heard.len() < expected.len() {
        let next = timeout(PATIENCE * 2, socket.next()).await;
        let Ok(Some(envelope)) = next else {
            let missing: Vec<_> = expected
                .iter()
                .filter(|text| !heard.contains_key(*text))
                .collect();
            panic!("not heard: {missing:?}");
        };
        socket.ack(&envelope.id).await.unwrap();
        let text = text_of(&envelope);
        if !events.insert(envelope.event_id()) || text.is_empty() {
            continue;
        }
        let stamp = serde_json::to_value(&envelope.stamp).unwrap();
        assert!(expected.contains(&text), "{text} was not for this role");
        assert!(
            heard.insert(text.clone(), stamp).is_none(),
            "{text} came twice"
        );
    }
    heard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnects_every_second_and_an_outage_lose_and_double_nothing() {
    let world = Arc::new(SlackWorld::start().await);
    world.slack.duplicate_every(3);
    world.slack.slow_answers(Duration::from_millis(50));
    let (rounds, root) = (size(), world.say("the thread", None));
    let people: BTreeSet<String> = (0..rounds * 4).map(|n| format!("person {n}")).collect();
    let of_role = |role: Role| (0..rounds * 2).map(move |n| format!("{role} {n}"));
    let mut listeners = Vec::new();
    for role in Role::ALL {
        let mut expected: BTreeSet<String> = people.clone();
        expected.insert("the thread".to_owned());
        for other in [Role::Pm, Role::Coder]
            .into_iter()
            .filter(|other| *other != role)
        {
            expected.extend(of_role(other));
        }
        let socket = world.socket(role).await;
        listeners.push((role, tokio::spawn(listen(socket, expected))));
    }
    let mut work = Vec::new();
    for role in [Role::Pm, Role::Coder] {
        let (web, posts): (_, Vec<_>) = (
            world.web(role),
            of_role(role)
                .enumerate()
                .map(|(n, text)| {
                    let thread = (n % 2 == 0).then_some(root.as_str());
                    let mut post = world.post(role, &text, thread, &text);
                    post.tag.to = vec![Role::Lead];
                    post
                })
                .collect(),
        );
        work.push(tokio::spawn(async move {
            for post in posts {
                web.post(&post).await.unwrap();
                sleep(Duration::from_millis(250)).await;
            }
        }));
    }
    let (speaking, thread) = (Arc::clone(&world), root.clone());
    let lines: Vec<String> = (0..rounds * 4).map(|n| format!("person {n}")).collect();
    work.push(tokio::spawn(async move {
        for (n, line) in lines.iter().enumerate() {
            speaking.say(line, (n % 2 == 0).then_some(&thread));
            sleep(Duration::from_millis(150)).await;
        }
    }));
    // Weather: each kind of disconnect in turn, then an outage in the middle of it.
    let kinds = [Disconnect::Abrupt, Disconnect::Refresh, Disconnect::Warning];
    for (n, how) in kinds.into_iter().cycle().take(rounds).enumerate() {
        sleep(Duration::from_secs(1)).await;
        world.slack.disconnect(how);
        if n == rounds / 2 {
            world.slack.outage(true);
            sleep(Duration::from_secs(1)).await;
            world.slack.outage(false);
        }
    }
    for one in work {
        timeout(PATIENCE * 2, one).await.unwrap().unwrap();
    }
    for (role, listener) in listeners {
        let heard = timeout(PATIENCE * 3, listener).await.unwrap().unwrap();
        for (text, stamp) in heard {
            let speaker = text.split(' ').next().unwrap();
            let from = speaker.parse::<Role>().ok();
            assert_eq!(
                stamp["from"],
                serde_json::json!(from),
                "{role} heard {text}"
            );
            let to = from.map_or_else(Vec::new, |_| vec![Role::Lead]);
            assert_eq!(stamp["to"], serde_json::json!(to), "{role} heard {text}");
        }
    }
    for text in of_role(Role::Pm).chain(of_role(Role::Coder)) {
        assert_eq!(world.in_slack(&text).len(), 1, "{text} in Slack");
    }
}
