//! Our client against the stand-in of Slack: what the one promises the other,
//! so that tests of the relay stand on firm ground.

use std::{collections::BTreeSet, time::Duration};

use butler_protocol::Secret;
use butler_slack::{Ended, Envelope, SharedEpoch, SlackError, Socket, Web};
use butler_testkit::{ALL_SCOPES, Disconnect, Limits, SlackStandIn};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);

fn web(slack: &SlackStandIn) -> Web {
    let base: url::Url = slack.base().parse().unwrap();
    Web::new(
        &base,
        Secret::new(slack.bot_token()),
        SharedEpoch::default(),
    )
    .unwrap()
}

async fn socket(slack: &SlackStandIn) -> Socket {
    let base: url::Url = slack.base().parse().unwrap();
    let token = Secret::new(slack.app_token());
    let opening = Socket::open(&base, token, CancellationToken::new());
    timeout(PATIENCE, opening).await.unwrap().unwrap()
}

async fn next(socket: &mut Socket) -> Envelope {
    let envelope = timeout(PATIENCE, socket.next()).await.unwrap().unwrap();
    socket.ack(&envelope.id).await.unwrap();
    envelope
}

fn texts(messages: &Value) -> Vec<&str> {
    let all = messages.as_array().unwrap().iter();
    all.map(|one| one["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn scopes_are_named_and_tokens_are_checked() {
    let slack = SlackStandIn::start().await;
    let answered = web(&slack).attempt("auth.test", json!({})).await.unwrap();
    assert_eq!(answered.scopes, ALL_SCOPES);
    slack.without_scope("chat:write");
    let channel = slack.channel("app", true);
    let post = json!({"channel": channel, "text": "hi"});
    let refused = web(&slack).attempt("chat.postMessage", post.clone()).await;
    assert!(
        matches!(&refused, Err(SlackError::MissingScope { needed, .. }) if needed == "chat:write"),
        "{refused:?}"
    );
    let base: url::Url = slack.base().parse().unwrap();
    let wrong = Web::new(
        &base,
        Secret::new(slack.app_token()),
        SharedEpoch::default(),
    )
    .unwrap();
    let refused = wrong.attempt("auth.test", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), Some("not_allowed_token_type"));
    slack.revoke();
    let refused = web(&slack)
        .attempt("auth.test", json!({}))
        .await
        .unwrap_err();
    assert!(refused.is_final());
}

#[tokio::test]
async fn a_post_under_a_custom_name_comes_back_before_its_answer() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    slack.slow_answers(Duration::from_secs(600));
    let mut socket = socket(&slack).await;
    let web = web(&slack);
    let post = json!({"channel": channel, "text": "hi", "username": "codebutler.pm",
        "metadata": {"event_type": "codebutler_post", "event_payload": {"idem": "k"}}});
    let posting = tokio::spawn(async move { web.attempt("chat.postMessage", post).await });
    let event = next(&mut socket).await.payload["event"].clone();
    assert!(!posting.is_finished());
    posting.abort();
    assert_eq!(event["subtype"], "bot_message");
    assert_eq!(event["metadata"], json!({"event_type": "codebutler_post"}));
    assert!(event["user"].is_null() && event["bot_id"].is_string());
}

#[tokio::test]
async fn limits_are_told_and_lost_answers_are_unclear() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    slack.limit(Limits {
        burst: 1,
        spacing: Duration::from_secs(600),
        retry_after: 7,
        ..Limits::default()
    });
    let post = || web_post(&slack, &channel);
    post().await.unwrap();
    let limited = post().await;
    assert!(
        matches!(limited, Err(SlackError::RateLimited { after, .. }) if after.as_secs() == 7),
        "{limited:?}"
    );
    slack.limit(Limits::none());
    slack.lose_answers(1);
    let lost = post().await.unwrap_err();
    assert!(lost.is_unclear(), "{lost}");
    assert_eq!(slack.messages(&channel).len(), 2, "it was carried out");
    slack.outage(true);
    assert!(post().await.is_err());
    assert_eq!(slack.messages(&channel).len(), 2);
}

async fn web_post(slack: &SlackStandIn, channel: &str) -> Result<(), SlackError> {
    let post = json!({"channel": channel, "text": "hi"});
    web(slack).attempt("chat.postMessage", post).await.map(drop)
}

#[tokio::test]
async fn each_event_goes_to_one_connection_and_ten_are_the_most() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    let ana = slack.person("ana");
    let mut sockets = Vec::new();
    for _ in 0..10 {
        sockets.push(socket(&slack).await);
    }
    assert_eq!(slack.connections(), 10);
    let (base, token) = (slack.base(), Secret::new(slack.app_token()));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let eleventh =
        tokio::spawn(
            async move { Socket::open(&base.parse::<url::Url>().unwrap(), token, stop).await },
        );
    for n in 0..40 {
        slack.say(&ana, &channel, &format!("m{n}"), None);
    }
    let mut heard = BTreeSet::new();
    let mut listeners = BTreeSet::new();
    while heard.len() < 40 {
        for (number, socket) in sockets.iter_mut().enumerate() {
            let ready = timeout(Duration::from_millis(5), socket.next()).await;
            if let Ok(Some(envelope)) = ready {
                socket.ack(&envelope.id).await.unwrap();
                let event = envelope.payload["event_id"].as_str().unwrap().to_owned();
                assert!(heard.insert(event), "an event came twice");
                listeners.insert(number);
            }
        }
    }
    assert!(listeners.len() > 3, "spread over {listeners:?}");
    assert!(!eleventh.is_finished());
    cancel.cancel();
    assert!(eleventh.await.unwrap().is_err());
}

#[tokio::test]
async fn a_refresh_overlaps_and_a_switched_off_app_ends() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    let ana = slack.person("ana");
    let mut socket = socket(&slack).await;
    let mut gaps = socket.gaps();
    assert_eq!(*gaps.borrow(), 1);
    slack.disconnect(Disconnect::Refresh);
    // The end of the old connection is told: something may have been under way.
    let told = timeout(PATIENCE, gaps.wait_for(|gaps| *gaps == 2)).await;
    told.unwrap().unwrap();
    assert_eq!(
        slack.most_open(),
        2,
        "the next one was open before the end of the first"
    );
    slack.say(&ana, &channel, "after", None);
    assert_eq!(next(&mut socket).await.payload["event"]["text"], "after");
    slack.disconnect(Disconnect::Abrupt);
    let told = timeout(PATIENCE, gaps.wait_for(|gaps| *gaps == 3)).await;
    told.unwrap().unwrap();
    slack.disconnect(Disconnect::LinkDisabled);
    assert!(timeout(PATIENCE, socket.next()).await.unwrap().is_none());
    assert_eq!(socket.ended(), Some(Ended::Disabled));
}

#[tokio::test]
async fn noise_comes_with_every_reply_and_silence_with_a_missing_scope() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    let ana = slack.person("ana");
    let mut socket = socket(&slack).await;
    slack.duplicate_every(1);
    let root = slack.say(&ana, &channel, "root @codebutler.pm", None);
    let first = next(&mut socket).await;
    let again = next(&mut socket).await;
    assert_eq!(first.event_id(), again.event_id());
    assert_eq!(again.retry_attempt, 1);
    assert!(
        first.payload["event"]["text"]
            .as_str()
            .unwrap()
            .contains("<http://codebutler.pm|"),
        "{first:?}"
    );
    slack.duplicate_every(0);
    // The link unfurled, which nobody asked for; that too comes twice.
    for _ in 0..2 {
        let noise = next(&mut socket).await;
        assert_eq!(noise.payload["event"]["subtype"], "message_changed");
    }
    slack.say(&ana, &channel, "reply", Some(&root));
    assert_eq!(next(&mut socket).await.payload["event"]["text"], "reply");
    let noise = next(&mut socket).await.payload["event"].clone();
    assert_eq!(noise["subtype"], "message_changed");
    assert!(noise["message"]["edited"].is_null());
    slack.without_scope("channels:history");
    slack.say(&ana, &channel, "unheard", None);
    slack.react(&ana, &channel, &root, "eyes");
    assert_eq!(
        next(&mut socket).await.payload["event"]["type"],
        "reaction_added"
    );
}

#[tokio::test]
async fn history_and_replies_come_in_pages() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    let ana = slack.person("ana");
    let root = slack.say(&ana, &channel, "0", None);
    for n in 1..4 {
        slack.say(&ana, &channel, &n.to_string(), None);
        slack.say(&ana, &channel, &format!("r{n}"), Some(&root));
    }
    let web = web(&slack);
    let ask = |method: &'static str, args: Value| {
        let web = web.clone();
        async move { web.attempt(method, args).await.unwrap().body }
    };
    let page = ask(
        "conversations.history",
        json!({"channel": channel, "limit": 3}),
    )
    .await;
    assert_eq!(texts(&page["messages"]), ["3", "2", "1"]);
    let cursor = page["response_metadata"]["next_cursor"].clone();
    let args = json!({"channel": channel, "limit": 3, "cursor": cursor});
    let page = ask("conversations.history", args).await;
    assert_eq!(texts(&page["messages"]), ["0"]);
    assert_eq!(page["messages"][0]["reply_count"], 3);
    let args = json!({"channel": channel, "ts": root, "limit": 2});
    let page = ask("conversations.replies", args).await;
    assert_eq!(texts(&page["messages"]), ["0", "r1", "r2"]);
    let cursor = page["response_metadata"]["next_cursor"].clone();
    let args = json!({"channel": channel, "ts": root, "limit": 2, "cursor": cursor});
    let page = ask("conversations.replies", args).await;
    assert_eq!(
        texts(&page["messages"]),
        ["0", "r3"],
        "the parent is on every page"
    );
}

#[tokio::test]
async fn files_go_both_ways_and_the_token_stays_at_home() {
    let slack = SlackStandIn::start().await;
    let channel = slack.channel("app", true);
    let web = web(&slack);
    let args = json!({"filename": "a.txt", "length": 3});
    let asked = web
        .attempt("files.getUploadURLExternal", args)
        .await
        .unwrap()
        .body;
    let url = asked["upload_url"].as_str().unwrap();
    web.put_bytes(url, b"abc".to_vec()).await.unwrap();
    let args = json!({"files": [{"id": asked["file_id"]}], "channel_id": channel});
    web.attempt("files.completeUploadExternal", args)
        .await
        .unwrap();
    let shared = async {
        while slack.messages(&channel).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, shared).await.unwrap();
    let link = slack.messages(&channel)[0]["files"][0]["url_private"].clone();
    let (kind, bytes) = web.fetch(link.as_str().unwrap(), 100).await.unwrap();
    assert_eq!(
        (kind.as_str(), bytes.as_slice()),
        ("text/plain", &b"abc"[..])
    );
    assert!(
        web.fetch(link.as_str().unwrap(), 2).await.is_err(),
        "too big"
    );
    let elsewhere = SlackStandIn::start().await;
    let stranger = format!("{}files-pri/F1", elsewhere.base());
    assert!(web.fetch(&stranger, 100).await.is_err());
    let base: url::Url = slack.base().parse().unwrap();
    let nobody = Web::new(&base, Secret::new("xoxb-no"), SharedEpoch::default()).unwrap();
    assert!(
        nobody.fetch(link.as_str().unwrap(), 100).await.is_err(),
        "a page to sign in"
    );
}
