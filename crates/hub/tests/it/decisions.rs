//! Cards and what people decide about them.

use butler_slack::{EnvelopeKind, Posted, blocks};
use butler_vocab::{
    CardTag, Choice, DecisionKind, Idem, MessageTs, PostTag, RequestId, Role, Sha256Hex, StampKind,
};
use serde_json::{Value, json};

use crate::world::{World, secret, take};

async fn ask(world: &World, root: &MessageTs, id: &str, kind: DecisionKind, body: &str) -> Posted {
    try_ask(world, root, id, kind, body).await.unwrap()
}

async fn try_ask(
    world: &World,
    root: &MessageTs,
    id: &str,
    kind: DecisionKind,
    body: &str,
) -> Result<Posted, butler_slack::SlackError> {
    let request = RequestId::new(id);
    let card = blocks::card(kind, &request, "May I?", body, "");
    let mut post = world.post(&card.text, Some(root), &format!("card {id}"));
    post.blocks = Some(card.blocks);
    post.tag = PostTag {
        card: Some(CardTag {
            request,
            kind,
            sha256: Sha256Hex::of(body),
        }),
        ..PostTag::message(Idem::new(format!("card {id}")), vec![])
    };
    world.web(Role::Pm).post(&post).await
}

fn click(world: &World, ts: &MessageTs, action: &str) -> Value {
    json!({"channel": world.channel(), "ts": ts, "action_id": action})
}

#[tokio::test]
async fn a_click_becomes_a_record_and_every_role_is_told() {
    let mut world = World::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None).await;
    take(&mut pm).await;
    take(&mut coder).await;
    let card = ask(&world, &root, "plan01", DecisionKind::Plan, "1. do it").await;
    take(&mut coder).await;
    let control = world.control(Role::Coder);
    let request = RequestId::new("plan01");
    let asked = control.decision(&request).await.unwrap();
    assert_eq!(asked.decided, None);
    assert_eq!(asked.asked.message, card.ts);
    assert_eq!(asked.asked.from, Role::Pm);

    let (status, answer) = world
        .person(
            &world.ana,
            "v1/actions",
            &click(&world, &card.ts, "cb:plan01:approve"),
        )
        .await;
    assert_eq!(status, 200, "{answer}");
    for socket in [&mut pm, &mut coder] {
        let envelope = take(socket).await;
        assert_eq!(envelope.kind, EnvelopeKind::Interactive);
        let action = envelope.action().unwrap();
        assert_eq!(action.user, world.ana.user);
        assert_eq!(action.message, card.ts);
        assert_eq!(action.thread, world.thread(&root));
        assert_eq!(action.decision().unwrap().choice, Choice::Approve);
        assert_eq!(envelope.payload["message"]["ts"], json!(card.ts));
        let stamp = envelope.stamp.unwrap();
        assert_eq!(stamp.kind, StampKind::Decision);
        assert_eq!(stamp.reference.as_deref(), Some("plan01"));
        assert_eq!(stamp.to, [Role::Pm]);
    }
    world.down().await;
    world.up().await;
    let decided = world
        .control(Role::Coder)
        .decision(&request)
        .await
        .unwrap()
        .decided
        .unwrap();
    assert_eq!(
        (decided.choice, decided.person),
        (Choice::Approve, world.ana.user.clone())
    );
    assert_eq!(decided.sha256, Sha256Hex::of("1. do it"));

    let (status, answer) = world
        .person(
            &world.ben,
            "v1/actions",
            &click(&world, &card.ts, "cb:plan01:reject"),
        )
        .await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (409, Some("already_decided"))
    );
}

#[tokio::test]
async fn a_click_anywhere_else_is_refused() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let card = ask(&world, &root, "plan01", DecisionKind::Plan, "a").await;
    let other = ask(&world, &root, "plan02", DecisionKind::Plan, "b").await;
    for (ts, action, expected) in [
        (&other.ts, "cb:plan01:approve", "not_the_card"),
        (&root, "cb:plan01:approve", "not_the_card"),
        (&card.ts, "cb:nobody:approve", "unknown_request"),
        (&card.ts, "cb:plan01:merge", "invalid_choice"),
        (&card.ts, "cb:plan01:explode", "unknown_action"),
        (&card.ts, "something", "unknown_action"),
    ] {
        let (_, answer) = world
            .person(&world.ana, "v1/actions", &click(&world, ts, action))
            .await;
        assert_eq!(answer["error"], expected, "{action}");
    }
    let open = world.get(&world.ana, "v1/decisions?open=1").await;
    assert_eq!(open["decisions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn only_approvers_decide_about_commands_and_merges() {
    let world = World::with_approvers(|ana, _| vec![ana.user.clone()]).await;
    let root = world.say("clean up", None).await;
    let card = ask(&world, &root, "cmd001", DecisionKind::Command, "rm -r x").await;
    let approve = click(&world, &card.ts, "cb:cmd001:approve");
    let (status, answer) = world.person(&world.ben, "v1/actions", &approve).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (403, Some("not_an_approver"))
    );
    // Ben's thumb and words are heard and decide nothing.
    let thumb = json!({"channel": world.channel(), "ts": card.ts, "name": "+1"});
    let (status, _) = world.person(&world.ben, "v1/reactions", &thumb).await;
    assert_eq!(status, 200);
    let words = json!({"channel": world.channel(), "text": "approve cmd001", "thread_ts": root});
    world.person(&world.ben, "v1/messages", &words).await;
    let request = RequestId::new("cmd001");
    let control = world.control(Role::Pm);
    assert_eq!(control.decision(&request).await.unwrap().decided, None);
    // A plan is everybody's.
    let plan = ask(&world, &root, "plan01", DecisionKind::Plan, "p").await;
    let (status, _) = world
        .person(
            &world.ben,
            "v1/actions",
            &click(&world, &plan.ts, "cb:plan01:reject"),
        )
        .await;
    assert_eq!(status, 200);
    let (status, _) = world.person(&world.ana, "v1/actions", &approve).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_thumb_on_the_card_and_the_exact_words_approve() {
    let world = World::start().await;
    let control = world.control(Role::Pm);
    let root = world.say("build it", None).await;
    let plan = ask(&world, &root, "plan01", DecisionKind::Plan, "p").await;
    let merge = ask(&world, &root, "merge1", DecisionKind::Merge, "m").await;
    ask(&world, &root, "cmd001", DecisionKind::Command, "c").await;
    for ts in [&plan.ts, &merge.ts] {
        let thumb = json!({"channel": world.channel(), "ts": ts, "name": "thumbsup::skin-tone-2"});
        world.person(&world.ana, "v1/reactions", &thumb).await;
    }
    world.say("approve cmd001", None).await;
    let undecided = control.decision(&RequestId::new("cmd001")).await.unwrap();
    assert_eq!(
        undecided.decided, None,
        "words outside the thread are only words"
    );
    world.say("approve cmd001", Some(&root)).await;
    for (id, expected) in [("plan01", true), ("merge1", false), ("cmd001", true)] {
        let view = control.decision(&RequestId::new(id)).await.unwrap();
        assert_eq!(view.decided.is_some(), expected, "{id}");
    }
}

#[tokio::test]
async fn a_thumb_down_and_the_exact_words_reject() {
    let world = World::start().await;
    let control = world.control(Role::Lead);
    let root = world.say("what did we learn?", None).await;
    let asked = [
        ("learn1", DecisionKind::Learning, "-1", Some(Choice::Reject)),
        ("learn2", DecisionKind::Learning, "+1", Some(Choice::Accept)),
        (
            "cmd001",
            DecisionKind::Command,
            "thumbsdown",
            Some(Choice::Reject),
        ),
        ("merge1", DecisionKind::Merge, "-1", None),
    ];
    for (id, kind, name, chosen) in asked {
        let card = ask(&world, &root, id, kind, "x").await;
        let thumb = json!({"channel": world.channel(), "ts": card.ts, "name": name});
        world.person(&world.ana, "v1/reactions", &thumb).await;
        let view = control.decision(&RequestId::new(id)).await.unwrap();
        assert_eq!(view.decided.map(|decision| decision.choice), chosen, "{id}");
    }
    for (id, kind) in [
        ("learn3", DecisionKind::Learning),
        ("plan01", DecisionKind::Plan),
    ] {
        ask(&world, &root, id, kind, "y").await;
        world.say(&format!("reject {id}"), None).await;
        let request = RequestId::new(id);
        let view = control.decision(&request).await.unwrap();
        assert_eq!(
            view.decided, None,
            "words outside the thread are only words"
        );
        world.say(&format!("reject {id}"), Some(&root)).await;
        let view = control.decision(&request).await.unwrap();
        let chosen = view.decided.map(|decision| decision.choice);
        assert_eq!(chosen, Some(Choice::Reject), "{id}");
    }
}

#[tokio::test]
async fn a_card_that_redaction_would_alter_is_refused() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let body = format!("curl -H {}", secret());
    let refused = try_ask(&world, &root, "cmd001", DecisionKind::Command, &body).await;
    assert_eq!(refused.unwrap_err().code(), Some("card_would_be_redacted"));
    let thread = world
        .web(Role::Pm)
        .replies(&world.thread(&root))
        .await
        .unwrap();
    assert_eq!(thread.len(), 1);
}

#[tokio::test]
async fn a_request_is_bound_to_one_card() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let first = ask(&world, &root, "plan01", DecisionKind::Plan, "a").await;
    // The same post again is the same card; another post cannot take its id.
    assert_eq!(
        ask(&world, &root, "plan01", DecisionKind::Plan, "a").await,
        first
    );
    let mut post = world.post("again", Some(&root), "another key");
    post.tag.card = Some(CardTag {
        request: RequestId::new("plan01"),
        kind: DecisionKind::Plan,
        sha256: Sha256Hex::of("b"),
    });
    let refused = world.web(Role::Coder).post(&post).await.unwrap_err();
    assert_eq!(refused.code(), Some("request_taken"));
}
