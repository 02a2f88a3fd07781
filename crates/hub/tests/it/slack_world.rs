//! A hub with the stand-in of Slack behind it: one repo, its channel, ana and
//! ben in Slack.

use std::{net::SocketAddr, path::Path, time::Duration};

use butler_hub::{Hub, HubConfig, HubError, Pace, RelayConfig, RepoChannel, RepoTokens, Tokens};
use butler_protocol::{ChannelId, Idem, MessageTs, PostTag, Role, Secret, ThreadId, UserId};
use butler_slack::{Control, Post, SharedEpoch, Socket, Web};
use butler_testkit::SlackStandIn;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::world::{self, PATIENCE};

pub(crate) const REPO: &str = "app";
pub(crate) const CHANNEL: &str = "codebutler-app";

pub(crate) struct SlackWorld {
    pub slack: SlackStandIn,
    pub dir: TempDir,
    pub base: Url,
    pub repo: RepoTokens,
    pub ana: String,
    pub ben: String,
    pub approvers: Vec<UserId>,
    pub people: std::collections::BTreeMap<String, butler_protocol::Standing>,
    pub bots: Vec<String>,
    pub pace: Pace,
    /// Other tokens than the app's.
    pub tokens: Option<(String, String)>,
    pub absent_after: Option<Duration>,
    pub limits: butler_hub::Limits,
    running: Option<(Hub, CancellationToken)>,
}

/// Quick enough for tests, with a queue all the same.
pub(crate) fn quick() -> Pace {
    Pace {
        per_minute: [60_000; 4],
        spacing: Duration::from_millis(1),
    }
}

pub(crate) fn relay_config(slack: (&str, &str, &str), pace: Pace) -> RelayConfig {
    let (base, bot, app) = slack;
    RelayConfig {
        base: base.parse().unwrap(),
        bot_token: Secret::new(bot),
        app_token: Secret::new(app),
        ca_file: None,
        channels: vec![RepoChannel {
            repo: REPO.to_owned(),
            id: None,
            name: CHANNEL.to_owned(),
            bots: Vec::new(),
        }],
        pace,
    }
}

impl SlackWorld {
    pub(crate) async fn start() -> Self {
        let mut world = Self::down_with(SlackStandIn::start().await);
        world.up().await;
        world
    }

    /// Everything but a running hub.
    pub(crate) fn down_with(slack: SlackStandIn) -> Self {
        world::client();
        let (ana, ben) = (slack.person("ana"), slack.person("ben"));
        Self {
            slack,
            dir: tempfile::tempdir().unwrap(),
            base: "http://127.0.0.1:0/".parse().unwrap(),
            repo: RepoTokens {
                channel: ChannelId::new(""),
                agents: std::collections::BTreeMap::new(),
            },
            ana,
            ben,
            approvers: Vec::new(),
            people: std::collections::BTreeMap::new(),
            bots: Vec::new(),
            pace: quick(),
            tokens: None,
            absent_after: None,
            limits: butler_hub::Limits::default(),
            running: None,
        }
    }

    pub(crate) fn config(&self, dir: &Path, listen: SocketAddr) -> HubConfig {
        let mut config = world::config(dir, listen);
        config.approvers.clone_from(&self.approvers);
        config.people.clone_from(&self.people);
        let own = || (self.slack.bot_token(), self.slack.app_token());
        let (bot, app) = self.tokens.clone().unwrap_or_else(own);
        config.operation.absent_after = self.absent_after.unwrap_or(config.operation.absent_after);
        config.operation.limits.clone_from(&self.limits);
        let mut relay = relay_config((&self.slack.base(), &bot, &app), self.pace);
        relay.channels[0].bots.clone_from(&self.bots);
        config.relay = Some(relay);
        config
    }

    pub(crate) async fn try_up(&mut self) -> Result<(), HubError> {
        let port = self.base.port().unwrap_or(0);
        let config = self.config(self.dir.path(), ([127, 0, 0, 1], port).into());
        let cancel = CancellationToken::new();
        let hub = Hub::start(config, cancel.clone()).await?;
        self.base = format!("http://{}/", hub.address()).parse().unwrap();
        self.running = Some((hub, cancel));
        self.repo = tokens(self.dir.path());
        Ok(())
    }

    pub(crate) async fn up(&mut self) {
        self.try_up().await.unwrap();
        until("the hub listens to Slack", || self.slack.connections() > 0).await;
    }

    pub(crate) async fn down(&mut self) {
        if let Some((hub, cancel)) = self.running.take() {
            cancel.cancel();
            timeout(PATIENCE, hub.wait()).await.unwrap();
            until("the hub hangs up", || self.slack.connections() == 0).await;
        }
    }

    /// As [`Self::down`] when others are connected to the app too.
    pub(crate) async fn down_without_waiting(&mut self) {
        if let Some((hub, cancel)) = self.running.take() {
            cancel.cancel();
            timeout(PATIENCE, hub.wait()).await.unwrap();
        }
    }

    /// The channel's page, as a person sees it.
    pub(crate) async fn page(&self) -> String {
        let mut tokens = Tokens::open(self.dir.path()).unwrap();
        let code = tokens.login_link().unwrap();
        let client = world::client();
        let url = self.base.join("login").unwrap();
        let form = [("code", code.expose())];
        let origin = self.base.as_str().trim_end_matches('/');
        let entering = client.post(url).header("origin", origin).form(&form);
        let entered = entering.send().await.unwrap();
        let cookie = entered.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let url = self.base.join(&format!("c/{}", self.channel())).unwrap();
        let page = client.get(url).header("cookie", cookie);
        page.send().await.unwrap().text().await.unwrap()
    }

    /// Makes the store believe that the hub last listened so long ago.
    pub(crate) fn was_alive_ms_ago(&self, ago: i64) -> String {
        let store = rusqlite::Connection::open(self.dir.path().join("hub.sqlite3")).unwrap();
        let sql = "UPDATE upstream SET value = CAST(value - ?1 AS TEXT) WHERE key = 'alive'";
        assert_eq!(store.execute(sql, [ago]).unwrap(), 1);
        self.last_alive()
    }

    /// When the hub last noted that it listens.
    pub(crate) fn last_alive(&self) -> String {
        let store = rusqlite::Connection::open(self.dir.path().join("hub.sqlite3")).unwrap();
        let sql = "SELECT value FROM upstream WHERE key = 'alive'";
        store.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn channel(&self) -> ChannelId {
        self.repo.channel.clone()
    }

    /// Ana says something in Slack.
    pub(crate) fn say(&self, text: &str, thread: Option<&str>) -> String {
        self.slack
            .say(&self.ana, self.channel().as_str(), text, thread)
    }

    pub(crate) fn web(&self, role: Role) -> Web {
        let token = self.repo.agents[&role].bot.clone();
        Web::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    pub(crate) fn control(&self, role: Role) -> Control {
        let token = self.repo.agents[&role].bot.clone();
        Control::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    pub(crate) async fn socket(&self, role: Role) -> Socket {
        let token = self.repo.agents[&role].app.clone();
        let opening = Socket::open(&self.base, token, CancellationToken::new());
        timeout(PATIENCE, opening).await.unwrap().unwrap()
    }

    pub(crate) fn thread(&self, root: &str) -> ThreadId {
        ThreadId::new(self.channel(), root.parse().unwrap())
    }

    pub(crate) fn post(&self, role: Role, text: &str, thread: Option<&str>, idem: &str) -> Post {
        post(&self.channel(), role, text, thread, idem)
    }

    /// Slack's messages with this text.
    pub(crate) fn in_slack(&self, text: &str) -> Vec<Value> {
        let all = self.slack.messages(self.channel().as_str());
        all.into_iter().filter(|one| one["text"] == text).collect()
    }
}

pub(crate) fn tokens(dir: &Path) -> RepoTokens {
    let mut tokens = Tokens::open(dir).unwrap();
    tokens.ensure_repo(REPO, CHANNEL).unwrap()
}

/// A role's post under its own name.
pub(crate) fn post(
    channel: &ChannelId,
    role: Role,
    text: &str,
    thread: Option<&str>,
    idem: &str,
) -> Post {
    Post {
        channel: channel.clone(),
        thread: thread.map(|ts| ts.parse::<MessageTs>().unwrap()),
        text: text.to_owned(),
        blocks: None,
        username: Some(format!("codebutler.{role}")),
        icon: None,
        tag: PostTag::message(Idem::new(idem), vec![]),
    }
}

/// Waits for a condition; only a hang reaches the end.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{what} did not happen");
}
