//! Modals in Slack: a reason with a rejection, a plan changed before it is approved,
//! several questions answered at once; and what happens where Slack opens none.

use butler_protocol::{Choice, DecisionKind, RequestId, Role, UserId};
use butler_slack::Socket;
use serde_json::{Value, json};

use crate::{
    relay::{ask, decided},
    slack_world::{SlackWorld, until},
    world::{self, take, text_of},
};

/// What a field of several lines holds.
fn filled(name: &str, text: &str) -> Value {
    json!({name: {"type": "plain_text_input", "value": text}})
}

fn message(world: &SlackWorld, ts: &str) -> Value {
    let all = world.slack.messages(world.channel().as_str());
    all.into_iter().find(|one| one["ts"] == ts).unwrap()
}

/// Waits until a card is decided.
async fn choice(world: &SlackWorld, id: &str) -> (Choice, UserId) {
    let waiting = async {
        loop {
            if let Some(found) = decided(world, id).await {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(world::PATIENCE, waiting).await;
    waited.unwrap_or_else(|_| panic!("{id} is not decided"))
}

/// Waits for words that somebody says.
async fn hears(socket: &mut Socket, part: &str) -> Value {
    loop {
        let envelope = take(socket).await;
        if text_of(&envelope).contains(part) {
            return envelope.payload["event"].clone();
        }
    }
}

#[tokio::test]
async fn a_card_is_rejected_with_a_reason() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let root = world.say("@codebutler.pm plan it", None);
    let card = ask(&world, &root, "p1", DecisionKind::Plan).await;
    let channel = world.channel();
    let press = |choice: &str| {
        let action = format!("cb:p1:{choice}");
        assert!(
            world
                .slack
                .click(&world.ana, channel.as_str(), &card, &action)
        );
    };
    press("reject");
    until("the modal opens", || {
        world.slack.modal(&world.ana).is_some()
    })
    .await;
    assert_eq!(decided(&world, "p1").await, None, "nothing is decided yet");
    let why = json!({"why": filled("why", "too slow, and\nnot needed")});
    assert!(world.slack.submit(&world.ana, &why));
    let (chosen, by) = choice(&world, "p1").await;
    assert_eq!((chosen, by.as_str()), (Choice::Reject, world.ana.as_str()));
    let said = hears(&mut pm, "too slow").await;
    assert_eq!(said["user"], world.ana.as_str(), "it is ana who said it");
    assert_eq!(said["thread_ts"], root);
    until("the card says so", || {
        message(&world, &card)
            .to_string()
            .contains("Rejected by ana")
    })
    .await;
    // Once: also when Slack tells it again, and somebody presses the old button.
    press("reject");
    until("the click is answered", || {
        !world.slack.responses().is_empty()
    })
    .await;
    let answered = world.slack.responses()[0]["text"].to_string();
    assert!(answered.contains("decided already"), "{answered}");
    let all = world.slack.messages(channel.as_str());
    let reasons = all
        .iter()
        .filter(|one| one["text"].to_string().contains("too slow"));
    assert_eq!(reasons.count(), 1);
}

#[tokio::test]
async fn a_plan_is_changed_in_a_modal_and_approved_like_that() {
    let world = SlackWorld::start().await;
    let root = world.say("@codebutler.pm plan it", None);
    let card = ask(&world, &root, "p1", DecisionKind::Plan).await;
    let channel = world.channel();
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), &card, "cb:p1:modify")
    );
    until("the modal opens", || {
        world.slack.modal(&world.ana).is_some()
    })
    .await;
    let shown = world.slack.modal(&world.ana).unwrap();
    let first = &shown["blocks"][0]["element"]["initial_value"];
    assert_eq!(first, "do it", "the plan stands in the fields: {shown:#}");
    let option = json!({"text": {"type": "plain_text", "text": "medium"}, "value": "medium"});
    let values = json!({"steps": filled("steps", "first measure\ndo it"),
        "criteria": filled("criteria", "it is fast"), "files": filled("files", ""),
        "complexity": {"complexity": {"type": "static_select", "selected_option": option}},
        "words": filled("words", "")});
    assert!(world.slack.submit(&world.ana, &values));
    let (chosen, _) = choice(&world, "p1").await;
    assert_eq!(chosen, Choice::Approve);
    let view = world
        .control(Role::Pm)
        .decision(&RequestId::new("p1"))
        .await;
    let plan = view.unwrap().edited.unwrap();
    let steps: Vec<&str> = plan.steps.iter().map(|step| step.text.as_str()).collect();
    assert_eq!(steps, ["first measure", "do it"]);
    until(
        "the card in Slack shows the changed plan and who approved it",
        || {
            let card = message(&world, &card).to_string();
            card.contains("first measure") && card.contains("Approved by ana")
        },
    )
    .await;

    // In words instead: the plan is made again.
    let card = ask(&world, &root, "p2", DecisionKind::Plan).await;
    let mut pm = world.socket(Role::Pm).await;
    assert!(
        world
            .slack
            .click(&world.ben, channel.as_str(), &card, "cb:p2:modify")
    );
    until("the modal opens", || {
        world.slack.modal(&world.ben).is_some()
    })
    .await;
    let mut values = values;
    values["words"] = filled("words", "use the cache");
    assert!(world.slack.submit(&world.ben, &values));
    assert_eq!(choice(&world, "p2").await.0, Choice::Modify);
    let said = hears(&mut pm, "use the cache").await;
    assert_eq!(said["user"], world.ben.as_str());
}

#[tokio::test]
async fn several_questions_are_answered_at_once() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let root = world.say("@codebutler.pm plan it", None);
    let words = "Before I plan:\n1. Should an empty list print []?\n2. Which name has it?";
    let post = world.post(Role::Pm, words, Some(&root), "k1");
    let asked = world.web(Role::Pm).post(&post).await.unwrap();
    let asked = asked.ts.as_str();
    let button = &message(&world, asked)["blocks"][1]["elements"][0];
    let action = button["action_id"].as_str().unwrap().to_owned();
    let channel = world.channel();
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), asked, &action)
    );
    until("the modal opens", || {
        world.slack.modal(&world.ana).is_some()
    })
    .await;
    let labels: Vec<String> = world.slack.modal(&world.ana).unwrap()["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["label"]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        labels,
        ["Should an empty list print []?", "Which name has it?"]
    );
    let values = json!({"q0": filled("q0", "yes"), "q1": filled("q1", "--json")});
    assert!(world.slack.submit(&world.ana, &values));
    let said = hears(&mut pm, "--json").await;
    assert_eq!(said["text"], "1. yes\n2. --json");
    assert_eq!(
        (&said["user"], &said["thread_ts"]),
        (&json!(world.ana), &json!(root))
    );

    // One question needs no form.
    let one = world.post(Role::Pm, "1. Which name has it?", Some(&root), "k2");
    let one = world.web(Role::Pm).post(&one).await.unwrap();
    assert!(message(&world, one.ts.as_str())["blocks"].is_null());
}

/// Slack opens no modal any more, or the person may not decide: never silence.
#[tokio::test]
async fn a_click_whose_modal_does_not_open_counts_as_it_is() {
    let mut world = SlackWorld::down_with(butler_testkit::SlackStandIn::start().await);
    world.slack.late_triggers(true);
    world.up().await;
    let root = world.say("@codebutler.pm plan it", None);
    let channel = world.channel();
    let card = ask(&world, &root, "p1", DecisionKind::Plan).await;
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), &card, "cb:p1:reject")
    );
    assert_eq!(choice(&world, "p1").await.0, Choice::Reject);
    let words = "1. Is it this?\n2. Or that?";
    let post = world.post(Role::Pm, words, Some(&root), "k1");
    let asked = world.web(Role::Pm).post(&post).await.unwrap();
    let ts = asked.ts.as_str();
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), ts, "cb-answer")
    );
    until("ana is told", || !world.slack.responses().is_empty()).await;
    let told = world.slack.responses()[0]["text"].to_string();
    assert!(told.contains("answer in the thread"), "{told}");
}
