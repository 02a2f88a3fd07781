//! Nothing grows for ever: what no open thread needs is packed or goes, and nobody can tell
//! the difference. Counted in rows and bytes, as `/v1/company` tells them.

use std::{sync::atomic::Ordering, time::Duration};

use butler_hub::Retention;
use butler_protocol::{
    Activity, ActivityState, DecisionKind, Entry, LogEnd, MessageTs, Record, RecordBatch, Role,
    ThreadId,
};
use serde_json::{Value, json};

use crate::world::{World, card, subject, take, text_of};

const DAY: u64 = 24 * 60 * 60;

/// A hub that looks after its store all the time, and packs after ten days.
async fn tidy(threads: Option<u64>) -> World {
    let mut world = World::start().await;
    world.down().await;
    world.operation.retention = Retention {
        cold: Duration::from_secs(10 * DAY),
        threads: threads.map(|days| Duration::from_secs(days * DAY)),
        every: Duration::from_millis(50),
    };
    world.up().await;
    world
}

/// What a thread leaves: a request, an answer, lines of two roles, who was at work.
async fn work(world: &World, number: u64) -> MessageTs {
    let root = world.say(&format!("request {number}"), None).await;
    let thread = world.thread(&root);
    let idem = format!("{}-1", thread.short());
    let answer = world.post("done", Some(&root), &idem);
    world.web(Role::Pm).post(&answer).await.unwrap();
    for role in [Role::Pm, Role::Coder] {
        let control = world.control(role);
        let at_work = |state| Activity {
            thread: thread.clone(),
            state,
            step: None,
            lease_seconds: 30,
        };
        control
            .activity(&at_work(ActivityState::Working))
            .await
            .unwrap();
        control.records(&lines(&thread, 1, 40)).await.unwrap();
        control
            .activity(&at_work(ActivityState::Idle))
            .await
            .unwrap();
    }
    root
}

fn lines(thread: &ThreadId, first: u64, count: u64) -> RecordBatch {
    let entry = |seq: u64| Entry {
        seq,
        epoch: 1,
        at_ms: i64::try_from(seq).unwrap(),
        record: Record::Note {
            text: format!("line {seq}: {}", "the same words as ever ".repeat(20)),
        },
    };
    RecordBatch {
        thread: thread.clone(),
        entries: (first..first + count).map(entry).collect(),
        end: None,
    }
}

/// A log that ends with this line.
fn end(seq: u64) -> LogEnd {
    LogEnd {
        base: 0,
        seq,
        epoch: u64::from(seq > 0),
        at_ms: i64::try_from(seq).unwrap(),
    }
}

async fn held(world: &World) -> Value {
    let you = butler_hub::Tokens::open(world.dir.path())
        .unwrap()
        .ensure_person("you")
        .unwrap();
    world.get(&you, "v1/company").await["store"].clone()
}

/// Waits until the store looks as wanted.
async fn until(world: &World, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let held = held(world).await;
        if wanted(&held) {
            return held;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}: {}", held(world).await);
}

fn later(world: &World, days: u64) {
    world.ahead.fetch_add(days * DAY, Ordering::Relaxed);
}

#[tokio::test]
async fn threads_at_rest_are_packed_and_come_back_with_a_new_line() {
    let world = tidy(None).await;
    // Everybody has had everything but the Lead, who was never there.
    let mut pm = world.socket(Role::Pm).await;
    let root = work(&world, 1).await;
    let thread = world.thread(&root);
    assert_eq!(text_of(&take(&mut pm).await), "request 1");
    let control = world.control(Role::Reviewer);
    let before = control.logs(&thread, &[]).await.unwrap();
    assert_eq!(before.len(), 80);
    let view = format!("v1/threads/{thread}");
    let (seen, told) = (
        world.get(&world.ana, &view).await["messages"].clone(),
        world.get(&world.ana, &format!("{view}/timeline")).await,
    );

    later(&world, 9);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(held(&world).await["lines"], 80, "nine days are not ten");
    later(&world, 2);
    let held = until(&world, "packed", |held| held["packed"] == 1).await;
    assert_eq!(held["lines"], 0);
    until(&world, "events", |held| held["events"] == 0).await;

    // All of it can be read as before, also a part of it, and told from what is new.
    assert_eq!(control.logs(&thread, &[]).await.unwrap(), before);
    assert_eq!(control.logs(&thread, &["note"]).await.unwrap(), before);
    assert_eq!(control.logs(&thread, &["user"]).await.unwrap(), []);
    let coder = world.control(Role::Coder);
    let whole = coder.records_held(&thread, end(0)).await.unwrap();
    assert_eq!((whole.upto, whole.keep), (40, Some(0)));
    assert_eq!(whole.entries, lines(&thread, 1, 40).entries);
    let rest = coder.records_held(&thread, end(30)).await.unwrap();
    assert_eq!(rest.entries, lines(&thread, 31, 10).entries);
    assert_eq!(world.get(&world.ana, &view).await["messages"], seen);
    let timeline = world.get(&world.ana, &format!("{view}/timeline")).await;
    assert_eq!(timeline, told);
    // A post that is made again is known as it was.
    let again = world.post("done", Some(&root), &format!("{}-1", thread.short()));
    let again = world.web(Role::Pm).post(&again).await.unwrap();
    assert_eq!(seen[1]["ts"], json!(again.ts));

    // With a word the thread is not at rest any more, else the next round packs it again.
    world.say("once more", Some(&root)).await;
    coder.records(&lines(&thread, 40, 2)).await.unwrap();
    let held = self::held(&world).await;
    assert_eq!((&held["lines"], &held["packed"]), (&json!(81), &json!(0)));
    assert_eq!(coder.records_held(&thread, end(41)).await.unwrap().upto, 41);
    assert_eq!(control.logs(&thread, &[]).await.unwrap().len(), 81);
}

#[tokio::test]
async fn a_thread_in_which_somebody_waits_stays_as_it_is() {
    let world = tidy(Some(20)).await;
    let control = world.control(Role::Pm);
    let asked = work(&world, 1).await;
    let mut post = world.post("", Some(&asked), "card");
    let plan = subject(DecisionKind::Plan, "1. do it");
    card(&control, &mut post, "plan01", &plan).await;
    world.web(Role::Pm).post(&post).await.unwrap();
    let stopped = work(&world, 2).await;
    let at_work = Activity {
        thread: world.thread(&stopped),
        state: ActivityState::Working,
        step: None,
        lease_seconds: 30,
    };
    control.activity(&at_work).await.unwrap();
    world.say("stop", Some(&stopped)).await;
    let done = work(&world, 3).await;
    later(&world, 40);
    until(&world, "one is packed", |held| held["lines"] == 160).await;
    // The last one is over; what was said there goes after twenty days, as it was set.
    let gone = async || {
        let hits = world.get(&world.ana, "v1/search?q=request").await;
        hits["hits"].as_array().unwrap().len()
    };
    for _ in 0..600 {
        if gone().await == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(gone().await, 2);
    for (root, there) in [(&asked, true), (&stopped, true), (&done, false)] {
        let view = world
            .get(&world.ana, &format!("v1/threads/{}", world.thread(root)))
            .await;
        assert_eq!(view["ok"] == true, there, "{view}");
    }
}

#[tokio::test]
async fn what_waits_for_a_role_that_is_away_waits_for_ever_and_nothing_else_does() {
    let world = tidy(None).await;
    world.say("for whoever reads it", None).await;
    world.say("@codebutler.lead what now?", None).await;
    later(&world, 30);
    until(&world, "events", |held| held["events"] == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut lead = world.socket(Role::Lead).await;
    assert!(text_of(&take(&mut lead).await).contains("what now?"));
}

/// There room is given back when its own time for that comes.
fn on_postgres() -> bool {
    std::env::var_os("CODEBUTLER_TEST_DATABASE").is_some()
}

/// The store after many threads is as large as after few, but for what people said.
#[tokio::test]
async fn the_hundredth_thread_takes_no_more_room_than_the_tenth() {
    let world = tidy(None).await;
    let mut sizes = Vec::new();
    for number in 1..=60 {
        work(&world, number).await;
        if number % 20 == 0 {
            let before = held(&world).await["bytes"].as_i64().unwrap();
            later(&world, 11);
            let packed = json!(number);
            let held = until(&world, "packed, and the room given back", |held| {
                let shrunk = on_postgres() || held["bytes"].as_i64().unwrap() < before;
                held["packed"] == packed && held["lines"] == 0 && held["events"] == 0 && shrunk
            })
            .await;
            sizes.push(held["bytes"].as_i64().unwrap());
        }
    }
    if on_postgres() {
        return;
    }
    let (first, second) = (sizes[1] - sizes[0], sizes[2] - sizes[1]);
    // Twenty threads' lines are 20 * 80 * 500 bytes; packed and with their messages a tenth.
    assert!(second <= first.max(200_000), "{sizes:?}");
    assert!(second < 20 * 80 * 500 / 2, "{sizes:?}");
}
