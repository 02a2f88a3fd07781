//! A token acts as what it names and as nothing else.

use butler_hub::{Hub, HubError, Tokens};
use butler_protocol::{Activity, ActivityState, Role};
use butler_slack::{SharedEpoch, SlackError, Socket, Web};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::world::{World, config, take, text_of};

#[tokio::test]
async fn an_agent_is_no_person_and_a_person_no_agent() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let bot = &world.repo.agents[&Role::Coder];
    let body = json!({"channel": world.channel(), "text": "as a person"});
    for token in [&bot.bot, &bot.app] {
        let request = world
            .http
            .post(world.base.join("v1/messages").unwrap())
            .bearer_auth(token.expose())
            .json(&body);
        assert_eq!(request.send().await.unwrap().status(), 403);
    }
    let unknown = world.http.get(world.base.join("v1/channels").unwrap());
    assert_eq!(unknown.send().await.unwrap().status(), 401);

    let person = Web::new(&world.base, world.ana.token.clone(), SharedEpoch::default()).unwrap();
    let refused = person
        .post(&world.post("as a role", Some(&root), "k"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("invalid_auth"));
    let app = Web::new(&world.base, bot.app.clone(), SharedEpoch::default()).unwrap();
    let refused = app
        .post(&world.post("with the app token", Some(&root), "k"))
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("not_allowed_token_type"));
    let opening = Socket::open(&world.base, bot.bot.clone(), CancellationToken::new()).await;
    assert!(matches!(opening.unwrap_err(), SlackError::Ended(_)));
}

#[tokio::test]
async fn a_role_cannot_take_another_roles_name() {
    let world = World::start().await;
    let mut lead = world.socket(Role::Lead).await;
    let root = world.say("hi", None).await;
    let web = world.web(Role::Coder);
    let mut post = world.post("I am the PM", Some(&root), "k");
    post.username = Some("CodeButler.PM".into());
    let refused = web.post(&post).await.unwrap_err();
    assert_eq!(refused.code(), Some("restricted_action"));
    // Nor by metadata: the token decides.
    post.username = Some("codebutler.coder".into());
    post.tag.from = Some(Role::Pm);
    web.post(&post).await.unwrap();
    take(&mut lead).await;
    let envelope = take(&mut lead).await;
    assert_eq!(envelope.stamp.as_ref().unwrap().from, Some(Role::Coder));
    assert_eq!(
        envelope.payload["event"]["metadata"]["event_payload"]["from"],
        "coder"
    );
    assert_eq!(envelope.payload["event"]["subtype"], "bot_message");
}

#[tokio::test]
async fn another_repos_channel_does_not_exist() {
    let world = World::start().await;
    let other = Tokens::open(world.dir.path())
        .unwrap()
        .ensure_repo("/home/ben/secret", "secret")
        .unwrap();
    let body = json!({"channel": other.channel, "text": "ours"});
    let (_, said) = world.person(&world.ana, "v1/messages", &body).await;
    let ts = said["ts"].as_str().unwrap();
    let web = world.web(Role::Pm);
    let channel = &other.channel;
    for (method, args) in [
        ("chat.postMessage", json!({"channel": channel, "text": "x"})),
        ("conversations.history", json!({"channel": channel})),
        (
            "conversations.replies",
            json!({"channel": channel, "ts": ts}),
        ),
        ("conversations.info", json!({"channel": channel})),
        ("conversations.join", json!({"channel": channel})),
        (
            "reactions.add",
            json!({"channel": channel, "timestamp": ts, "name": "eyes"}),
        ),
        (
            "reactions.get",
            json!({"channel": channel, "timestamp": ts}),
        ),
        (
            "chat.getPermalink",
            json!({"channel": channel, "message_ts": ts}),
        ),
        ("chat.delete", json!({"channel": channel, "ts": ts})),
    ] {
        let error = web.call(method, args).await.unwrap_err();
        assert_eq!(error.code(), Some("channel_not_found"), "{method}");
    }
    let activity = Activity {
        thread: format!("{channel}/{ts}").parse().unwrap(),
        state: ActivityState::Working,
        step: None,
        lease_seconds: 30,
    };
    let refused = world
        .control(Role::Pm)
        .activity(&activity)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("channel_not_found"));
    // And its events are not ours.
    let mut socket = world.socket(Role::Pm).await;
    world.say("mine", None).await;
    assert_eq!(text_of(&take(&mut socket).await), "mine");
    let listed = web.call("conversations.list", json!({})).await.unwrap();
    assert_eq!(listed["channels"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_issued_while_the_hub_runs_work_at_once() {
    let world = World::start().await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let fresh = tokens.ensure_repo("/home/ana/second", "second").unwrap();
    let token = fresh.agents[&Role::Pm].bot.clone();
    let web = Web::new(&world.base, token, SharedEpoch::default()).unwrap();
    let me = web.call("auth.test", json!({})).await.unwrap();
    assert_eq!(me["codebutler"]["role"], "pm");
}

#[tokio::test]
async fn an_open_address_needs_consent_and_a_folder_has_one_hub() {
    let dir = tempfile::tempdir().unwrap();
    let open = config(dir.path(), ([0, 0, 0, 0], 0).into());
    let refused = Hub::start(open.clone(), CancellationToken::new()).await;
    assert!(matches!(refused.unwrap_err(), HubError::NotLoopback(_)));
    let cancel = CancellationToken::new();
    let hub = Hub::start(
        config(dir.path(), ([127, 0, 0, 1], 0).into()),
        cancel.clone(),
    )
    .await
    .unwrap();
    let second = Hub::start(
        config(dir.path(), ([127, 0, 0, 1], 0).into()),
        CancellationToken::new(),
    );
    assert!(matches!(second.await.unwrap_err(), HubError::Running(_)));
    cancel.cancel();
    hub.wait().await;
}

#[tokio::test]
async fn a_taken_port_means_the_next_one() {
    let world = World::start().await;
    let taken = world.base.port().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start(
        config(dir.path(), ([127, 0, 0, 1], taken).into()),
        CancellationToken::new(),
    )
    .await
    .unwrap();
    assert_ne!(hub.address().port(), taken);
}
