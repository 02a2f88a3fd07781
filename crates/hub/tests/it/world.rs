//! A hub on a free port of this machine, with one repo, and ana and ben in it.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use butler_hub::{
    Caps, Hub, HubConfig, HubTls, Operation, PersonToken, RepoTokens, StorePlace, Tokens,
};
use butler_policy::Redactor;
use butler_protocol::{
    CardBody, CardTag, ChannelId, Clock, DecisionKind, Idem, MessageTs, PostTag, RequestId, Role,
    Secret, Subject, ThreadId, Usd, UserId,
};
use butler_slack::{Control, Envelope, Post, SharedEpoch, SlackError, Socket, Web, Workspace};
use butler_tls::Trust;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Far beyond what anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub dir: TempDir,
    pub base: Url,
    pub repo: RepoTokens,
    pub ana: PersonToken,
    pub ben: PersonToken,
    pub http: reqwest::Client,
    database: Option<Secret>,
    approvers: Vec<UserId>,
    /// Seconds that the hub's clock is ahead.
    pub ahead: Arc<AtomicU64>,
    /// What the hub is told at its next start.
    pub public_url: Option<Url>,
    pub tls: Option<HubTls>,
    /// Who may answer at the base.
    pub trust: Trust,
    pub forge_secret: Option<Secret>,
    pub operation: Operation,
    running: Option<(Hub, CancellationToken)>,
}

/// What no message may ever show.
pub(crate) fn secret() -> String {
    ["correct-", "horse-", "battery"].concat()
}

pub(crate) fn config(dir: &Path, listen: SocketAddr) -> HubConfig {
    let redactor = Redactor::new(&[Secret::new(secret())], &[]).unwrap();
    let mut config = HubConfig::new(listen, dir.to_owned(), redactor);
    config.test_hooks = true;
    config.caps = Caps {
        thread: Usd::from_cents(100),
        day: Usd::from_cents(1_000),
        ..Caps::default()
    };
    config
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with_approvers(|_, _| Vec::new()).await
    }

    pub(crate) async fn with_approvers(
        choose: impl FnOnce(&PersonToken, &PersonToken) -> Vec<UserId>,
    ) -> Self {
        Self::on(tempfile::tempdir().unwrap(), choose).await
    }

    /// A hub on a folder that may have a store already.
    pub(crate) async fn on(
        dir: TempDir,
        choose: impl FnOnce(&PersonToken, &PersonToken) -> Vec<UserId>,
    ) -> Self {
        Self::at(dir, None, choose).await
    }

    /// A hub whose store is in a database.
    pub(crate) async fn in_database(dir: TempDir, address: &Secret) -> Self {
        Self::at(dir, Some(address.clone()), |_, _| Vec::new()).await
    }

    async fn at(
        dir: TempDir,
        database: Option<Secret>,
        choose: impl FnOnce(&PersonToken, &PersonToken) -> Vec<UserId>,
    ) -> Self {
        let place = StorePlace::new(dir.path().to_owned(), database.clone());
        let mut tokens = Tokens::open(place).unwrap();
        let repo = tokens.ensure_repo("/home/ana/app", "app").unwrap();
        let ana = tokens.ensure_person("ana").unwrap();
        let ben = tokens.ensure_person("ben").unwrap();
        let mut world = Self {
            database,
            approvers: choose(&ana, &ben),
            ahead: Arc::default(),
            public_url: None,
            // A test runs others once more with it.
            tls: std::env::var_os("CODEBUTLER_TEST_TLS").map(|_| HubTls::Own),
            trust: Trust::Usual,
            forge_secret: None,
            operation: Operation::default(),
            dir,
            base: "http://127.0.0.1:0/".parse().unwrap(),
            repo,
            ana,
            ben,
            http: client(),
            running: None,
        };
        world.up().await;
        world
    }

    /// Starts the hub, on the port it had before if it had one.
    pub(crate) async fn up(&mut self) {
        let port = self.base.port().unwrap_or(0);
        let mut config = config(self.dir.path(), ([127, 0, 0, 1], port).into());
        config.database.clone_from(&self.database);
        config.approvers.clone_from(&self.approvers);
        config.reach.public_url.clone_from(&self.public_url);
        config.reach.tls.clone_from(&self.tls);
        config.outside.forge_secret.clone_from(&self.forge_secret);
        config.operation = self.operation.clone();
        let ahead = Arc::clone(&self.ahead);
        config.clock = Clock::new(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now + Duration::from_secs(ahead.load(Ordering::Relaxed))
        });
        let cancel = CancellationToken::new();
        let hub = Hub::start(config, cancel.clone()).await.unwrap();
        assert!(
            port == 0 || hub.address().port() == port,
            "the port was taken"
        );
        let scheme = match hub.fingerprint().cloned() {
            Some(own) => {
                self.trust = Trust::Exactly(own);
                self.http = client_trusting(&self.trust);
                "https"
            }
            None => "http",
        };
        let base = format!("{scheme}://{}/", hub.address());
        self.base = base.parse().unwrap();
        self.running = Some((hub, cancel));
    }

    pub(crate) async fn down(&mut self) {
        if let Some((hub, cancel)) = self.running.take() {
            cancel.cancel();
            timeout(PATIENCE, hub.wait()).await.unwrap();
        }
    }

    /// The hub as its clients know it.
    pub(crate) fn workspace(&self) -> Workspace {
        Workspace {
            base: self.base.clone(),
            trust: self.trust.clone(),
        }
    }

    /// Waits for a hub that ends by itself.
    pub(crate) async fn until_ended(&mut self) {
        let (hub, _) = self.running.take().unwrap();
        timeout(PATIENCE, hub.wait()).await.expect("the hub ends");
    }

    pub(crate) fn channel(&self) -> ChannelId {
        self.repo.channel.clone()
    }

    pub(crate) fn web(&self, role: Role) -> Web {
        self.web_at(role, SharedEpoch::default())
    }

    pub(crate) fn web_at(&self, role: Role, epoch: SharedEpoch) -> Web {
        let token = self.repo.agents[&role].bot.clone();
        Web::new(self.workspace(), token, epoch).unwrap()
    }

    pub(crate) fn control(&self, role: Role) -> Control {
        let token = self.repo.agents[&role].bot.clone();
        Control::new(self.workspace(), token, SharedEpoch::default()).unwrap()
    }

    pub(crate) async fn socket(&self, role: Role) -> Socket {
        let token = self.repo.agents[&role].app.clone();
        let opening = Socket::open(self.workspace(), token, CancellationToken::new());
        timeout(PATIENCE, opening).await.unwrap().unwrap()
    }

    /// A call with the token that opens sockets.
    pub(crate) async fn app_call(&self, role: Role, method: &str) -> Value {
        let token = self.repo.agents[&role].app.clone();
        let web = Web::new(self.workspace(), token, SharedEpoch::default()).unwrap();
        web.call(method, json!({})).await.unwrap()
    }

    /// A person's call; answers status and body.
    pub(crate) async fn person(&self, who: &PersonToken, path: &str, body: &Value) -> (u16, Value) {
        let request = self
            .http
            .post(self.base.join(path).unwrap())
            .bearer_auth(who.token.expose())
            .json(body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    pub(crate) async fn get(&self, who: &PersonToken, path: &str) -> Value {
        let request = self
            .http
            .get(self.base.join(path).unwrap())
            .bearer_auth(who.token.expose());
        request.send().await.unwrap().json().await.unwrap()
    }

    /// Ana says something.
    pub(crate) async fn say(&self, text: &str, thread: Option<&MessageTs>) -> MessageTs {
        let body = json!({"channel": self.channel(), "text": text, "thread_ts": thread});
        let (status, answer) = self.person(&self.ana, "v1/messages", &body).await;
        assert_eq!(status, 200, "{answer}");
        answer["ts"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn thread(&self, root: &MessageTs) -> ThreadId {
        ThreadId::new(self.channel(), root.clone())
    }

    pub(crate) fn post(&self, text: &str, thread: Option<&MessageTs>, idem: &str) -> Post {
        Post {
            channel: self.channel(),
            thread: thread.cloned(),
            text: text.to_owned(),
            blocks: None,
            username: None,
            icon: None,
            tag: PostTag::message(Idem::new(idem), vec![]),
        }
    }
}

/// Makes a post a card about this subject, in both steps: the hub gets the
/// subject first, and draws the card from it.
pub(crate) async fn card(control: &Control, post: &mut Post, id: &str, subject: &Subject) {
    try_card(control, post, id, subject).await.unwrap();
}

/// The same where the hub may be away.
pub(crate) async fn try_card(
    control: &Control,
    post: &mut Post,
    id: &str,
    subject: &Subject,
) -> Result<(), SlackError> {
    drawn_for(&[], control, post, id, subject).await
}

/// The same of a team that listens to these people only.
pub(crate) async fn card_for(
    allowed: &[UserId],
    control: &Control,
    post: &mut Post,
    id: &str,
    subject: &Subject,
) {
    let drawn = drawn_for(allowed, control, post, id, subject).await;
    drawn.unwrap();
}

async fn drawn_for(
    allowed: &[UserId],
    control: &Control,
    post: &mut Post,
    id: &str,
    subject: &Subject,
) -> Result<(), SlackError> {
    let body = CardBody {
        unattended: false,
        subject: subject.clone(),
        remarks: Vec::new(),
        people: Vec::new(),
        allowed: allowed.to_vec(),
        language: None,
    };
    let bytes = serde_json::to_vec(&body).unwrap();
    post.text.clear();
    post.tag.card = Some(CardTag {
        request: RequestId::new(id),
        kind: subject.kind(),
        sha256: subject.sha256(),
        body: Some(control.put_body(&bytes).await?),
    });
    Ok(())
}

/// What a card of this kind may be about.
pub(crate) fn subject(kind: DecisionKind, words: &str) -> Subject {
    let subject = match kind {
        DecisionKind::Plan => json!({"plan": {"title": words, "summary": "s",
            "steps": [{"text": "do it"}], "criteria": [], "complexity": "simple"}}),
        DecisionKind::Command => json!({"command": {"arguments": {"command": words},
            "network": false, "role": "coder", "root": "/r", "scripts": [], "tool": "Bash",
            "thread": {"channel": "C1", "root": "1700000000.000100"}}}),
        DecisionKind::Learning => json!({"learning": {"file": "coder.md", "change":
            {"is": "passage", "old": "", "new": words, "why": "w"}}}),
        DecisionKind::Merge => json!({"merge": {"pr": 7, "head": "a", "tree": "b",
            "title": words, "description": "d", "writer": "lead"}}),
        DecisionKind::Maps => json!({"maps": {"files": [{"file": "coder.md", "diff": words}]}}),
        DecisionKind::Picture => json!({"picture": {"name": "a.png", "prompt": words,
            "made_from": [], "model": "m", "cost": 1, "file": "F1", "sha256": "00"}}),
        DecisionKind::Develop => {
            json!({"develop": {"items": [], "at_once": 1, "budget": 1_000_000_000}})
        }
        DecisionKind::Roadmap => json!({"roadmap": {"changes": [{"op": "add", "title": words}],
            "diff": "+"}}),
        DecisionKind::Cap => json!({"cap": {"budget": words, "cap": 1, "used": 1}}),
    };
    serde_json::from_value(subject).unwrap()
}

pub(crate) fn client() -> reqwest::Client {
    // reqwest panics without a TLS provider, also for plain HTTP; making one of
    // our own clients installs it.
    let base: Url = "http://127.0.0.1/".parse().unwrap();
    Web::new(&base, Secret::new(""), SharedEpoch::default()).unwrap();
    client_trusting(&Trust::Usual)
}

pub(crate) fn client_trusting(trust: &Trust) -> reqwest::Client {
    reqwest::Client::builder()
        .tls_backend_preconfigured(trust.config().unwrap())
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

/// The next envelope, acknowledged.
pub(crate) async fn take(socket: &mut Socket) -> Envelope {
    let envelope = peek(socket).await;
    socket.ack(&envelope.id).await.unwrap();
    envelope
}

/// The next envelope, not acknowledged.
pub(crate) async fn peek(socket: &mut Socket) -> Envelope {
    timeout(PATIENCE, socket.next())
        .await
        .expect("an envelope in time")
        .expect("the socket is open")
}

/// The text of a message envelope.
pub(crate) fn text_of(envelope: &Envelope) -> String {
    let event = &envelope.payload["event"];
    event["text"].as_str().unwrap_or_default().to_owned()
}
