//! The hub killed with SIGKILL while it posts to Slack, and what it writes about
//! itself: never a token.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use butler_hub::{Hub, RepoTokens};
use butler_protocol::{ChannelId, Role};
use butler_slack::{SharedEpoch, Web};
use butler_testkit::SlackStandIn;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    slack_world::{post, quick, relay_config, tokens},
    world::{self, PATIENCE, config},
};

const CHILD: &str = "CODEBUTLER_TEST_RELAY";
const READY: &str = "the relay is ready";

/// Not a test by itself: the child's main function.
#[tokio::test]
async fn serve_relay_as_child() {
    let Ok(place) = std::env::var(CHILD) else {
        return;
    };
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(std::io::stderr)
        .init();
    let mut words = place.split(' ');
    let mut next = || words.next().unwrap();
    let listen: SocketAddr = next().parse().unwrap();
    let (base, bot, app) = (next(), next(), next());
    let mut config = config(next().as_ref(), listen);
    config.relay = Some(relay_config((base, bot, app), quick()));
    let hub = Hub::start(config, CancellationToken::new()).await.unwrap();
    println!("{READY}");
    hub.wait().await;
}

struct KillableRelay {
    address: SocketAddr,
    slack: SlackStandIn,
    dir: tempfile::TempDir,
    child: Child,
    log: Vec<std::thread::JoinHandle<String>>,
}

fn spawn(address: SocketAddr, slack: &SlackStandIn, dir: &std::path::Path) -> (Child, ChildStderr) {
    let place = format!(
        "{address} {} {} {} {}",
        slack.base(),
        slack.bot_token(),
        slack.app_token(),
        dir.display()
    );
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "relay_kills::serve_relay_as_child",
            "--nocapture",
        ])
        .env(CHILD, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.any(|line| line.unwrap().contains(READY));
    assert!(ready, "the child ended early");
    let log = child.stderr.take().unwrap();
    (child, log)
}

impl KillableRelay {
    async fn start() -> Self {
        world::client();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let slack = SlackStandIn::start().await;
        let dir = tempfile::tempdir().unwrap();
        let (child, log) = tokio::task::block_in_place(|| spawn(address, &slack, dir.path()));
        Self {
            address,
            slack,
            dir,
            child,
            log: vec![reader(log)],
        }
    }

    fn kill_and_restart(&mut self) {
        tokio::task::block_in_place(|| {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
            let (child, log) = spawn(self.address, &self.slack, self.dir.path());
            self.child = child;
            self.log.push(reader(log));
        });
    }

    /// Ends it; everything that it ever wrote.
    fn end(mut self) -> (SlackStandIn, String) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let logs = std::mem::take(&mut self.log).into_iter();
        let log = logs.map(|log| log.join().unwrap()).collect();
        (self.slack, log)
    }
}

fn reader(mut log: ChildStderr) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = log.read_to_string(&mut text);
        text
    })
}

fn web(relay: &KillableRelay, repo: &RepoTokens, role: Role) -> Web {
    let base: url::Url = format!("http://{}/", relay.address).parse().unwrap();
    Web::new(
        &base,
        repo.agents[&role].bot.clone(),
        SharedEpoch::default(),
    )
    .unwrap()
}

async fn in_slack(slack: &SlackStandIn, channel: &ChannelId, count: usize) {
    let waiting = async {
        while slack.messages(channel.as_str()).len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the post in Slack");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_between_the_post_and_its_answer_posts_once_and_no_token_is_written() {
    let mut relay = KillableRelay::start().await;
    let repo = tokens(relay.dir.path());
    let channel = repo.channel.clone();
    // Slack has the post, the hub has not heard so: that is when it dies.
    relay.slack.slow_answers(Duration::from_millis(400));
    let code = "line\n".repeat(25);
    let long = format!("first\n```\n{code}```\nlast");
    let texts = ["plain", long.as_str(), "end"];
    for (n, text) in texts.into_iter().enumerate() {
        let before = relay.slack.messages(channel.as_str()).len();
        let one = post(&channel, Role::Pm, text, None, &format!("k{n}"));
        let web = web(&relay, &repo, Role::Pm);
        let posting = tokio::spawn(async move { web.post(&one).await });
        let parts = if n == 1 { 3 } else { 1 };
        for part in 1..=parts {
            in_slack(&relay.slack, &channel, before + part).await;
            relay.kill_and_restart();
        }
        timeout(PATIENCE * 2, posting)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
    let reader = web(&relay, &repo, Role::Lead);
    let page = reader
        .call(
            "conversations.history",
            serde_json::json!({"channel": channel}),
        )
        .await;
    let page = page.unwrap().to_string();
    let who = reader
        .call("auth.test", serde_json::json!({}))
        .await
        .unwrap()
        .to_string();
    let (bot, app) = (relay.slack.bot_token(), relay.slack.app_token());
    let (slack, log) = relay.end();
    let all: Vec<String> = slack
        .messages(channel.as_str())
        .iter()
        .map(|one| one["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(all, ["plain", "first\n", "", "\nlast", "end"]);
    assert!(log.contains("listening to Slack"), "the log was captured");
    for token in [&bot, &app] {
        for (place, text) in [("log", &log), ("history", &page), ("auth.test", &who)] {
            assert!(!text.contains(token.as_str()), "a token is in the {place}");
        }
    }
}
