//! A person's stop holds: what a role began before it starts nobody, however
//! late it comes, until a person speaks; and the next word reaches who was
//! stopped. The hub is the real one; the roles are played.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use butler_protocol::{
    Activity, ActivityState, ChannelId, HandOverKind, HandOverTag, Idem, MessageTs, PostTag, Role,
    Sha256Hex, Stamp, StampKind, ThreadId,
};
use butler_slack::{Control, Envelope, Socket, Web};
use butler_testkit::Limits;
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    slack_world::SlackWorld,
    world::{self, World, take},
};

fn works(thread: ThreadId, state: ActivityState) -> Activity {
    Activity {
        thread,
        state,
        step: None,
        lease_seconds: 30,
    }
}

async fn handed(control: &Control) -> HandOverTag {
    let body = b"{}";
    HandOverTag {
        kind: HandOverKind::Task,
        body: control.put_body(body).await.unwrap(),
        sha256: Sha256Hex::of(body),
    }
}

fn stamp(envelope: Envelope) -> Stamp {
    envelope.stamp.unwrap()
}

#[tokio::test]
async fn what_was_begun_before_a_stop_is_refused_and_the_next_word_reaches_who_was_stopped() {
    let world = World::start().await;
    let mut reviewer = world.socket(Role::Reviewer).await;
    for by_word in [true, false] {
        let root = world.say("build it", None).await;
        let asked = stamp(take(&mut reviewer).await).seq;
        let activity = works(world.thread(&root), ActivityState::Working);
        world
            .control(Role::Coder)
            .activity(&activity)
            .await
            .unwrap();
        if by_word {
            world.say("stop", Some(&root)).await;
        } else {
            let sign = json!({"channel": world.channel(), "ts": root, "name": "octagonal_sign"});
            let (status, answer) = world.person(&world.ana, "v1/reactions", &sign).await;
            assert_eq!(status, 200, "{answer}");
        }
        let stop = stamp(take(&mut reviewer).await);
        assert_eq!(stop.kind, StampKind::Stop);
        assert_eq!(
            (stop.to, stop.active),
            (vec![Role::Coder], Some(Role::Coder))
        );
        let post = |idem: &str, heard| {
            let key = format!("{idem}-{root}");
            let mut post = world.post("it is yours", Some(&root), &key);
            post.tag.to = vec![Role::Reviewer];
            post.tag.heard = heard;
            post
        };
        let web = world.web(Role::Coder);
        let late = web.post(&post("late", Some(asked))).await.unwrap_err();
        assert!(late.is_stop(), "{late}");
        // Who asks what was stopped starts nobody and ends nothing.
        world.say("status", Some(&root)).await;
        assert_eq!(stamp(take(&mut reviewer).await).active, Some(Role::Coder));
        world.say("go on", Some(&root)).await;
        let on = stamp(take(&mut reviewer).await);
        assert_eq!(on.active, Some(Role::Coder));
        let later = web.post(&post("later", Some(asked))).await.unwrap_err();
        assert!(later.is_stop(), "a word does not let the old ones through");
        world
            .control(Role::Coder)
            .activity(&activity)
            .await
            .unwrap();
        web.post(&post("new", Some(on.seq))).await.unwrap();
        assert_eq!(stamp(take(&mut reviewer).await).to, [Role::Reviewer]);
        // It is at work again, and ends: nobody is stopped any more.
        let activity = works(world.thread(&root), ActivityState::Idle);
        world
            .control(Role::Coder)
            .activity(&activity)
            .await
            .unwrap();
        world.say("thanks", Some(&root)).await;
        assert_eq!(stamp(take(&mut reviewer).await).active, None);
    }
}

#[tokio::test]
async fn a_hand_over_that_nobody_has_begun_is_whom_a_stop_is_about() {
    let world = World::start().await;
    let mut lead = world.socket(Role::Lead).await;
    let root = world.say("build it", None).await;
    take(&mut lead).await;
    let mut post = world.post("review it", Some(&root), "ready");
    post.tag.to = vec![Role::Reviewer];
    post.tag.hand_over = Some(handed(&world.control(Role::Coder)).await);
    world.web(Role::Coder).post(&post).await.unwrap();
    take(&mut lead).await;
    world.say("stop", Some(&root)).await;
    let stop = stamp(take(&mut lead).await);
    assert_eq!(
        (stop.to, stop.active),
        (vec![Role::Reviewer], Some(Role::Reviewer))
    );
    // In a thread where nobody is at work there is nobody to stop.
    let root = world.say("hello", None).await;
    take(&mut lead).await;
    world.say("stop", Some(&root)).await;
    let stop = stamp(take(&mut lead).await);
    assert_eq!((stop.to, stop.active), (vec![], None));
}

/// Slack makes the hub wait with the post when the stop comes: it lands there
/// later, wakes nobody, and its sender is told.
#[tokio::test]
async fn a_post_that_is_on_its_way_to_slack_wakes_nobody_after_the_stop() {
    let world = SlackWorld::start().await;
    let mut reviewer = world.socket(Role::Reviewer).await;
    let root = world.say("build it", None);
    let asked = stamp(take(&mut reviewer).await).seq;
    world.slack.limit(Limits {
        burst: 1,
        spacing: Duration::from_secs(2),
        retry_after: 1,
        ..Limits::default()
    });
    let web = world.web(Role::Coder);
    let first = world.post(Role::Coder, "I begin", Some(&root), "begin");
    web.post(&first).await.unwrap();
    take(&mut reviewer).await;
    let mut post = world.post(Role::Coder, "it is yours", Some(&root), "ready");
    post.tag.to = vec![Role::Reviewer];
    post.tag.heard = Some(asked);
    let sent = tokio::spawn({
        let post = post.clone();
        async move { web.post(&post).await }
    });
    crate::slack_world::until("the post has to wait", || world.slack.refusals() > 0).await;
    world.say("stop", Some(&root));
    assert_eq!(stamp(take(&mut reviewer).await).kind, StampKind::Stop);
    assert!(sent.await.unwrap().unwrap_err().is_stop());
    let landed = take(&mut reviewer).await;
    assert_eq!(world::text_of(&landed), "it is yours");
    let landed = stamp(landed);
    assert_eq!((landed.to, landed.kind), (vec![], StampKind::Message));
    let again = world.web(Role::Coder).post(&post).await;
    assert!(again.unwrap_err().is_stop());
    assert_eq!(world.in_slack("it is yours").len(), 1);
}

/// Stops at random moments of a played story.
const MOMENTS: u64 = 200;
/// Threads that are played at the same time.
const AT_ONCE: u64 = 5;
const CHAIN: [Role; 4] = [Role::Pm, Role::Coder, Role::Reviewer, Role::Lead];

/// What a role began: where, because of which event, and at which word of the
/// person (the request is 1, "go on" is 2).
type Begun = (MessageTs, Role, u64, u64);

/// A played role: begins when it is spoken to, works a moment, hands over to
/// the next. It hears of a stop as the real ones do, after a while, and what it
/// has begun posts at its own pace all the same: the worst that can happen.
struct Player {
    role: Role,
    web: Web,
    control: Control,
    channel: ChannelId,
    begun: Arc<Mutex<Vec<Begun>>>,
    chance: Arc<AtomicU64>,
}

impl Player {
    /// Some milliseconds below `most`, never the same.
    fn pause(&self, most: u64) -> Duration {
        let at = self
            .chance
            .fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (at ^ (at >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Duration::from_millis((mixed >> 33) % most)
    }

    async fn play(self, mut socket: Socket) {
        let player = Arc::new(self);
        let mut at_work = JoinSet::new();
        while let Some(envelope) = socket.next().await {
            socket.ack(&envelope.id).await.unwrap();
            let Some(stamp) = envelope.stamp.clone() else {
                continue;
            };
            let mine = match (stamp.from, stamp.active) {
                _ if !matches!(stamp.kind, StampKind::Message | StampKind::HandOver) => false,
                (Some(_), _) => stamp.to.contains(&player.role),
                (None, Some(active)) => active == player.role,
                (None, None) => player.role == Role::Pm,
            };
            if mine {
                let word = if world::text_of(&envelope).contains("on") {
                    2
                } else {
                    1
                };
                let root = stamp.thread.unwrap().root;
                at_work.spawn(Arc::clone(&player).work(root, stamp.seq, word));
            }
        }
    }

    async fn work(self: Arc<Self>, root: MessageTs, seq: u64, word: u64) {
        let thread = ThreadId::new(self.channel.clone(), root.clone());
        let entry = (root.clone(), self.role, seq, word);
        self.begun.lock().unwrap().push(entry);
        sleep(self.pause(4)).await;
        let _ = self
            .control
            .activity(&works(thread.clone(), ActivityState::Working))
            .await;
        sleep(self.pause(12)).await;
        let next = CHAIN.iter().position(|role| *role == self.role).unwrap() + 1;
        if let Some(next) = CHAIN.get(next) {
            // A slow post, now and then slower than the person who goes on.
            sleep(self.pause(if word == 1 { 60 } else { 4 })).await;
            let mut tag = PostTag::message(
                Idem::new(format!("{root}-{}-{seq}", self.role)),
                vec![*next],
            );
            tag.heard = Some(seq);
            tag.hand_over = Some(handed(&self.control).await);
            let text = if word == 1 { "yours" } else { "yours, go on" };
            let post = butler_slack::Post {
                channel: self.channel.clone(),
                thread: Some(root),
                text: text.to_owned(),
                blocks: None,
                username: None,
                icon: None,
                tag,
            };
            match self.web.post(&post).await {
                Ok(_) => {}
                Err(error) => assert!(error.is_stop(), "{error}"),
            }
        }
        let _ = self
            .control
            .activity(&works(thread, ActivityState::Idle))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_stops_at_random_moments_hold_until_a_person_speaks() {
    let world = Arc::new(World::start().await);
    let begun: Arc<Mutex<Vec<Begun>>> = Arc::default();
    let chance = Arc::new(AtomicU64::new(7));
    let mut players = JoinSet::new();
    for role in CHAIN {
        let player = Player {
            role,
            web: world.web(role),
            control: world.control(role),
            channel: world.channel(),
            begun: Arc::clone(&begun),
            chance: Arc::clone(&chance),
        };
        players.spawn(player.play(world.socket(role).await));
    }
    let mut watch = world.socket(Role::Artist).await;
    let mut stopped = 0;
    for round in 0..MOMENTS / AT_ONCE {
        let mut roots = Vec::new();
        for _ in 0..AT_ONCE {
            roots.push(world.say("build it", None).await);
        }
        sleep(Duration::from_millis(round * 7 % 60)).await;
        for root in &roots {
            world.say("stop", Some(root)).await;
        }
        sleep(Duration::from_millis(round % 5 * 10)).await;
        for root in &roots {
            world.say("go on", Some(root)).await;
        }
        let mut stops = Vec::new();
        while stops.len() < roots.len() {
            let stop = stamp(take(&mut watch).await);
            if stop.kind == StampKind::Stop {
                stops.push(stop);
            }
        }
        let ended = |root: &MessageTs| {
            let begun = begun.lock().unwrap();
            begun
                .iter()
                .any(|(of, role, _, word)| of == root && *role == Role::Lead && *word == 2)
        };
        crate::slack_world::until("all went on", || roots.iter().all(&ended)).await;
        // Whatever is still on its way has landed by now.
        sleep(Duration::from_millis(80)).await;
        for stop in stops {
            let root = stop.thread.unwrap().root;
            let begun = begun.lock().unwrap();
            let here: Vec<&Begun> = begun.iter().filter(|(of, ..)| *of == root).collect();
            for (_, role, seq, word) in &here {
                assert!(
                    *word == 2 || *seq < stop.seq,
                    "{role} was started by event {seq}, after the stop {}: {here:?}",
                    stop.seq
                );
            }
            let on = here.iter().find(|(.., word)| *word == 2).unwrap();
            let expected = stop.active.unwrap_or(Role::Pm);
            assert_eq!(on.1, expected, "who was stopped goes on: {here:?}");
            stopped += usize::from(stop.active.is_some());
        }
    }
    assert!(stopped > 100, "only {stopped} stops met somebody at work");
}
