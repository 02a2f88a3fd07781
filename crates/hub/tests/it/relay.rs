//! What agents and people notice of real Slack behind the hub: nothing but
//! each other.

use std::time::Duration;

use butler_hub::{HubError, Pace};
use butler_protocol::{Choice, DecisionKind, RequestId, Role, StampKind, Subject, UserId};
use butler_slack::EnvelopeKind;
use butler_testkit::{Disconnect, Limits, SlackStandIn};
use serde_json::{Value, json};

use crate::{
    slack_world::{CHANNEL, SlackWorld, until},
    world::{self, card, subject, take, text_of},
};

#[tokio::test]
async fn people_and_roles_hear_each_other_once() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("@codebutler.pm build <it>", None);
    for socket in [&mut pm, &mut coder] {
        let heard = take(socket).await;
        let stamp = heard.stamp.clone().unwrap();
        assert_eq!(
            stamp.to,
            [Role::Pm],
            "the link that Slack made of it is read"
        );
        assert_eq!((stamp.from, stamp.kind), (None, StampKind::Message));
        assert_eq!(heard.payload["event"]["user"], world.ana.as_str());
        assert_eq!(stamp.thread.unwrap(), world.thread(&root));
    }
    let name = world
        .web(Role::Pm)
        .user_name(&UserId::new(&world.ana))
        .await;
    assert_eq!(name.unwrap(), "ana");

    // The echo leaves Slack long before the answer.
    world.slack.slow_answers(Duration::from_millis(300));
    let mut post = world.post(Role::Pm, "to work", Some(&root), "k1");
    post.tag.to = vec![Role::Coder];
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    let heard = take(&mut coder).await;
    let stamp = heard.stamp.clone().unwrap();
    assert_eq!((stamp.from, stamp.to), (Some(Role::Pm), vec![Role::Coder]));
    assert_eq!(heard.payload["event"]["ts"], json!(posted.ts));
    assert_eq!(heard.payload["event"]["subtype"], "bot_message");
    let again = world.web(Role::Pm).post(&post).await.unwrap();
    assert_eq!(again, posted, "the same key gets the same answer");

    // What comes next is the next message: no echo, no noise, no copy.
    world.say("thanks", Some(&root));
    assert_eq!(text_of(&take(&mut coder).await), "thanks");
    assert_eq!(
        text_of(&take(&mut pm).await),
        "thanks",
        "never its own post"
    );
    assert_eq!(world.in_slack("to work").len(), 1);
    let kept = world
        .web(Role::Lead)
        .replies(&world.thread(&root))
        .await
        .unwrap();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[1].tag().unwrap().from, Some(Role::Pm));
    until("everything is acknowledged", || {
        world.slack.unacknowledged() == 0
    })
    .await;
}

#[tokio::test]
async fn edits_deletions_reactions_and_strangers() {
    let world = SlackWorld::start().await;
    let mut pm = world.socket(Role::Pm).await;
    let root = world.say("see https://example.org", None);
    take(&mut pm).await;
    let channel = world.channel();
    // Noise that is nobody's edit, and a bot that is nobody's business.
    world
        .slack
        .foreign_bot_says(channel.as_str(), "deployed", None);
    world
        .slack
        .edit(&world.ana, channel.as_str(), &root, "see it");
    let changed = take(&mut pm).await;
    assert_eq!(changed.payload["event"]["subtype"], "message_changed");
    assert_eq!(changed.payload["event"]["message"]["text"], "see it");
    world
        .slack
        .react(&world.ben, channel.as_str(), &root, "octagonal_sign");
    let reacted = take(&mut pm).await;
    assert_eq!(reacted.payload["event"]["reaction"], "octagonal_sign");
    assert_eq!(reacted.stamp.unwrap().thread.unwrap(), world.thread(&root));
    world
        .web(Role::Pm)
        .react(&channel, &root.parse().unwrap(), "eyes")
        .await
        .unwrap();
    assert_eq!(
        world.slack.messages(channel.as_str())[0]["reactions"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    world
        .slack
        .unreact(&world.ben, channel.as_str(), &root, "octagonal_sign");
    let reacted = take(&mut pm).await;
    assert_eq!(reacted.payload["event"]["type"], "reaction_removed");
    world.slack.delete(channel.as_str(), &root);
    let deleted = take(&mut pm).await;
    assert_eq!(deleted.payload["event"]["deleted_ts"], root.as_str());
}

pub(crate) async fn ask(world: &SlackWorld, root: &str, id: &str, kind: DecisionKind) -> String {
    ask_about(world, root, id, &subject(kind, "the subject")).await
}

async fn ask_about(world: &SlackWorld, root: &str, id: &str, about: &Subject) -> String {
    let mut post = world.post(Role::Pm, "", Some(root), &format!("card {id}"));
    card(&world.control(Role::Pm), &mut post, id, about).await;
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    posted.ts.as_str().to_owned()
}

pub(crate) async fn decided(world: &SlackWorld, id: &str) -> Option<(Choice, UserId)> {
    let view = world.control(Role::Pm).decision(&RequestId::new(id)).await;
    let decided = view.unwrap().decided?;
    Some((decided.choice, decided.person))
}

#[tokio::test]
async fn a_click_in_slack_is_a_decision_by_the_same_rules() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.approvers = vec![UserId::new(&world.ana)];
    world.up().await;
    let root = world.say("clean up", None);
    let mut coder = world.socket(Role::Coder).await;
    take(&mut coder).await;
    let card = ask(&world, &root, "cmd001", DecisionKind::Command).await;
    take(&mut coder).await;
    let channel = world.channel();
    let press = |who: &str, action: &str| world.slack.click(who, channel.as_str(), &card, action);
    assert!(press(&world.ben, "cb:cmd001:approve"));
    until("ben is told", || world.slack.responses().len() == 1).await;
    let told = &world.slack.responses()[0];
    assert_eq!(told["response_type"], "ephemeral");
    assert!(
        told["text"].as_str().unwrap().contains("may approve"),
        "{told}"
    );
    assert_eq!(decided(&world, "cmd001").await, None);
    assert!(press(&world.ana, "cb:cmd001:approve"));
    let heard = take(&mut coder).await;
    assert_eq!(heard.kind, EnvelopeKind::Interactive);
    assert_eq!(heard.stamp.clone().unwrap().kind, StampKind::Decision);
    let ana = UserId::new(&world.ana);
    assert_eq!(
        decided(&world, "cmd001").await,
        Some((Choice::Approve, ana))
    );
    assert!(press(&world.ana, "cb:cmd001:reject"));
    until("ana is told", || world.slack.responses().len() == 2).await;
    assert_eq!(decided(&world, "cmd001").await.unwrap().0, Choice::Approve);

    // The address for answers is ours, and leads to Slack's.
    let url = heard.payload["response_url"].as_str().unwrap();
    assert!(url.starts_with(world.base.as_str()), "{url}");
    let answer = |replace: bool| json!({"replace_original": replace, "text": "ls was approved"});
    let send = async |answer: Value| {
        let sent = world::client().post(url).json(&answer).send().await;
        sent.unwrap().status()
    };
    assert_eq!(send(answer(true)).await, 400, "nobody changes a card");
    assert_eq!(send(answer(false)).await, 200);
    // The hub itself takes the buttons away, and says who decided.
    let done = || world.in_slack("May I run this?\nApproved by ana");
    until("the card is drawn anew", || done().len() == 1).await;
    let blocks = done()[0]["blocks"].to_string();
    assert!(
        blocks.contains("the subject") && !blocks.contains("\"actions\""),
        "{blocks}"
    );
}

#[tokio::test]
async fn a_card_that_is_too_long_for_slack_stands_below_its_whole_text() {
    let world = SlackWorld::start().await;
    let root = world.say("clean up", None);
    let command = format!("true {}\nrm -rf ~", "x".repeat(200_000));
    let about = subject(DecisionKind::Command, &command);
    let card = ask_about(&world, &root, "cmd001", &about).await;
    let shared = world
        .in_slack("")
        .into_iter()
        .find(|one| one["files"].is_array());
    assert_eq!(shared.unwrap()["files"][0]["name"], "card-cmd001.txt");
    let channel = world.channel();
    assert!(
        world
            .slack
            .click(&world.ana, channel.as_str(), &card, "cb:cmd001:approve")
    );
    until("it is decided", || {
        world.in_slack("May I run this?\nApproved by ana").len() == 1
    })
    .await;
    assert_eq!(decided(&world, "cmd001").await.unwrap().0, Choice::Approve);
}

#[tokio::test]
async fn other_buttons_and_commands_reach_the_agents() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let mut post = world.post(Role::Pm, "pick", None, "pick");
    post.blocks = Some(json!([{"type": "actions", "block_id": "b", "elements": [
        {"type": "button", "action_id": "pick:1", "value": "one",
         "text": {"type": "plain_text", "text": "One"}}]}]));
    let posted = world.web(Role::Pm).post(&post).await.unwrap();
    take(&mut coder).await;
    let channel = world.channel();
    world
        .slack
        .click(&world.ana, channel.as_str(), posted.ts.as_str(), "pick:1");
    let heard = take(&mut coder).await;
    assert_eq!(heard.payload["actions"][0]["action_id"], "pick:1");
    assert_eq!(heard.payload["user"]["id"], world.ana.as_str());
    world
        .slack
        .command(&world.ana, channel.as_str(), "/deploy", "status");
    let heard = take(&mut coder).await;
    assert_eq!(heard.kind, EnvelopeKind::SlashCommands);
    assert_eq!(
        (&heard.payload["command"], &heard.payload["text"]),
        (&json!("/deploy"), &json!("status"))
    );
    let url = heard.payload["response_url"].as_str().unwrap();
    assert!(url.starts_with(world.base.as_str()));
    let sent = world::client()
        .post(url)
        .json(&json!({"text": "all well"}))
        .send()
        .await;
    assert_eq!(sent.unwrap().status(), 200);
    assert_eq!(world.slack.responses()[0]["text"], "all well");
    let web = world.web(Role::Pm);
    let whisper = json!({"channel": channel, "user": world.ben, "text": "psst"});
    web.call("chat.postEphemeral", whisper).await.unwrap();
    assert_eq!(world.slack.ephemerals()[0]["user"], world.ben.as_str());
}

#[tokio::test]
async fn what_happened_while_the_hub_was_away_still_arrives_once() {
    let mut world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("build it", None);
    take(&mut coder).await;
    let plan = ask(&world, &root, "plan01", DecisionKind::Plan).await;
    take(&mut coder).await;
    world.down().await;
    drop(coder);
    let channel = world.channel();
    world
        .slack
        .edit(&world.ana, channel.as_str(), &root, "build it well");
    world
        .slack
        .react(&world.ana, channel.as_str(), &root, "tada");
    let second = world.say("another thread", None);
    world.say("a reply", Some(&root));
    world.say("its reply", Some(&second));
    world.slack.react(&world.ben, channel.as_str(), &plan, "+1");
    assert!(
        !world
            .slack
            .click(&world.ana, channel.as_str(), &plan, "cb:plan01:reject")
    );
    world.up().await;
    let mut coder = world.socket(Role::Coder).await;
    let mut heard = Vec::new();
    while heard.len() < 7 {
        let envelope = take(&mut coder).await;
        // The hub may have stopped before it read our last acknowledgement.
        if text_of(&envelope).starts_with("Plan: the subject") {
            continue;
        }
        let event = &envelope.payload["event"];
        heard.push(match (event["type"].as_str(), event["subtype"].as_str()) {
            (Some("message"), Some("message_changed")) => "edit".to_owned(),
            (Some("message"), _) => text_of(&envelope),
            (Some(other), _) => format!("{other} {}", event["reaction"].as_str().unwrap()),
            (None, _) => "decision".to_owned(),
        });
    }
    let place = |what: &str| heard.iter().position(|one| one == what);
    for what in [
        "edit",
        "reaction_added tada",
        "another thread",
        "a reply",
        "its reply",
        "reaction_added +1",
        "decision",
    ] {
        assert!(place(what).is_some(), "{what} is missing: {heard:?}");
    }
    assert!(place("another thread") < place("its reply"));
    assert_eq!(decided(&world, "plan01").await.unwrap().0, Choice::Approve);
    // A second gap brings nothing again.
    world.slack.disconnect(Disconnect::Abrupt);
    until("it is back", || world.slack.connections() > 0).await;
    world.say("the end", None);
    assert_eq!(text_of(&take(&mut coder).await), "the end");
}

#[tokio::test]
async fn after_a_longer_absence_open_cards_are_asked_again_once() {
    let mut world = SlackWorld::start().await;
    let root = world.say("build it", None);
    let mut coder = world.socket(Role::Coder).await;
    take(&mut coder).await;
    ask(&world, &root, "plan01", DecisionKind::Plan).await;
    let asked_again = |world: &SlackWorld| {
        let all = world.slack.messages(world.channel().as_str()).into_iter();
        let again = |one: &Value| one["text"].as_str().unwrap().contains("press it again");
        all.filter(again).count()
    };
    for (absence_ms, expected) in [(0, 0), (3_600_000, 1), (0, 1)] {
        world.down().await;
        let last = world.was_alive_ms_ago(absence_ms);
        world.up().await;
        until("history was read", || world.last_alive() != last).await;
        // What is said now is worked on after the cards were seen to.
        let hello = format!("hello {absence_ms} {expected}");
        world.say(&hello, None);
        while text_of(&take(&mut coder).await) != hello {}
        assert_eq!(asked_again(&world), expected, "after {absence_ms} ms");
    }
}

#[tokio::test]
async fn a_long_post_and_files_go_both_ways() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let code = "let x = 1 &lt; 2;\n".repeat(30);
    let text = format!("before\n```\n{code}```\nafter");
    let web = world.web(Role::Pm);
    let posted = web
        .post(&world.post(Role::Pm, &text, None, "long"))
        .await
        .unwrap();
    let thread = world.thread(posted.ts.as_str());
    for expected in ["before\n", "", "\nafter"] {
        let heard = take(&mut coder).await;
        assert_eq!(text_of(&heard), expected);
        assert_eq!(heard.stamp.unwrap().from, Some(Role::Pm));
    }
    assert_eq!(world.slack.messages(world.channel().as_str()).len(), 3);
    let parts = web.replies(&thread).await.unwrap();
    let file = &parts[1].files[0];
    assert_eq!(
        world.slack.file(&file.id).unwrap(),
        "let x = 1 < 2;\n".repeat(30).into_bytes()
    );
    // A person's file comes through the hub, with the agent's own token.
    world.slack.share(
        &world.ana,
        world.channel().as_str(),
        "notes.txt",
        b"three words",
    );
    let heard = take(&mut coder).await;
    let link = heard.payload["event"]["files"][0]["url_private"]
        .as_str()
        .unwrap();
    assert!(link.starts_with(world.base.as_str()), "{link}");
    let token = world.repo.agents[&Role::Coder].bot.expose();
    let fetched = world::client()
        .get(link)
        .bearer_auth(token)
        .send()
        .await
        .unwrap();
    assert_eq!(fetched.text().await.unwrap(), "three words");
    let stranger = world::client().get(link).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn agents_never_hear_of_limits() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.pace = Pace::default();
    world.slack.limit(Limits::default());
    world.up().await;
    let mut posts = Vec::new();
    for (n, role) in [Role::Pm, Role::Coder, Role::Lead, Role::Reviewer]
        .into_iter()
        .enumerate()
    {
        let web = world.web(role);
        let post = world.post(role, &format!("m{n}"), None, &format!("k{n}"));
        posts.push(tokio::spawn(async move { web.post(&post).await }));
    }
    for post in posts {
        post.await.unwrap().unwrap();
    }
    assert_eq!(world.slack.refusals(), 0, "the hub kept its distance");
    // And when Slack is stricter than it says, that is waited out.
    world.slack.limit(Limits {
        burst: 1,
        spacing: Duration::from_secs(3),
        ..Limits::default()
    });
    let web = world.web(Role::Pm);
    for n in 10..12 {
        let post = world.post(Role::Pm, &format!("m{n}"), None, &format!("k{n}"));
        web.post(&post).await.unwrap();
    }
    assert!(world.slack.refusals() > 0);
    assert_eq!(world.slack.messages(world.channel().as_str()).len(), 6);
}

#[tokio::test]
async fn an_answer_that_was_lost_is_no_second_post() {
    let world = SlackWorld::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let web = world.web(Role::Pm);
    let root = web
        .post(&world.post(Role::Pm, "root", None, "r"))
        .await
        .unwrap();
    take(&mut coder).await;
    world.slack.lose_answers(2);
    let lost = web
        .post(&world.post(Role::Pm, "lost", None, "l"))
        .await
        .unwrap();
    let reply = world.post(Role::Pm, "lost reply", Some(root.ts.as_str()), "lr");
    web.post(&reply).await.unwrap();
    let heard = take(&mut coder).await;
    assert_eq!(heard.payload["event"]["ts"], json!(lost.ts));
    assert_eq!(text_of(&take(&mut coder).await), "lost reply");
    assert_eq!(world.in_slack("lost").len(), 1);
    assert_eq!(world.in_slack("lost reply").len(), 1);
    // What Slack refuses is refused by its name, and can be said differently.
    let refused = world.post(Role::Pm, "x", Some("1700000000.000100"), "bad");
    let error = web.post(&refused).await.unwrap_err();
    assert_eq!(error.code(), Some("thread_not_found"));
    web.post(&world.post(Role::Pm, "y", None, "bad"))
        .await
        .unwrap();
    assert_eq!(text_of(&take(&mut coder).await), "y");
}

#[tokio::test]
async fn own_posts_can_be_changed_and_deleted_by_their_role_only() {
    let world = SlackWorld::start().await;
    let web = world.web(Role::Pm);
    let posted = web
        .post(&world.post(Role::Pm, "one", None, "k"))
        .await
        .unwrap();
    let (channel, ts) = (world.channel(), posted.ts);
    let refused = world
        .web(Role::Coder)
        .update(&channel, &ts, "mine", None)
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("cant_update_message"));
    web.update(&channel, &ts, "two", None).await.unwrap();
    assert_eq!(world.in_slack("two").len(), 1);
    let kept = web.replies(&world.thread(ts.as_str())).await.unwrap();
    assert_eq!(kept[0].text, "two");
    web.call("chat.delete", json!({"channel": channel, "ts": ts}))
        .await
        .unwrap();
    assert!(world.slack.messages(channel.as_str()).is_empty());
    let link = web
        .call(
            "chat.getPermalink",
            json!({"channel": channel, "message_ts": ts}),
        )
        .await;
    assert_eq!(link.unwrap_err().code(), Some("message_not_found"));
}

#[tokio::test]
async fn people_act_in_slack_and_not_on_the_page() {
    let world = SlackWorld::start().await;
    let mut tokens = butler_hub::Tokens::open(world.dir.path()).unwrap();
    let person = tokens.ensure_person("you").unwrap();
    let body = json!({"channel": world.channel(), "text": "hi"});
    let url = world.base.join("v1/messages").unwrap();
    let request = world::client().post(url).bearer_auth(person.token.expose());
    let answer = request.json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 403);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["error"], "use_slack");
}

#[tokio::test]
async fn a_start_that_cannot_work_says_why() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.slack.revoke();
    let refused = world.try_up().await.unwrap_err().to_string();
    assert!(
        refused.contains("token_revoked") && refused.contains("slack setup"),
        "{refused}"
    );
    assert!(!refused.contains("xoxb-"), "{refused}");

    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.slack.outage(true);
    let refused = world.try_up().await.unwrap_err();
    assert!(matches!(refused, HubError::Slack(_)));
    world.slack.outage(false);
    world.up().await;
    assert_eq!(
        world.slack.channel_named(CHANNEL).as_deref(),
        Some(world.channel().as_str())
    );
    // Known once, it starts without Slack and waits for it.
    world.down().await;
    world.slack.outage(true);
    world.try_up().await.unwrap();
    world.slack.outage(false);
    let mut coder = world.socket(Role::Coder).await;
    world.say("there you are", None);
    assert_eq!(text_of(&take(&mut coder).await), "there you are");
}

#[tokio::test]
async fn a_switched_off_app_is_left_alone() {
    let world = SlackWorld::start().await;
    world.slack.disconnect(Disconnect::LinkDisabled);
    until("it hangs up", || world.slack.connections() == 0).await;
    let opened = |calls: &[String]| {
        calls
            .iter()
            .filter(|one| *one == "apps.connections.open")
            .count()
    };
    let before = opened(&world.slack.calls());
    // The hub serves on; a call later shows that it did not come back.
    let mut coder = world.socket(Role::Coder).await;
    world
        .web(Role::Pm)
        .post(&world.post(Role::Pm, "still here", None, "k"))
        .await
        .unwrap();
    assert_eq!(text_of(&take(&mut coder).await), "still here");
    assert_eq!(opened(&world.slack.calls()), before);
}
