//! Budgets, bodies and records.

use butler_protocol::{
    BodyRef, Choice, DecisionKind, Entry, HandOverKind, HandOverTag, Record, RecordBatch,
    Reservation, ReserveAnswer, ReserveId, Role, Settlement, Sha256Hex, StampKind, TokenUsage, Usd,
};

use crate::world::{World, card, secret, subject, take};

#[tokio::test]
async fn money_is_set_aside_once_and_survives_the_hub() {
    let mut world = World::start().await;
    let root = world.say("hi", None).await;
    let reservation = |id: &str, cents| Reservation {
        id: ReserveId::new(id),
        thread: world.thread(&root),
        person: None,
        amount: Usd::from_cents(cents),
        heard: None,
    };
    let first = reservation("a", 60);
    let second = reservation("b", 60);
    let third = reservation("c", 90);
    let control = world.control(Role::Pm);
    let granted = ReserveAnswer::Granted {
        thread_total: Usd::from_cents(60),
        thread_cap: Usd::from_cents(100),
        amount: Usd::from_cents(60),
    };
    assert_eq!(control.reserve(&first).await.unwrap(), granted);
    assert_eq!(control.reserve(&first).await.unwrap(), granted);
    // A repeat keeps the first amount, and says so.
    let less = reservation("a", 10);
    assert_eq!(control.reserve(&less).await.unwrap(), granted);
    let refused = control.reserve(&second).await.unwrap();
    assert!(matches!(refused, ReserveAnswer::Refused(r) if r.budget == "thread"));
    world.down().await;
    world.up().await;
    let control = world.control(Role::Coder);
    let settlement = Settlement {
        id: ReserveId::new("a"),
        cost: Usd::from_cents(5),
        usage: TokenUsage::default(),
        model: "m".into(),
    };
    control.settle(&settlement).await.unwrap();
    control.settle(&settlement).await.unwrap();
    let granted = control.reserve(&third).await.unwrap();
    assert!(matches!(granted, ReserveAnswer::Granted { .. }));
    let refused = control.reserve(&first).await.unwrap_err();
    assert_eq!(refused.code(), Some("already_settled"));
    let view = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}", world.channel()),
        )
        .await;
    assert_eq!(view["cost"]["used"], 95 * 10_000_000);
}

#[tokio::test]
async fn a_body_is_kept_under_its_hash_and_a_hand_over_points_to_it() {
    let world = World::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("hi", None).await;
    take(&mut coder).await;
    let control = world.control(Role::Pm);
    let unknown = BodyRef::of(&Sha256Hex::of("nothing"));
    let mut post = world.post("over to you", Some(&root), "k");
    post.tag.to = vec![Role::Coder];
    let hand_over = |body: &BodyRef| HandOverTag {
        kind: HandOverKind::Task,
        body: body.clone(),
        sha256: Sha256Hex::of("task"),
    };
    post.tag.hand_over = Some(hand_over(&unknown));
    let refused = world.web(Role::Pm).post(&post).await.unwrap_err();
    assert_eq!(refused.code(), Some("unknown_body"));
    assert_eq!(
        control.get_body(&unknown).await.unwrap_err().code(),
        Some("unknown_body")
    );

    let body = control.put_body(b"task").await.unwrap();
    assert_eq!(control.put_body(b"task").await.unwrap(), body);
    post.tag.hand_over = Some(hand_over(&body));
    world.web(Role::Pm).post(&post).await.unwrap();
    let stamp = take(&mut coder).await.stamp.unwrap();
    assert_eq!(stamp.kind, StampKind::HandOver);
    assert_eq!((stamp.from, stamp.to), (Some(Role::Pm), vec![Role::Coder]));
    let reference = BodyRef::new(stamp.reference.unwrap());
    assert_eq!(
        world
            .control(Role::Coder)
            .get_body(&reference)
            .await
            .unwrap(),
        b"task"
    );
}

#[tokio::test]
async fn records_are_kept_once_in_order_and_without_secrets() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let note = |seq, text: &str| Entry {
        seq,
        epoch: 1,
        at_ms: i64::try_from(seq).unwrap(),
        record: Record::Note { text: text.into() },
    };
    let batch = |entries| RecordBatch {
        thread: world.thread(&root),
        entries,
        end: None,
    };
    let control = world.control(Role::Coder);
    control
        .records(&batch(vec![note(1, "a"), note(2, &secret())]))
        .await
        .unwrap();
    control
        .records(&batch(vec![note(2, "changed"), note(3, "c")]))
        .await
        .unwrap();
    let view = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}", world.channel()),
        )
        .await;
    let texts: Vec<&str> = view["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["entry"]["record"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 3);
    assert_eq!((texts[0], texts[2]), ("a", "c"));
    assert!(!view.to_string().contains(&secret()));
}

/// What a role knows of another comes from here.
#[tokio::test]
async fn roles_read_each_others_logs_and_every_plan_has_a_summary() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let thread = world.thread(&root);
    let entry = |seq, record| Entry {
        seq,
        epoch: 1,
        at_ms: 7,
        record,
    };
    let started = Record::ActivationStarted { activation: 1 };
    let note = Record::Note { text: "n".into() };
    let batch = RecordBatch {
        thread: thread.clone(),
        entries: vec![entry(1, started.clone()), entry(2, note)],
        end: None,
    };
    world.control(Role::Pm).records(&batch).await.unwrap();
    let coder = world.control(Role::Coder);
    let all = coder.logs(&thread, &[]).await.unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|line| line.role == Role::Pm));
    let some = coder.logs(&thread, &["activation_started"]).await.unwrap();
    let [line] = &some[..] else {
        panic!("{some:?}")
    };
    assert_eq!(line.entry.record, started);
    let foreign = "C0FOREIGN/1700000000.000100".parse().unwrap();
    assert!(coder.logs(&foreign, &[]).await.is_err());

    assert_eq!(coder.plans().await.unwrap(), []);
    let ask = async |id: &str, kind| {
        let mut post = world.post("", Some(&root), id);
        let about = subject(kind, "a flag");
        card(&world.control(Role::Pm), &mut post, id, &about).await;
        world.web(Role::Pm).post(&post).await.unwrap().ts
    };
    let press = async |ts, action: &str| {
        let click = serde_json::json!({"channel": world.channel(), "ts": ts, "action_id": action});
        let (status, answer) = world.person(&world.ana, "v1/actions", &click).await;
        assert_eq!(status, 200, "{answer}");
    };
    let plan = ask("plan01", DecisionKind::Plan).await;
    let [open] = &coder.plans().await.unwrap()[..] else {
        panic!("one plan")
    };
    assert_eq!(
        (open.choice, open.merged, &open.thread),
        (None, false, &thread)
    );
    assert_eq!(open.plan.title, "a flag");
    press(plan, "cb:plan01:approve").await;
    let merge = ask("merge1", DecisionKind::Merge).await;
    press(merge, "cb:merge1:merge").await;
    let reservation = Reservation {
        id: ReserveId::new("a"),
        thread: thread.clone(),
        person: None,
        amount: Usd::from_cents(60),
        heard: None,
    };
    coder.reserve(&reservation).await.unwrap();
    let [closed] = &coder.plans().await.unwrap()[..] else {
        panic!("one plan")
    };
    assert_eq!(closed.choice, Some(Choice::Approve));
    assert!(closed.merged);
    assert_eq!(closed.cost, Usd::from_cents(60));
}
