//! Posts: once per key, split when long, redacted always.

use butler_protocol::Role;
use butler_slack::mrkdwn;
use serde_json::json;

use crate::world::{World, secret, take, text_of};

#[tokio::test]
async fn the_same_key_gets_the_first_answer_and_one_message() {
    let mut world = World::start().await;
    let root = world.say("build me a thing", None).await;
    let web = world.web(Role::Pm);
    let first = web
        .post(&world.post("on it", Some(&root), "k1"))
        .await
        .unwrap();
    let again = web
        .post(&world.post("on it", Some(&root), "k1"))
        .await
        .unwrap();
    world.down().await;
    world.up().await;
    let later = world
        .web(Role::Pm)
        .post(&world.post("other text", Some(&root), "k1"))
        .await;
    assert_eq!(first, again);
    assert_eq!(first, later.unwrap());
    let other = web
        .post(&world.post("on it", Some(&root), "k2"))
        .await
        .unwrap();
    assert_ne!(first.ts, other.ts);
    let thread = web.replies(&world.thread(&root)).await.unwrap();
    let texts: Vec<_> = thread.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["build me a thing", "on it", "on it"]);
    assert_eq!(thread[1].tag().unwrap().from, Some(Role::Pm));
}

#[tokio::test]
async fn a_key_belongs_to_its_role() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let pm = world
        .web(Role::Pm)
        .post(&world.post("a", Some(&root), "k"))
        .await
        .unwrap();
    let coder = world
        .web(Role::Coder)
        .post(&world.post("b", Some(&root), "k"))
        .await
        .unwrap();
    assert_ne!(pm.ts, coder.ts);
}

#[tokio::test]
async fn a_long_post_becomes_parts_that_stand_in_the_thread_once() {
    let world = World::start().await;
    let root = world.say("tell me everything", None).await;
    let web = world.web(Role::Pm);
    let long: String = (0..400)
        .map(|n| format!("line {n} of a long story\n"))
        .collect();
    let post = world.post(&long, Some(&root), "long");
    let posted = web.post(&post).await.unwrap();
    assert_eq!(web.post(&post).await.unwrap(), posted);
    let thread = web.replies(&world.thread(&root)).await.unwrap();
    let parts: Vec<_> = thread[1..].iter().map(|m| m.text.clone()).collect();
    assert_eq!(parts, mrkdwn::split(&long, mrkdwn::LIMIT));
    assert!(parts.len() > 2);
    assert_eq!(thread[1].ts, posted.ts);
}

#[tokio::test]
async fn long_code_becomes_a_file_that_can_be_had_with_a_token() {
    let world = World::start().await;
    let root = world.say("show me", None).await;
    let web = world.web(Role::Coder);
    let code = "if a &lt; b { run(); }\n".repeat(30);
    let text = format!("Here:\n```\n{code}```\nand\n```\n{code}```\ndone");
    let post = world.post(&text, Some(&root), "code");
    let first = web.post(&post).await.unwrap();
    assert_eq!(web.post(&post).await.unwrap(), first);
    let thread = web.replies(&world.thread(&root)).await.unwrap();
    let kinds: Vec<_> = thread[1..].iter().map(|m| m.files.len()).collect();
    assert_eq!(kinds, [0, 1, 0, 1, 0]);
    let url = &thread[2].files[0].url_private;
    assert_eq!(world.http.get(url).send().await.unwrap().status(), 401);
    let token = world.repo.agents[&Role::Pm].bot.expose();
    let got = world.http.get(url).bearer_auth(token).send().await.unwrap();
    assert!(
        got.headers()["content-disposition"]
            .to_str()
            .unwrap()
            .starts_with("attachment")
    );
    assert_eq!(
        got.text().await.unwrap(),
        "if a < b { run(); }\n".repeat(30)
    );
}

#[tokio::test]
async fn nothing_secret_leaves_in_text_blocks_or_names() {
    let world = World::start().await;
    let root = world.say("hi", None).await;
    let web = world.web(Role::Coder);
    let mut post = world.post(&format!("key: {}", secret()), Some(&root), "s1");
    post.blocks = Some(json!([{"type": "section",
        "text": {"type": "mrkdwn", "text": secret()}}]));
    post.username = Some(format!("me {}", secret()));
    let posted = web.post(&post).await.unwrap();
    web.update(
        &posted.channel,
        &posted.ts,
        &format!("again {}", secret()),
        None,
    )
    .await
    .unwrap();
    let all = world
        .get(
            &world.ana,
            &format!("v1/threads/{}/{root}", world.channel()),
        )
        .await;
    assert!(!all.to_string().contains(&secret()), "{all}");
    assert!(all.to_string().contains("again "), "{all}");
}

#[tokio::test]
async fn an_update_is_told_to_the_others_and_only_the_author_may() {
    let world = World::start().await;
    let mut coder = world.socket(Role::Coder).await;
    let root = world.say("hi", None).await;
    let pm = world.web(Role::Pm);
    let posted = pm
        .post(&world.post("draft", Some(&root), "k"))
        .await
        .unwrap();
    let refused = world
        .web(Role::Coder)
        .update(&posted.channel, &posted.ts, "mine", None)
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("cant_update_message"));
    pm.update(&posted.channel, &posted.ts, "final", None)
        .await
        .unwrap();
    let texts = [
        take(&mut coder).await,
        take(&mut coder).await,
        take(&mut coder).await,
    ];
    assert_eq!(text_of(&texts[1]), "draft");
    let event = &texts[2].payload["event"];
    assert_eq!(event["subtype"], "message_changed");
    assert_eq!(event["message"]["text"], "final");
    assert_eq!(event["previous_message"]["text"], "draft");
}

#[tokio::test]
async fn slacks_own_words_for_what_is_wrong() {
    let world = World::start().await;
    let web = world.web(Role::Pm);
    let channel = world.channel();
    let refused = [
        ("chat.postMessage", json!({"channel": channel}), "no_text"),
        (
            "chat.postMessage",
            json!({"channel": "C404", "text": "x"}),
            "channel_not_found",
        ),
        (
            "chat.postMessage",
            json!({"channel": channel, "text": "x", "thread_ts": "1700000000.000100"}),
            "thread_not_found",
        ),
        (
            "chat.update",
            json!({"channel": channel, "ts": "1700000000.000100", "text": "x"}),
            "message_not_found",
        ),
        (
            "chat.postMessage",
            json!({"channel": channel, "blocks": "[{]"}),
            "invalid_blocks_format",
        ),
        (
            "reactions.add",
            json!({"channel": channel, "timestamp": "1700000000.000100", "name": "eyes"}),
            "message_not_found",
        ),
        (
            "conversations.history",
            json!({"channel": channel, "cursor": "nonsense"}),
            "invalid_cursor",
        ),
        ("users.info", json!({"user": "U404"}), "user_not_found"),
        ("no.such.method", json!({}), "unknown_method"),
        ("apps.connections.open", json!({}), "not_allowed_token_type"),
    ];
    for (method, args, expected) in refused {
        let error = web.call(method, args).await.unwrap_err();
        assert_eq!(error.code(), Some(expected), "{method}");
    }
}
