//! One story against a workspace of Slack: a channel of its own, roles under their
//! names, a file, a card that is redrawn, a restart; each thing there once, and the
//! channel archived afterwards. The stand-in plays it in every run, the real one with
//! `cargo xtask test --real-slack` and the tokens of an app.

use butler_hub::{Hub, HubConfig, Pace, Tokens};
use butler_policy::Redactor;
use butler_protocol::{DecisionKind, Role, Secret};
use butler_slack::{Control, SharedEpoch, Web, Workspace};
use butler_testkit::SlackStandIn;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    slack_world::{post, quick, relay_config},
    world::{card, subject},
};

/// Where Slack is, and both tokens.
struct App {
    base: String,
    bot: String,
    app: String,
    pace: Pace,
}

#[tokio::test]
async fn the_stand_in_plays_it() {
    let slack = SlackStandIn::start().await;
    play(App {
        base: slack.base(),
        bot: slack.bot_token(),
        app: slack.app_token(),
        pace: quick(),
    })
    .await;
}

#[tokio::test]
#[ignore = "needs SLACK_BOT_TOKEN and SLACK_APP_TOKEN of a real app: cargo xtask test --real-slack"]
async fn slack_itself_plays_it() {
    let token = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    play(App {
        base: std::env::var("SLACK_API_URL").unwrap_or_else(|_| "https://slack.com/".to_owned()),
        bot: token("SLACK_BOT_TOKEN"),
        app: token("SLACK_APP_TOKEN"),
        pace: Pace::default(),
    })
    .await;
}

async fn play(app: App) {
    let dir = tempfile::tempdir().unwrap();
    let unique = Secret::new(format!("{:?}", std::time::SystemTime::now()));
    let name = format!(
        "codebutler-test-{}",
        &butler_protocol::Sha256Hex::of(unique.expose()).as_str()[..8]
    );
    let config = || {
        let redactor = Redactor::new(&[], &[]).unwrap();
        let listen = ([127, 0, 0, 1], 0).into();
        let mut config = HubConfig::new(listen, dir.path().to_owned(), redactor);
        let mut relay = relay_config((&app.base, &app.bot, &app.app), app.pace);
        relay.channels[0].name.clone_from(&name);
        config.relay = Some(relay);
        config
    };
    let workspace = Workspace::new(app.base.parse().unwrap());
    let slack = Web::at(&workspace, Secret::new(app.bot.clone())).unwrap();
    let cancel = CancellationToken::new();
    let hub = Hub::start(config(), cancel.clone()).await.unwrap();
    let base: Url = format!("http://{}/", hub.address()).parse().unwrap();
    let repo = Tokens::open(dir.path())
        .unwrap()
        .ensure_repo("app", &name)
        .unwrap();
    let token = |role: Role| repo.agents[&role].bot.clone();
    let web = |role| Web::new(&base, token(role), SharedEpoch::default()).unwrap();

    let said = web(Role::Pm)
        .post(&post(
            &repo.channel,
            Role::Pm,
            "a test begins",
            None,
            "root",
        ))
        .await;
    // The channel is cleaned up whatever happens to the rest.
    let played = async {
        let root = said.unwrap().ts;
        let root = root.as_str();
        let code = format!("```rust\n{}```", "let x = 1;\n".repeat(25));
        let long = post(&repo.channel, Role::Coder, &code, Some(root), "file");
        web(Role::Coder).post(&long).await.unwrap();
        let control = Control::new(&base, token(Role::Pm), SharedEpoch::default()).unwrap();
        let mut plan = post(&repo.channel, Role::Pm, "", Some(root), "card");
        card(
            &control,
            &mut plan,
            "p1",
            &subject(DecisionKind::Plan, "the subject"),
        )
        .await;
        web(Role::Pm).post(&plan).await.unwrap();
        root.to_owned()
    }
    .await;
    cancel.cancel();
    hub.wait().await;

    // A second hub finds the channel by its id, and nothing is said again.
    let cancel = CancellationToken::new();
    let hub = Hub::start(config(), cancel.clone()).await.unwrap();
    cancel.cancel();
    hub.wait().await;
    let args = json!({"channel": repo.channel, "ts": played, "include_all_metadata": true});
    let thread = slack
        .attempt("conversations.replies", args)
        .await
        .unwrap()
        .body;
    let archive = json!({"channel": repo.channel});
    slack
        .attempt("conversations.archive", archive)
        .await
        .unwrap();

    let all = thread["messages"].as_array().unwrap();
    assert_eq!(all.len(), 3, "{thread:#}");
    assert_eq!(all[0]["username"], "codebutler.pm");
    assert_eq!(all[1]["files"][0]["name"], "snippet-1.rs");
    let buttons = |one: &Value| one["blocks"].to_string().contains("actions");
    assert!(buttons(&all[2]), "{thread:#}");
}
