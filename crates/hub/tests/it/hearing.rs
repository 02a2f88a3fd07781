//! Whether Slack is heard is a state: whatever keeps the hub from hearing is told, with
//! its reason and what to do, or has a way round it. Never silence.

use std::time::Duration;

use butler_protocol::Role;
use butler_testkit::{ALL_SCOPES, Disconnect, SlackStandIn};
use serde_json::{Value, json};

use crate::{
    monitoring::{self, fires},
    slack_world::{CHANNEL, REPO, SlackWorld, until},
    world::{self, take, text_of},
};

/// What the hub says of itself.
async fn status(world: &SlackWorld) -> Value {
    let mut tokens = butler_hub::Tokens::open(world.dir.path()).unwrap();
    let person = tokens.ensure_person("you").unwrap();
    let url = world.base.join("v1/slack").unwrap();
    let request = world::client().get(url).bearer_auth(person.token.expose());
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    answer["slack"].clone()
}

async fn text(world: &SlackWorld, path: &str) -> (u16, String) {
    let url = world.base.join(path).unwrap();
    let answer = world::client().get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Waits until the hub is in this state, and gives everything it says of it.
async fn becomes(world: &SlackWorld, state: &str) -> Value {
    let waiting = async {
        loop {
            let now = status(world).await;
            if now["state"] == state {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(world::PATIENCE, waiting).await;
    waited.unwrap_or_else(|_| panic!("never {state}"))
}

/// Waits until the repo's channel has this trouble, or none.
async fn channel(world: &SlackWorld, holds: impl Fn(&Value) -> bool) -> Value {
    let waiting = async {
        loop {
            let found = status(world).await["channels"][0].clone();
            if holds(&found) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(world::PATIENCE, waiting).await;
    waited.expect("the channel's state")
}

/// Takes what comes until something with this in it does.
async fn hears(socket: &mut butler_slack::Socket, part: &str) {
    while !text_of(&take(socket).await).contains(part) {}
}

/// One row per way to be refused: the start fails, and says why and what to do.
#[tokio::test]
async fn who_is_not_let_in_does_not_start_and_says_why() {
    type Break = fn(&SlackStandIn, &mut (String, String));
    let cases: [(&str, Break, &str); 7] = [
        (
            "wrong bot token",
            |_, tokens| tokens.0 = ["xoxb", "-wrong"].concat(),
            "invalid_auth",
        ),
        (
            "wrong app token",
            |_, tokens| tokens.1 = ["xapp", "-wrong"].concat(),
            "app-level token is not accepted (invalid_auth)",
        ),
        (
            "the bot token twice",
            |_, tokens| tokens.1 = tokens.0.clone(),
            "app-level token is not accepted (not_allowed_token_type)",
        ),
        (
            "swapped",
            |_, tokens| std::mem::swap(&mut tokens.0, &mut tokens.1),
            "not_allowed_token_type",
        ),
        ("revoked", |slack, _| slack.revoke(), "token_revoked"),
        (
            "no connections:write",
            |slack, _| slack.without_connections(true),
            "lacks the scope connections:write",
        ),
        (
            "archived channel",
            |slack, _| slack.archive(&slack.channel(CHANNEL, true), true),
            "is archived; unarchive it",
        ),
    ];
    for (case, broken, part) in cases {
        let mut world = SlackWorld::down_with(SlackStandIn::start().await);
        let mut tokens = (world.slack.bot_token(), world.slack.app_token());
        broken(&world.slack, &mut tokens);
        world.tokens = Some(tokens.clone());
        let error = world.try_up().await.expect_err(case).to_string();
        assert!(error.contains(part), "{case}: {error}");
        assert!(
            error.contains("slack setup"),
            "{case} has no remedy: {error}"
        );
        for token in [&tokens.0, &tokens.1] {
            assert!(!error.contains(token.as_str()), "{case}: {error}");
        }
    }
}

/// What happens while the hub runs: one row per mishap, told everywhere, and over when
/// it is over.
#[tokio::test]
async fn what_keeps_a_running_hub_from_hearing_is_a_state() {
    let world = SlackWorld::start().await;
    let well = becomes(&world, "connected").await;
    assert_eq!(
        (&well["trouble"], &well["others"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(text(&world, "healthz").await, (200, "ok\n".to_owned()));
    let heard = monitoring::read(&text(&world, "metrics").await.1);
    assert_ne!(fires("SlackDeaf", &heard, &heard), Some(true));

    // Something on the way lets no WebSocket through.
    world.slack.block_sockets(true);
    becomes(&world, "reconnecting").await;
    let why = loop {
        let why = status(&world).await["trouble"].to_string();
        if why.contains("HTTP 403 instead of a WebSocket") {
            break why;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(why.contains("HTTPS_PROXY"), "{why}");
    let (code, said) = text(&world, "healthz").await;
    assert_eq!(code, 200, "a moment is no failure");
    assert!(said.contains("Slack is not heard at the moment"), "{said}");
    let unheard = monitoring::read(&text(&world, "metrics").await.1);
    assert_ne!(fires("SlackDeaf", &heard, &unheard), Some(false));
    world.slack.block_sockets(false);
    becomes(&world, "connected").await;

    // The token is refused from now on.
    world.slack.revoke();
    let post = world.post(Role::Pm, "hello", None, "k1");
    world.web(Role::Pm).post(&post).await.unwrap_err();
    let deaf = becomes(&world, "deaf").await;
    assert!(deaf["trouble"].as_str().unwrap().contains("token_revoked"));
    assert_eq!(text(&world, "healthz").await.0, 503);
}

#[tokio::test]
async fn socket_mode_that_is_switched_off_is_told_and_on_the_page() {
    let world = SlackWorld::start().await;
    world.slack.disconnect(Disconnect::LinkDisabled);
    let deaf = becomes(&world, "deaf").await;
    let told = deaf["trouble"].as_str().unwrap();
    assert!(told.contains("Socket Mode is switched off"), "{told}");
    assert!(told.contains("api.slack.com/apps"), "{told}");
    let (code, said) = text(&world, "healthz").await;
    assert_eq!(code, 503);
    assert!(said.contains("Socket Mode"), "{said}");
    let page = world.page().await;
    assert!(page.contains("Socket Mode is switched off"), "{page}");
}

/// A second hub on the same app takes some of what people say.
#[tokio::test]
async fn another_connection_of_the_app_is_warned_of() {
    let mut world = SlackWorld::start().await;
    let base: url::Url = world.slack.base().parse().unwrap();
    let other = butler_slack::Socket::open(
        &base,
        butler_protocol::Secret::new(world.slack.app_token()),
        tokio_util::sync::CancellationToken::new(),
    );
    let other = other.await.unwrap();
    world.down_without_waiting().await;
    world.try_up().await.unwrap();
    let shared = becomes(&world, "connected").await;
    assert_eq!(shared["others"], 1);
    let told = shared["trouble"].as_str().unwrap();
    assert!(told.contains("stop the other hub"), "{told}");
    other.close().await;
}

/// A channel is known by its id: renamed, archived, left, deleted and made anew.
#[tokio::test]
async fn a_channel_is_followed_by_its_id() {
    let mut world = SlackWorld::start().await;
    let id = world.channel();
    let mut pm = world.socket(Role::Pm).await;
    world.slack.rename(id.as_str(), "team-room");
    let found = channel(&world, |channel| channel["name"] == "team-room").await;
    assert_eq!(found["id"], json!(id));
    world.say("@codebutler.pm under the new name", None);
    hears(&mut pm, "under the new name").await;
    drop(pm);

    // Over a restart as well: no second channel with the old name.
    world.down().await;
    world.up().await;
    assert_eq!(world.channel(), id);
    assert_eq!(world.slack.channel_named(CHANNEL), None);
    let mut pm = world.socket(Role::Pm).await;
    world.say("@codebutler.pm still here", None);
    hears(&mut pm, "still here").await;

    world.slack.archive(id.as_str(), true);
    let found = channel(&world, |channel| !channel["trouble"].is_null()).await;
    assert!(found["trouble"].as_str().unwrap().contains("is archived"));
    world.slack.archive(id.as_str(), false);
    channel(&world, |channel| channel["trouble"].is_null()).await;

    world.slack.remove_app(id.as_str());
    let found = channel(&world, |channel| !channel["trouble"].is_null()).await;
    let told = found["trouble"].as_str().unwrap();
    assert!(told.contains("/invite @codebutler"), "{told}");
    world.say("@codebutler.pm while you were out", None);
    world.slack.invite_app(id.as_str());
    channel(&world, |channel| channel["trouble"].is_null()).await;
    hears(&mut pm, "while you were out").await;

    // Deleted for good, and made anew by somebody under the wanted name.
    world.slack.delete_channel(id.as_str());
    channel(&world, |channel| !channel["trouble"].is_null()).await;
    world.down().await;
    let gone = world.try_up().await.unwrap_err().to_string();
    assert!(
        gone.contains("deleted") && gone.contains("slack setup"),
        "{gone}"
    );
    assert_eq!(
        world.slack.channel_named(CHANNEL),
        None,
        "none is made silently"
    );
    let again = world.slack.channel(CHANNEL, false);
    world.up().await;
    assert_eq!(world.channel().as_str(), again);
    assert_eq!(REPO, "app");
}

/// Whoever names a role that does not run is told once that it is queued.
#[tokio::test]
async fn a_role_that_is_not_running_is_told_once_and_gets_its_message() {
    let mut world = SlackWorld::down_with(SlackStandIn::start().await);
    world.absent_after = Some(Duration::from_millis(10));
    world.up().await;
    let root = world.say("@codebutler.coder fix it", None);
    let told = || {
        let all = world.slack.messages(world.channel().as_str());
        let text = |one: &Value| one["text"].as_str().unwrap_or_default().to_owned();
        let all = all.iter().map(text);
        all.filter(|text| text.contains("The Coder is not running"))
            .count()
    };
    until("somebody is told", || told() == 1).await;
    world.say("@codebutler.coder please", Some(&root));
    let other = world.say("@codebutler.coder and this", None);
    until("the other thread is told too", || told() == 2).await;
    let mut coder = world.socket(Role::Coder).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(text_of(&take(&mut coder).await));
    }
    let heard = heard.join("; ");
    for part in ["fix it", "please", "and this"] {
        assert!(heard.contains(part), "{heard}");
    }
    assert_eq!(told(), 2, "once per thread: {other}");
}

/// Each scope taken away by itself: the start says which one it needs, or the hub runs
/// and says what is missing.
#[tokio::test]
async fn every_missing_scope_is_named() {
    for scope in ALL_SCOPES {
        let slack = SlackStandIn::start().await;
        slack.without_scope(scope);
        let mut world = SlackWorld::down_with(slack);
        let told = match world.try_up().await {
            Err(error) => error.to_string(),
            Ok(()) => {
                let status = becomes(&world, "connected").await;
                status["trouble"].as_str().unwrap_or_default().to_owned()
            }
        };
        assert!(told.contains(scope), "{scope}: {told}");
        assert!(told.contains("install"), "{scope} has no remedy: {told}");
        world.down().await;
    }
}

/// What Slack refuses to show is shown in another way: each ends in a message that
/// people can read and decide about.
#[tokio::test]
async fn what_slack_refuses_is_said_in_another_way() {
    use crate::relay::{ask, decided};
    use butler_protocol::DecisionKind;

    let world = SlackWorld::start().await;
    let root = world.say("@codebutler.pm plan it", None);
    let find = |ts: &str| {
        let all = world.slack.messages(world.channel().as_str());
        all.into_iter().find(|one| one["ts"] == ts).unwrap()
    };
    // Blocks of a kind that this workspace does not know.
    world.slack.refuse_blocks("markdown");
    let card = ask(&world, &root, "p1", DecisionKind::Plan).await;
    let kinds: Vec<Value> = find(&card)["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].clone())
        .collect();
    assert!(!kinds.contains(&json!("markdown")), "{kinds:?}");
    assert!(kinds.contains(&json!("actions")), "{kinds:?}");
    let text = find(&card)["blocks"].to_string();
    assert!(text.contains("the subject"), "{text}");
    let approve = approve_of(&find(&card));
    world
        .slack
        .click(&world.ana, world.channel().as_str(), &card, &approve);
    for _ in 0..500 {
        if decided(&world, "p1").await.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(decided(&world, "p1").await.is_some());
    let redrawn = || find(&card)["blocks"].to_string();
    until("the card loses its buttons", || {
        !redrawn().contains("actions")
    })
    .await;

    // Names of its own.
    world.slack.without_scope("chat:write.customize");
    let post = world.post(Role::Coder, "done", Some(&root), "k1");
    let posted = world.web(Role::Coder).post(&post).await.unwrap();
    assert_eq!(find(posted.ts.as_str())["text"], "*codebutler.coder*: done");
    let card = ask(&world, &root, "p2", DecisionKind::Plan).await;
    assert!(find(&card)["blocks"].to_string().contains("codebutler.pm"));
}

fn approve_of(card: &Value) -> String {
    let blocks = card["blocks"].as_array().unwrap();
    let actions = blocks.iter().find(|block| block["type"] == "actions");
    let first = &actions.unwrap()["elements"][0]["action_id"];
    first.as_str().unwrap().to_owned()
}

/// Slack's clock an hour ahead or behind: a post whose answer was lost is found.
#[tokio::test]
async fn clocks_that_differ_make_no_second_post() {
    for ahead in [-3_600, 3_600] {
        let slack = SlackStandIn::start().await;
        slack.clock_ahead_s(ahead);
        let mut world = SlackWorld::down_with(slack);
        world.up().await;
        let root = world.say("@codebutler.pm plan it", None);
        for (number, thread) in [None, Some(root.as_str())].into_iter().enumerate() {
            world.slack.lose_answers(1);
            let words = format!("said {number}");
            let post = world.post(Role::Pm, &words, thread, &words);
            world.web(Role::Pm).post(&post).await.unwrap();
            assert_eq!(world.in_slack(&words).len(), 1, "{ahead} s, {words}");
        }
        world.down().await;
    }
}
