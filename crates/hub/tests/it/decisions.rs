//! Cards and what people decide about them.

use butler_hub::Tokens;
use butler_protocol::{Choice, DecisionKind, MessageTs, RequestId, Role, Sha256Hex, StampKind};
use butler_slack::{EnvelopeKind, Posted};
use serde_json::{Value, json};

use crate::world::{World, card, card_for, secret, subject, take};

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
    let mut post = world.post("", Some(root), &format!("card {id}"));
    let control = world.control(Role::Pm);
    card(&control, &mut post, id, &subject(kind, body)).await;
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
    let shown = subject(DecisionKind::Plan, "1. do it");
    assert_eq!(decided.sha256, shown.sha256());

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
    // He was told, each time, and nobody else was.
    let thread = format!("v1/threads/{}/{root}", world.channel());
    let told = world.get(&world.ben, &thread).await["ephemerals"].to_string();
    assert_eq!(told.matches("who may approve this").count(), 2, "{told}");
    assert_eq!(
        world.get(&world.ana, &thread).await["ephemerals"],
        json!([])
    );
    let (status, _) = world.person(&world.ana, "v1/actions", &approve).await;
    assert_eq!(status, 200);
}

/// Asked by a team that listens to ana, with ben as the machine's approver or
/// with none; carl is in neither list.
async fn who_may(approver: bool, kind: DecisionKind, choice: Choice, name: &str) -> [u16; 3] {
    let world = World::with_approvers(|_, ben| {
        let ben = ben.user.clone();
        if approver { vec![ben] } else { Vec::new() }
    })
    .await;
    let carl = Tokens::open(world.dir.path())
        .unwrap()
        .ensure_person("carl")
        .unwrap();
    let root = world.say("go", None).await;
    let mut answers = [0; 3];
    let people = [&carl, &world.ana, &world.ben];
    for (number, who) in people.into_iter().enumerate() {
        let id = format!("card0{number}");
        let mut post = world.post("", Some(&root), &id);
        let allowed = [world.ana.user.clone()];
        let about = subject(kind, &id);
        card_for(&allowed, &world.control(Role::Pm), &mut post, &id, &about).await;
        let posted = world.web(Role::Pm).post(&post).await.unwrap();
        // A thumb and words first: they decide as little as the button does.
        let thumb = json!({"channel": world.channel(), "ts": posted.ts, "name": "+1"});
        let words = json!({"channel": world.channel(), "text": format!("approve {id}"),
            "thread_ts": root});
        if number == 0 {
            world.person(who, "v1/reactions", &thumb).await;
            world.person(who, "v1/messages", &words).await;
        }
        let action = format!("cb:{id}:{name}");
        let (status, _) = world
            .person(who, "v1/actions", &click(&world, &posted.ts, &action))
            .await;
        let view = world.control(Role::Pm).decision(&RequestId::new(&id)).await;
        let chosen = view.unwrap().decided.map(|decision| decision.choice);
        assert_eq!(chosen, (status == 200).then_some(choice), "{kind:?}");
        answers[number] = status;
    }
    answers
}

#[tokio::test]
async fn somebody_in_neither_list_decides_nothing() {
    for (kind, choice, name) in [
        (DecisionKind::Plan, Choice::Approve, "approve"),
        (DecisionKind::Learning, Choice::Accept, "accept"),
        (DecisionKind::Cap, Choice::Raise, "raise"),
        (DecisionKind::Command, Choice::Approve, "approve"),
        (DecisionKind::Merge, Choice::Merge, "merge"),
    ] {
        let grave = matches!(kind, DecisionKind::Command | DecisionKind::Merge);
        let ana = if grave { 403 } else { 200 };
        assert_eq!(
            who_may(true, kind, choice, name).await,
            [403, ana, 200],
            "{kind:?}"
        );
        assert_eq!(
            who_may(false, kind, choice, name).await,
            [403, 200, 403],
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn an_agent_neither_draws_a_card_nor_changes_one() {
    let world = World::start().await;
    let root = world.say("clean up", None).await;
    let (web, control) = (world.web(Role::Pm), world.control(Role::Pm));
    let about = subject(DecisionKind::Command, "rm -r x");
    let fresh = async |id: &str| {
        let mut post = world.post("", Some(&root), id);
        card(&control, &mut post, id, &about).await;
        post
    };
    let mut said = fresh("cmd001").await;
    said.text = "ls".into();
    let mut drawn = fresh("cmd002").await;
    drawn.blocks = Some(json!([{"type": "markdown", "text": "ls"}]));
    let mut nothing = fresh("cmd003").await;
    nothing.tag.card.as_mut().unwrap().body = None;
    let mut other = fresh("cmd004").await;
    other.tag.card.as_mut().unwrap().sha256 = Sha256Hex::of("ls");
    for (post, code) in [
        (said, "card_has_text"),
        (drawn, "card_has_text"),
        (nothing, "unknown_body"),
        (other, "subject_mismatch"),
    ] {
        assert_eq!(web.post(&post).await.unwrap_err().code(), Some(code));
    }
    let ts = web.post(&fresh("cmd005").await).await.unwrap().ts;
    let channel = world.channel();
    let shown = async || {
        world
            .web(Role::Pm)
            .replies(&world.thread(&root))
            .await
            .unwrap()
    };
    let blocks = async || shown().await.pop().unwrap().blocks.unwrap();
    let open = blocks().await;
    assert!(open.to_string().contains("rm -r x"), "{open}");
    for decided in [false, true] {
        if decided {
            let approve = click(&world, &ts, "cb:cmd005:approve");
            let (status, _) = world.person(&world.ana, "v1/actions", &approve).await;
            assert_eq!(status, 200);
        }
        let before = blocks().await;
        let changed = web.update(&channel, &ts, "ls", None).await;
        assert_eq!(changed.unwrap_err().code(), Some("cant_update_message"));
        let gone = web
            .call("chat.delete", json!({"channel": channel, "ts": ts}))
            .await;
        assert_eq!(gone.unwrap_err().code(), Some("cant_delete_message"));
        assert_eq!(blocks().await, before);
    }
    let (last, text) = (blocks().await, shown().await.pop().unwrap().text);
    assert!(
        !last.to_string().contains("\"actions\""),
        "the hub took the buttons: {last}"
    );
    assert!(
        last.to_string().contains("rm -r x") && text.ends_with("Approved by ana"),
        "{text}"
    );
}

#[tokio::test]
async fn a_command_of_any_length_is_shown_whole() {
    let world = World::start().await;
    let root = world.say("clean up", None).await;
    let command = format!("true {}\nrm -rf ~", "x".repeat(200_000));
    let posted = ask(&world, &root, "cmd001", DecisionKind::Command, &command).await;
    let thread = world
        .web(Role::Pm)
        .replies(&world.thread(&root))
        .await
        .unwrap();
    let message = thread.last().unwrap();
    assert_eq!(message.ts, posted.ts);
    let file = &message.files[0];
    assert_eq!(file.name, "card-cmd001.txt");
    let bytes = world
        .http
        .get(format!("{}files/{}", world.base, file.id))
        .bearer_auth(world.ana.token.expose())
        .send()
        .await
        .unwrap();
    let text = bytes.text().await.unwrap();
    assert!(
        text.contains(&command.replace('\n', "\n    ")),
        "all of it is in the file"
    );
    let blocks = message.blocks.as_ref().unwrap().to_string();
    assert!(
        blocks.contains("card-cmd001.txt") && blocks.contains("cb:cmd001:approve"),
        "{blocks}"
    );
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
    let mut post = world.post("", Some(&root), "another key");
    let other = subject(DecisionKind::Plan, "b");
    let control = world.control(Role::Coder);
    card(&control, &mut post, "plan01", &other).await;
    let refused = world.web(Role::Coder).post(&post).await.unwrap_err();
    assert_eq!(refused.code(), Some("request_taken"));
}

#[tokio::test]
async fn another_hash_than_the_cards_decides_nothing_and_neither_do_words_that_are_only_words() {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let card = ask(&world, &root, "plan01", DecisionKind::Plan, "1. do it").await;
    let request = RequestId::new("plan01");
    for text in ["approve plan01", "yes", "archive"] {
        let said = json!({"channel": world.channel(), "thread_ts": root, "text": text,
            "only_words": true});
        let (status, answer) = world.person(&world.ana, "v1/messages", &said).await;
        assert_eq!(status, 200, "{answer}");
    }
    let mut press = click(&world, &card.ts, "cb:plan01:approve");
    press["sha256"] = json!(subject(DecisionKind::Plan, "2. do more").sha256());
    let (status, answer) = world.person(&world.ana, "v1/actions", &press).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (400, Some("not_the_card"))
    );
    let control = world.control(Role::Coder);
    assert_eq!(control.decision(&request).await.unwrap().decided, None);
    press["sha256"] = json!(subject(DecisionKind::Plan, "1. do it").sha256());
    let (status, answer) = world.person(&world.ana, "v1/actions", &press).await;
    assert_eq!(status, 200, "{answer}");
    assert!(control.decision(&request).await.unwrap().decided.is_some());
}

fn edit(world: &World, ts: &MessageTs, id: &str, step: &str) -> Value {
    json!({"channel": world.channel(), "ts": ts, "request": id, "steps": ["do it", step],
        "criteria": ["it works"], "files": ["src/a.rs"], "complexity": "complex"})
}

/// A plan that is changed on its card: the changed one is drawn, hashed and decided.
#[tokio::test]
async fn a_plan_is_changed_in_place_and_the_decision_is_about_that() {
    let world = World::with_approvers(|ana, _| vec![ana.user.clone()]).await;
    let root = world.say("build it", None).await;
    let card = ask(&world, &root, "plan01", DecisionKind::Plan, "a").await;
    let control = world.control(Role::Pm);
    let request = RequestId::new("plan01");
    let before = control.decision(&request).await.unwrap();
    // Not by everybody, not with a secret, not empty, and not what is no plan.
    let changed = edit(&world, &card.ts, "plan01", "and test it");
    let (status, _) = world.person(&world.ben, "v1/plans/approve", &changed).await;
    assert_eq!(status, 403);
    let told = edit(&world, &card.ts, "plan01", &crate::world::secret());
    let (_, answer) = world.person(&world.ana, "v1/plans/approve", &told).await;
    assert_eq!(answer["error"], "card_would_be_redacted");
    let mut empty = changed.clone();
    empty["steps"] = json!([" "]);
    let (_, answer) = world.person(&world.ana, "v1/plans/approve", &empty).await;
    assert_eq!(answer["error"], "no_text");
    let other = ask(&world, &root, "cmd001", DecisionKind::Command, "rm x").await;
    let wrong = edit(&world, &other.ts, "cmd001", "x");
    let (_, answer) = world.person(&world.ana, "v1/plans/approve", &wrong).await;
    assert_eq!(answer["error"], "invalid_choice");
    let mut elsewhere = changed.clone();
    elsewhere["ts"] = json!(other.ts);
    let (_, answer) = world
        .person(&world.ana, "v1/plans/approve", &elsewhere)
        .await;
    assert_eq!(answer["error"], "not_the_card");
    assert_eq!(control.decision(&request).await.unwrap(), before);

    let mut with_cap = changed.clone();
    with_cap["cap"] = json!(butler_protocol::Usd::from_cents(250));
    // A model that nobody knows would be asked of nobody.
    with_cap["model"] = json!("strong");
    let (_, answer) = world
        .person(&world.ana, "v1/plans/approve", &with_cap)
        .await;
    assert_eq!(answer["error"], "unknown_model");
    let facts = butler_protocol::AgentFacts {
        pool: vec!["strong".into()],
        ..Default::default()
    };
    world.control(Role::Coder).facts(&facts).await.unwrap();
    let (status, answer) = world
        .person(&world.ana, "v1/plans/approve", &with_cap)
        .await;
    assert_eq!(status, 200, "{answer}");
    let view = control.decision(&request).await.unwrap();
    let plan = view.edited.unwrap();
    let decided = view.decided.unwrap();
    assert_eq!(decided.sha256, plan.sha256());
    assert_ne!(decided.sha256, view.asked.sha256);
    assert_eq!(
        view.asked.sha256, before.asked.sha256,
        "what was asked stays"
    );
    assert_eq!(plan.steps[1].text, "and test it");
    assert_eq!(plan.model.as_deref(), Some("strong"));
    assert_eq!(plan.title, "a", "what was not changed is the agent's");
    // The card shows what was approved, and by whom it was changed.
    let thread = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}", world.channel()),
        )
        .await;
    let messages = thread["messages"].as_array().unwrap();
    let shown = messages
        .iter()
        .find(|one| one["ts"] == json!(card.ts))
        .unwrap();
    let shown = shown["blocks"].to_string();
    for words in ["and test it", "it works", "src/a.rs", "complex", "ana"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(
        thread["cost"]["cap"],
        json!(butler_protocol::Usd::from_cents(250)),
        "{}",
        thread["cost"]
    );
    let (_, answer) = world.person(&world.ana, "v1/plans/approve", &changed).await;
    assert_eq!(answer["error"], "already_decided");
}
