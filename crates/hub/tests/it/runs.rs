//! A run over the roadmap: what a person's Start allows, and nothing beyond it.

use butler_protocol::{
    CardBody, CardTag, Choice, DecisionKind, DevelopItem, DevelopSubject, ItemReport, ItemState,
    ItemTag, MergeMode, MessageTs, RequestId, Reservation, ReserveAnswer, ReserveId, Role,
    RunChange, RunDecide, RunReport, RunState, RunView, Sha256Hex, Subject, Usd,
};
use butler_slack::{Posted, SlackError};
use serde_json::json;

use crate::{
    browser::{driver, play},
    page::Browser,
    world::{World, card, subject},
};

fn items(caps: &[i64]) -> Vec<DevelopItem> {
    let item = |(at, cap): (usize, &i64)| DevelopItem {
        number: u32::try_from(at).unwrap() + 1,
        title: format!("item {}", at + 1),
        depends_on: Vec::new(),
        criteria: Vec::new(),
        sha256: Sha256Hex::of("text"),
        cap: Usd::from_cents(*cap),
    };
    caps.iter().enumerate().map(item).collect()
}

/// Ana starts a run of items with these caps; gives the thread in which she did.
async fn start(world: &World, caps: &[i64], budget: i64, choice: &str) -> MessageTs {
    begin(world, items(caps), budget, choice).await
}

async fn begin(world: &World, items: Vec<DevelopItem>, budget: i64, choice: &str) -> MessageTs {
    let root = world.say("start all", None).await;
    let subject = Subject::Develop(Box::new(DevelopSubject {
        items,
        at_once: 2,
        budget: Usd::from_cents(budget),
        answer_after_minutes: None,
    }));
    let mut post = world.post("", Some(&root), "the card");
    card(&world.control(Role::Pm), &mut post, "run1", &subject).await;
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    let action = json!({"channel": world.channel(), "ts": posted.ts,
        "action_id": format!("cb:run1:{choice}")});
    let (status, answer) = world.person(&world.ana, "v1/actions", &action).await;
    assert_eq!(status, 200, "{answer}");
    root
}

async fn open(world: &World, number: u32, idem: &str) -> Result<Posted, SlackError> {
    let mut post = world.post("Item", None, idem);
    post.tag.item = Some(ItemTag {
        run: RequestId::new("run1"),
        number,
    });
    world.web(Role::Pm).post(&post).await
}

/// A card that the runtime says needs nobody.
async fn unattended(world: &World, root: &MessageTs, id: &str, kind: DecisionKind) -> Posted {
    let control = world.control(Role::Pm);
    let subject = subject(kind, "x");
    let body = CardBody {
        unattended: true,
        subject: subject.clone(),
        remarks: Vec::new(),
        people: Vec::new(),
        allowed: Vec::new(),
        language: None,
    };
    let bytes = serde_json::to_vec(&body).unwrap();
    let mut post = world.post("", Some(root), id);
    post.tag.card = Some(CardTag {
        request: RequestId::new(id),
        kind,
        sha256: subject.sha256(),
        body: Some(control.put_body(&bytes).await.unwrap()),
    });
    world.web(Role::Pm).post(&post).await.unwrap()
}

async fn decided(world: &World, id: &str) -> Option<(Choice, Option<RequestId>)> {
    let view = world.control(Role::Pm).decision(&RequestId::new(id)).await;
    let decided = view.unwrap().decided?;
    assert_eq!(decided.person, world.ana.user);
    Some((decided.choice, decided.run))
}

/// The PM says that it is the item's turn.
async fn decide(world: &World, number: u32) {
    let wanted = RunDecide {
        request: RequestId::new("run1"),
        number,
    };
    world.control(Role::Pm).run_decide(&wanted).await.unwrap();
}

async fn run(world: &World) -> RunView {
    world.control(Role::Pm).runs().await.unwrap().remove(0)
}

#[tokio::test]
async fn items_begin_once_and_only_within_the_budget() {
    let mut world = World::start().await;
    start(&world, &[60, 60, 60], 150, "start_merging").await;
    let first = open(&world, 1, "a").await.unwrap();
    assert_eq!(open(&world, 1, "a").await.unwrap().ts, first.ts);
    let again = open(&world, 1, "b").await.unwrap_err();
    assert_eq!(again.code(), Some("item_already_started"));
    open(&world, 2, "c").await.unwrap();
    let dear = open(&world, 3, "d").await.unwrap_err();
    assert_eq!(dear.code(), Some("run_budget"));
    let unknown = open(&world, 9, "e").await.unwrap_err();
    assert_eq!(unknown.code(), Some("no_such_run"));
    world.down().await;
    world.up().await;
    let run = run(&world).await;
    assert_eq!(
        (run.mode, run.state),
        (MergeMode::Merging, RunState::Running)
    );
    assert_eq!(run.person, world.ana.user);
    let begun: Vec<_> = run.items.iter().map(|item| item.number).collect();
    assert_eq!(begun, [1, 2]);
    assert_eq!(run.items[0].thread, world.thread(&first.ts));
}

#[tokio::test]
async fn an_item_spends_its_own_cap_and_all_together_the_budget_of_the_run() {
    let world = World::start().await;
    start(&world, &[60, 60], 120, "start").await;
    let one = open(&world, 1, "a").await.unwrap().ts;
    let control = world.control(Role::Coder);
    let reserve = |id: &str, root: &MessageTs, cents| Reservation {
        id: ReserveId::new(id),
        thread: world.thread(root),
        person: None,
        amount: Usd::from_cents(cents),
        heard: None,
    };
    let refused = |answer| match answer {
        ReserveAnswer::Refused(refusal) => refusal.budget,
        other => panic!("{other:?}"),
    };
    // The usual cap of this workspace's threads is a dollar.
    let over = control.reserve(&reserve("r1", &one, 61)).await.unwrap();
    assert_eq!(refused(over), "thread");
    let fits = control.reserve(&reserve("r2", &one, 60)).await.unwrap();
    assert!(matches!(fits, ReserveAnswer::Granted { .. }));
    // The thread in which it was started belongs to the run as well.
    let root = run(&world).await.thread.root;
    let over = control.reserve(&reserve("r3", &root, 61)).await.unwrap();
    assert_eq!(refused(over), "run");
    assert_eq!(run(&world).await.spent, Usd::from_cents(60));
    // What people add counts for whoever looks whether the next one fits.
    let before = run(&world).await.subject.budget;
    let mut post = world.post("", Some(&root), "more money");
    let cap = subject(DecisionKind::Cap, "x");
    card(&world.control(Role::Pm), &mut post, "cap1", &cap).await;
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    let action = json!({"channel": world.channel(), "ts": posted.ts,
        "action_id": "cb:cap1:raise"});
    let (status, answer) = world.person(&world.ana, "v1/actions", &action).await;
    assert_eq!(status, 200, "{answer}");
    assert!(run(&world).await.subject.budget > before);
}

#[tokio::test]
async fn what_was_allowed_at_the_start_is_decided_and_nothing_else() {
    let world = World::start().await;
    start(&world, &[10, 10], 100, "start_merging").await;
    let item = open(&world, 1, "a").await.unwrap().ts;
    let by_run = |choice| Some((choice, Some(RequestId::new("run1"))));
    let plan = unattended(&world, &item, "plan1", DecisionKind::Plan).await;
    assert_eq!(decided(&world, "plan1").await, by_run(Choice::Approve));
    let browser = Browser::login(&world).await;
    let page = browser.get(&format!("c/{}/{item}", world.channel())).await;
    assert!(page.contains("by starting the run run1"), "{page}");
    assert!(!plan.ts.as_str().is_empty());
    // Of two merges the newer one counts, when its turn has come.
    unattended(&world, &item, "merge0", DecisionKind::Merge).await;
    unattended(&world, &item, "merge1", DecisionKind::Merge).await;
    assert_eq!(decided(&world, "merge1").await, None);
    assert_eq!(
        run(&world).await.items[0].allowed,
        Some(DecisionKind::Merge)
    );
    decide(&world, 1).await;
    assert_eq!(decided(&world, "merge1").await, by_run(Choice::Merge));
    assert_eq!(decided(&world, "merge0").await, None);
    assert_eq!(run(&world).await.items[0].allowed, None);
    // A command is never among it.
    unattended(&world, &item, "rm1", DecisionKind::Command).await;
    decide(&world, 1).await;
    assert_eq!(decided(&world, "rm1").await, None);
    // Nor is anything outside the run.
    let other = world.say("something else", None).await;
    unattended(&world, &other, "plan2", DecisionKind::Plan).await;
    assert_eq!(decided(&world, "plan2").await, None);
    // Where a person speaks, they decide.
    let item = open(&world, 2, "b").await.unwrap().ts;
    world.say("do it in another way", Some(&item)).await;
    unattended(&world, &item, "plan3", DecisionKind::Plan).await;
    decide(&world, 2).await;
    assert_eq!(decided(&world, "plan3").await, None);
}

#[tokio::test]
async fn merges_stay_with_people_who_said_so_and_a_paused_run_decides_nothing() {
    let world = World::start().await;
    start(&world, &[10, 10], 100, "start").await;
    let item = open(&world, 1, "a").await.unwrap().ts;
    unattended(&world, &item, "merge1", DecisionKind::Merge).await;
    decide(&world, 1).await;
    assert_eq!(decided(&world, "merge1").await, None);
    let control = world.control(Role::Pm);
    let state = |state| RunChange {
        request: RequestId::new("run1"),
        state,
    };
    control.run_state(&state(RunState::Paused)).await.unwrap();
    unattended(&world, &item, "plan1", DecisionKind::Plan).await;
    decide(&world, 1).await;
    assert_eq!(decided(&world, "plan1").await, None);
    let refused = open(&world, 2, "b").await.unwrap_err();
    assert_eq!(refused.code(), Some("run_not_running"));
    control.run_state(&state(RunState::Running)).await.unwrap();
    open(&world, 2, "b").await.unwrap();
    // What came while it was paused is decided when it goes on.
    decide(&world, 1).await;
    let by_run = Some((Choice::Approve, Some(RequestId::new("run1"))));
    assert_eq!(decided(&world, "plan1").await, by_run);
    control.run_state(&state(RunState::Stopped)).await.unwrap();
    let over = control.run_state(&state(RunState::Running)).await;
    assert_eq!(over.unwrap_err().code(), Some("run_not_running"));
    // Only the PM runs the roadmap.
    let coder = world.control(Role::Coder);
    let refused = coder.run_state(&state(RunState::Done)).await.unwrap_err();
    assert_eq!(refused.code(), Some("restricted_action"));
    let wanted = RunDecide {
        request: RequestId::new("run1"),
        number: 1,
    };
    let refused = coder.run_decide(&wanted).await.unwrap_err();
    assert_eq!(refused.code(), Some("restricted_action"));
}

#[tokio::test]
async fn what_the_pm_says_of_an_item_is_shown_to_people() {
    let world = World::start().await;
    start(&world, &[10, 10], 100, "start").await;
    open(&world, 1, "a").await.unwrap();
    let report = ItemReport {
        state: ItemState::Blocked,
        why: "its checks fail".to_owned(),
    };
    let told = RunReport {
        request: RequestId::new("run1"),
        number: 1,
        report: report.clone(),
    };
    world.control(Role::Pm).run_report(&told).await.unwrap();
    assert_eq!(run(&world).await.items[0].report, Some(report));
    let board = Browser::login(&world).await.get("board").await;
    assert!(
        board.contains("its checks fail") && board.contains("1 blocked"),
        "{board}"
    );
    let shown = world.get(&world.ben, "v1/runs").await;
    assert_eq!(
        shown["runs"][0]["items"][0]["report"]["why"],
        "its checks fail"
    );
}

/// Twelve items with a diamond and two chains, in all states, looked at in a browser.
#[tokio::test]
async fn a_run_is_seen_at_both_sizes() {
    let Some(dir) = driver() else { return };
    let world = World::start().await;
    let after: [&[u32]; 12] = [
        &[],
        &[1],
        &[1],
        &[2, 3],
        &[],
        &[5],
        &[6],
        &[],
        &[8],
        &[9],
        &[4],
        &[4, 10],
    ];
    let titles = [
        "Sign in with a passkey",
        "Search notes by a word",
        "Tags",
        "Search by tag, with suggestions while typing",
    ];
    let mut wanted = items(&[50; 12]);
    for (at, item) in wanted.iter_mut().enumerate() {
        item.depends_on = after[at].to_vec();
        item.title = titles[at % 4].to_owned();
    }
    begin(&world, wanted, 1_000, "start_merging").await;
    let states = [
        (1, ItemState::Merged, ""),
        (2, ItemState::Working, "the Coder builds it"),
        (3, ItemState::Asks, "which characters may a tag have?"),
        (5, ItemState::Blocked, "its checks fail: 2 of 14 tests"),
        (8, ItemState::GivenUp, ""),
    ];
    for (number, state, why) in states {
        open(&world, number, &format!("open {number}"))
            .await
            .unwrap();
        let report = ItemReport {
            state,
            why: why.to_owned(),
        };
        let told = RunReport {
            request: RequestId::new("run1"),
            number,
            report,
        };
        world.control(Role::Pm).run_report(&told).await.unwrap();
    }
    for size in ["desktop", "phone"] {
        play(&dir, &world, "run.mjs", size, &[]).await;
    }
}
