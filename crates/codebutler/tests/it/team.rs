//! A whole team on a sample project: `codebutler up` as a real process with hub
//! and six agents below it, the rehearsal model, a bare remote, and a person who
//! talks to the hub as scripts do.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use assert_cmd::cargo::cargo_bin;
use butler_protocol::Role;
use butler_rehearsal::{Rehearsal, Scenario};
use butler_testkit::{
    Flavour, GitHub, Hosted, ImageStandIn, Limits, MediaStandIn, ScratchRepo, SlackStandIn,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{confined_git::GitNotes, owed, person::Person};

/// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a team is started on.
struct Stage<'a> {
    scenarios: Vec<Scenario>,
    strict: bool,
    configure: Box<dyn FnOnce(&mut Value) + Send + 'a>,
    /// Changes the machine's own configuration.
    machine: Box<dyn FnOnce(&mut Value) + Send + 'a>,
    prepare: Box<dyn FnOnce(&Path) + Send + 'a>,
    variables: Variables,
    on_github: bool,
    /// Another hosted forge instead.
    on: Option<Flavour>,
    forge_secret: Option<String>,
    /// Whether the person has agreed to what the configuration asks for.
    agreed: bool,
    slack: Option<(SlackStandIn, String)>,
    /// What the kernel lacks.
    without: Option<&'static str>,
    /// Starts the team instead of `up`.
    keep: Option<Box<Keep>>,
}

/// Starts a team in a repo that is set up, with these variables: whoever keeps it, and where
/// its hub is.
pub(crate) type Keep = dyn FnOnce(&ScratchRepo, Variables) -> (Child, String) + Send;
pub(crate) type Variables = Vec<(OsString, OsString)>;

impl Stage<'_> {
    fn new(scenario: &str) -> Self {
        Self::of(vec![Scenario::parse(scenario).unwrap()], true)
    }

    fn of(scenarios: Vec<Scenario>, strict: bool) -> Self {
        Self {
            scenarios,
            strict,
            configure: Box::new(|_| ()),
            machine: Box::new(|_| ()),
            prepare: Box::new(|_| ()),
            variables: Vec::new(),
            on_github: false,
            on: None,
            forge_secret: None,
            agreed: true,
            slack: None,
            without: None,
            keep: None,
        }
    }
}

fn owned(variables: &[(&str, String)]) -> Variables {
    let pairs = variables.iter();
    pairs
        .map(|(name, value)| ((*name).into(), value.into()))
        .collect()
}

pub(crate) struct Team {
    pub scratch: ScratchRepo,
    pub model: Rehearsal,
    up: Child,
    pub hub: String,
    token: String,
    pub channel: String,
    client: reqwest::Client,
    slack: Option<(SlackStandIn, String)>,
    variables: Variables,
    /// The forge, where it is another one than GitHub or the remote itself.
    pub hosted: Option<Hosted>,
    /// How git was started, unless the story says where programs are, or the kernel lacks
    /// what confines it.
    git: Option<GitNotes>,
}

impl Team {
    /// Sets the sample project up and starts everything.
    pub(crate) async fn start(scenario: &str) -> Self {
        Self::start_with(scenario, |_| ()).await
    }

    /// The same with several stories side by side.
    pub(crate) async fn start_playing(scenarios: Vec<Scenario>, strict: bool) -> Self {
        let stage = Stage::of(scenarios, strict);
        Self::open(stage).await.0
    }

    /// The same, with something done to the working copy, and variables for every process.
    pub(crate) async fn start_playing_in(
        scenarios: Vec<Scenario>,
        configure: impl FnOnce(&mut Value) + Send,
        prepare: impl FnOnce(&Path) + Send,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::of(scenarios, true);
        stage.configure = Box::new(configure);
        stage.prepare = Box::new(prepare);
        stage.variables = owned(variables);
        Self::open(stage).await.0
    }

    /// The same, with something done to the working copy before the start.
    pub(crate) async fn start_with(scenario: &str, prepare: impl FnOnce(&Path) + Send) -> Self {
        Self::start_in(scenario, prepare, &[]).await
    }

    /// The same, with variables for every process.
    pub(crate) async fn start_in(
        scenario: &str,
        prepare: impl FnOnce(&Path) + Send,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.prepare = Box::new(prepare);
        stage.variables = owned(variables);
        Self::open(stage).await.0
    }

    /// The same, with another configuration on the default branch.
    pub(crate) async fn start_configured(
        scenario: &str,
        configure: impl FnOnce(&mut Value) + Send,
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.configure = Box::new(configure);
        Self::open(stage).await.0
    }

    /// The same, with something done to the working copy as well.
    pub(crate) async fn start_prepared(
        scenario: &str,
        configure: impl FnOnce(&mut Value) + Send,
        prepare: impl FnOnce(&Path) + Send,
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.configure = Box::new(configure);
        stage.prepare = Box::new(prepare);
        Self::open(stage).await.0
    }

    /// The same, with variables for every process as well.
    pub(crate) async fn start_prepared_in(
        scenario: &str,
        configure: impl FnOnce(&mut Value) + Send,
        prepare: impl FnOnce(&Path) + Send,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.configure = Box::new(configure);
        stage.prepare = Box::new(prepare);
        stage.variables = owned(variables);
        Self::open(stage).await.0
    }

    /// The same in a clone whose files ask for things that nobody has agreed to.
    pub(crate) async fn start_unagreed(
        scenario: &str,
        configure: impl FnOnce(&mut Value) + Send,
        prepare: impl FnOnce(&Path) + Send,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.configure = Box::new(configure);
        stage.prepare = Box::new(prepare);
        stage.variables = owned(variables);
        stage.agreed = false;
        Self::open(stage).await.0
    }

    /// The same, on a remote that is GitHub as far as git and gh can tell.
    pub(crate) async fn start_on_github(scenario: &str) -> (Self, GitHub) {
        let mut stage = Stage::new(scenario);
        stage.on_github = true;
        let (team, github) = Self::open(stage).await;
        (team, github.unwrap())
    }

    /// The same, looked at every second, with variables for every process.
    pub(crate) async fn start_watched(
        scenario: &str,
        variables: &[(&str, String)],
    ) -> (Self, GitHub) {
        let mut stage = Stage::new(scenario);
        stage.on_github = true;
        stage.configure = Box::new(|config| config["limits"] = json!({"forgeSeconds": 1}));
        stage.variables = owned(variables);
        let (team, github) = Self::open(stage).await;
        (team, github.unwrap())
    }

    /// The same where a label or a word on an issue starts work.
    pub(crate) async fn start_assigned(
        scenario: &str,
        variables: &[(&str, String)],
    ) -> (Self, GitHub) {
        let mut stage = Stage::new(scenario);
        stage.on_github = true;
        stage.configure = Box::new(|config| {
            config["limits"] = json!({"forgeSeconds": 1});
            config["issues"] = json!({"label": "butler", "mention": "@butler"});
        });
        stage.variables = owned(variables);
        let (team, github) = Self::open(stage).await;
        (team, github.unwrap())
    }

    /// The same where the forge says that something happened, and nobody looks by itself.
    pub(crate) async fn start_with_webhooks(scenario: &str, secret: &str) -> (Self, GitHub) {
        let mut stage = Stage::new(scenario);
        stage.on_github = true;
        stage.configure = Box::new(|config| config["limits"] = json!({"forgeSeconds": 3600}));
        stage.forge_secret = Some(secret.to_owned());
        let (team, github) = Self::open(stage).await;
        (team, github.unwrap())
    }

    /// The messages of the channel itself.
    pub(crate) async fn channel_messages(&self) -> Vec<Value> {
        let url = format!("{}v1/channels/{}/messages", self.hub, self.channel);
        let request = self.client.get(url).bearer_auth(&self.token);
        let answer: Value = match request.send().await {
            Ok(answer) => answer.json().await.unwrap_or_default(),
            Err(_) => Value::Null,
        };
        answer["messages"].as_array().cloned().unwrap_or_default()
    }

    /// The same on another hosted forge.
    pub(crate) async fn start_on_forge(
        scenario: &str,
        flavour: Flavour,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.on = Some(flavour);
        stage.configure = Box::new(|config| config["limits"] = json!({"forgeSeconds": 1}));
        stage.variables = owned(variables);
        Self::open(stage).await.0
    }

    /// The same with Slack, or its stand-in, behind the hub: ana talks there.
    pub(crate) async fn start_on_slack(scenario: &str) -> Self {
        let slack = SlackStandIn::start().await;
        slack.limit(Limits::default());
        let ana = slack.person("ana");
        let mut stage = Stage::new(scenario);
        // Everything that can be written is, and searched for Slack's tokens.
        stage.variables = owned(&[("CODEBUTLER_LOG", "debug".to_owned())]);
        stage.slack = Some((slack, ana));
        Self::open(stage).await.0
    }

    /// The same with somebody who listens to recordings, a minute for 0.6 cents.
    pub(crate) async fn start_listening(
        scenario: &str,
        media: &MediaStandIn,
        slack: Option<(SlackStandIn, String)>,
        configure: impl FnOnce(&mut Value) + Send,
    ) -> Self {
        Self::start_listening_in(scenario, media, slack, configure, &[]).await
    }

    /// The same, with variables for every process.
    pub(crate) async fn start_listening_in(
        scenario: &str,
        media: &MediaStandIn,
        slack: Option<(SlackStandIn, String)>,
        configure: impl FnOnce(&mut Value) + Send,
        variables: &[(&str, String)],
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.slack = slack;
        stage.variables = owned(variables);
        stage.configure = Box::new(|config| {
            config["models"]["transcription"] =
                json!({"model": "whisper", "dollarsPerMinute": 0.006});
            configure(config);
        });
        let endpoint = json!({"kind": "openai", "baseUrl": media.base_url(),
            "apiKey": MediaStandIn::KEY});
        stage.machine = Box::new(move |machine| {
            machine["models"]["default"] = json!("rehearsal");
            machine["models"]["endpoints"]["voice"] = endpoint;
        });
        Self::open(stage).await.0
    }

    /// The same with somebody who draws, as `drawer` does for whatever the answer says.
    pub(crate) async fn start_drawing(
        scenario: &str,
        images: &ImageStandIn,
        prepare: impl FnOnce(&Path) + Send,
    ) -> Self {
        Self::start_drawing_with(scenario, images, |_| (), prepare).await
    }

    /// The same with another configuration.
    pub(crate) async fn start_drawing_with(
        scenario: &str,
        images: &ImageStandIn,
        configure: impl FnOnce(&mut Value) + Send,
        prepare: impl FnOnce(&Path) + Send,
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.prepare = Box::new(prepare);
        stage.configure = Box::new(|config| {
            config["models"]["artist"]["imageModel"] = json!("drawer");
            configure(config);
        });
        let endpoint = json!({"kind": "openai", "baseUrl": images.base_url(),
            "apiKey": ImageStandIn::KEY});
        stage.machine = Box::new(move |machine| {
            machine["models"]["default"] = json!("rehearsal");
            machine["models"]["endpoints"]["openai"] = endpoint;
        });
        Self::open(stage).await.0
    }

    /// The same with another configuration of the machine.
    pub(crate) async fn start_on_machine(
        scenario: &str,
        machine: impl FnOnce(&mut Value) + Send,
    ) -> Self {
        let mut stage = Stage::new(scenario);
        stage.machine = Box::new(machine);
        Self::open(stage).await.0
    }

    /// The same on a kernel that has less.
    pub(crate) async fn start_without(missing: &'static str, scenario: &str) -> Self {
        let mut stage = Stage::new(scenario);
        stage.without = Some(missing);
        Self::open(stage).await.0
    }

    /// The same, kept by somebody else than `up`.
    pub(crate) async fn start_kept(scenario: &str, keep: Box<Keep>) -> Self {
        let mut stage = Stage::new(scenario);
        stage.keep = Some(keep);
        Self::open(stage).await.0
    }

    /// The same where everything has mounts of its own: there nobody's git can be told from
    /// one in the sandbox, so none is noted.
    pub(crate) async fn start_apart(scenario: &str, keep: Box<Keep>) -> Self {
        let mut stage = Stage::new(scenario);
        stage.variables = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        stage.keep = Some(keep);
        Self::open(stage).await.0
    }

    async fn open(stage: Stage<'_>) -> (Self, Option<GitHub>) {
        let Stage {
            scenarios,
            strict,
            slack,
            configure,
            machine,
            prepare,
            mut variables,
            on_github,
            on,
            forge_secret,
            agreed,
            without,
            keep,
        } = stage;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let any = ([127, 0, 0, 1], 0).into();
        let model = Rehearsal::start_all(any, scenarios, strict, CancellationToken::new())
            .await
            .unwrap();
        let scratch = ScratchRepo::new();
        let behind = slack.as_ref().map(|(slack, _)| slack);
        set_up_as(&scratch, &model.base_url(), behind, configure);
        change_machine(&scratch, machine);
        prepare(scratch.root());
        if let Some(secret) = forge_secret {
            let file = home(&scratch).join("config.json");
            let machine = fs::read_to_string(&file).unwrap();
            let mut machine: Value = serde_json::from_str(&machine).unwrap();
            machine["hub"] = json!({"forgeSecret": secret});
            butler_config::write_private(&file, &machine.to_string()).unwrap();
        }
        if agreed {
            agree(&scratch);
        }
        let github = on_github.then(|| GitHub::serve(&scratch));
        let hosted = on.map(|flavour| put_on(&scratch, flavour));
        let forge = github.iter().chain(hosted.as_deref());
        // What the test itself says comes last.
        variables.splice(0..0, forge.flat_map(GitHub::variables));
        let own_path = variables.iter().any(|(name, _)| name == "PATH");
        let git = (!own_path && without.is_none()).then(|| GitNotes::new(scratch.folder()));
        variables.extend(git.iter().map(GitNotes::path));
        let (up, hub) = match keep {
            Some(keep) => keep(&scratch, variables.clone()),
            None => start_up(&scratch, variables.clone(), without),
        };
        let tokens = tokens(&scratch);
        let team = Self {
            scratch,
            model,
            up,
            hub,
            token: text(&tokens["people"]["you"]["token"]),
            channel: text(&tokens["channel"]),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            slack,
            variables,
            hosted,
            git,
        };
        (team, github)
    }

    /// A person of this team who can live with a hub that dies.
    pub(crate) fn person(&self) -> Person {
        Person::new(&self.hub, &self.channel, &self.token)
    }

    /// What the person shows to the hub.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Slack, where it is behind the hub.
    pub(crate) fn slack(&self) -> &SlackStandIn {
        &self.slack.as_ref().unwrap().0
    }

    /// The same, with the one who talks there.
    pub(crate) fn slack_and_ana(&self) -> (&SlackStandIn, &str) {
        let (slack, ana) = self.slack.as_ref().unwrap();
        (slack, ana)
    }

    /// A page of the hub, as a person gets it.
    pub(crate) async fn page(&self, path: &str) -> String {
        let url = format!("{}{path}", self.hub);
        let request = self.client.get(url).bearer_auth(&self.token);
        request.send().await.unwrap().text().await.unwrap()
    }

    /// The same; nothing while the hub is away.
    pub(crate) async fn try_page(&self, path: &str) -> Option<String> {
        let url = format!("{}{path}", self.hub);
        let request = self.client.get(url).bearer_auth(&self.token);
        request.send().await.ok()?.text().await.ok()
    }

    /// Sends a form of the page, as a browser does.
    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)]) {
        let part = |(name, value): &(&str, &str)| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = fields.iter().map(part).collect::<String>() + "--b--\r\n";
        let url = format!("{}{path}", self.hub);
        let form = self.client.post(url).bearer_auth(&self.token).body(body);
        let form = form.header("content-type", "multipart/form-data; boundary=b");
        let answer = form.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Says something with a file, as the page's form does; returns the message.
    pub(crate) async fn say_with_file(
        &self,
        thread: &str,
        words: &str,
        file: (&str, &[u8]),
    ) -> String {
        let (status, answer) = self.say_with_files(thread, words, &[file]).await;
        assert!(status < 300, "{answer}");
        text(&answer["ts"])
    }

    /// The same with several, and what the hub answered.
    pub(crate) async fn say_with_files(
        &self,
        thread: &str,
        words: &str,
        files: &[(&str, &[u8])],
    ) -> (u16, Value) {
        let fields = [
            ("channel", &*self.channel),
            ("text", words),
            ("thread_ts", thread),
        ];
        let part = |what: String| format!("--b\r\nContent-Disposition: form-data; {what}\r\n\r\n");
        let mut body = Vec::new();
        for (name, value) in fields {
            body.extend(format!("{}{value}\r\n", part(format!("name=\"{name}\""))).bytes());
        }
        for (name, bytes) in files {
            let head = part(format!("name=\"file\"; filename=\"{name}\""));
            body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
        }
        body.extend(b"--b--\r\n");
        let url = format!("{}v1/messages", self.hub);
        let form = self.client.post(url).bearer_auth(&self.token).body(body);
        let form = form.header("content-type", "multipart/form-data; boundary=b");
        let answer = form.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// A file of the hub, as a browser gets it.
    pub(crate) async fn file(&self, id: &str) -> reqwest::Response {
        let url = format!("{}files/{id}", self.hub);
        let request = self.client.get(url).bearer_auth(&self.token);
        request.send().await.unwrap()
    }

    /// What hub and agents wrote.
    pub(crate) fn written(&self) -> String {
        fs::read_to_string(self.scratch.folder().join("up.log")).unwrap()
    }

    /// Posts in the channel; returns the thread.
    pub(crate) async fn say(&self, words: &str) -> String {
        if let Some((slack, ana)) = &self.slack {
            return slack.say(ana, &self.channel, words, None);
        }
        let body = json!({"channel": self.channel, "text": words});
        text(&self.post("v1/messages", &body).await["ts"])
    }

    /// Posts in a thread.
    pub(crate) async fn reply(&self, root: &str, words: &str) {
        let body = json!({"channel": self.channel, "text": words, "thread_ts": root});
        let answer = self.post("v1/messages", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.hub);
        let request = self.client.post(url).bearer_auth(&self.token).json(body);
        request.send().await.unwrap().json().await.unwrap()
    }

    /// The thread as the page shows it; nothing while the hub is away.
    pub(crate) async fn thread(&self, root: &str) -> Option<Value> {
        let url = format!("{}v1/threads/{}/{root}", self.hub, self.channel);
        let request = self.client.get(url).bearer_auth(&self.token);
        request.send().await.ok()?.json().await.ok()
    }

    /// Waits until the thread satisfies `enough`.
    pub(crate) async fn until(
        &self,
        root: &str,
        what: &str,
        enough: impl Fn(&Value) -> bool,
    ) -> Value {
        let look = async {
            loop {
                if let Some(thread) = self.thread(root).await
                    && enough(&thread)
                {
                    return thread;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(thread) => thread,
            Err(_) => {
                let thread = self.thread(root).await.unwrap_or(Value::Null);
                panic!(
                    "{what} did not happen; the thread says:\n{:#?}",
                    long_story(&thread)
                );
            }
        }
    }

    /// Waits for a card with this button and presses it.
    pub(crate) async fn press(&self, root: &str, choice: &str) {
        let ending = format!(":{choice}");
        let thread = self
            .until(root, choice, |thread| button(thread, &ending).is_some())
            .await;
        let (ts, action) = button(&thread, &ending).unwrap();
        if let Some((slack, ana)) = &self.slack {
            // The person sees an error mark while nobody listens, and presses again.
            let heard = async {
                while !slack.click(ana, &self.channel, &ts, &action) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            return tokio::time::timeout(PATIENCE, heard).await.unwrap();
        }
        let body = json!({"channel": self.channel, "ts": ts, "action_id": action});
        let answer = self.post("v1/actions", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    /// Waits for a plan, and approves it with these steps instead.
    pub(crate) async fn approve_with(&self, root: &str, steps: &[&str]) {
        let thread = self
            .until(root, "a plan", |thread| {
                button(thread, ":approve").is_some()
            })
            .await;
        let (ts, action) = button(&thread, ":approve").unwrap();
        let request = action.split(':').nth(1).unwrap();
        let body = json!({"channel": self.channel, "ts": ts, "request": request, "steps": steps,
            "criteria": ["it is done"], "files": ["notes.sh"], "complexity": "simple",
            "cap": 2_500_000_000i64, "model": "second/coder"});
        let answer = self.post("v1/plans/approve", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    /// Presses a button of the n-th command card, from 1.
    pub(crate) async fn press_on(&self, root: &str, number: usize, choice: &str) {
        let thread = self.thread(root).await.unwrap();
        let cards = thread["messages"].as_array().unwrap().iter();
        let mut cards = cards.filter(|one| text(&one["text"]).starts_with("May I run this?"));
        let card = json!({"messages": [cards.nth(number - 1).unwrap()]});
        let (ts, action) = button(&card, &format!(":{choice}")).unwrap();
        let body = json!({"channel": self.channel, "ts": ts, "action_id": action});
        let answer = self.post("v1/actions", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    /// Presses a button of the open card whose title or body holds this text.
    pub(crate) async fn press_card(&self, root: &str, words: &str, choice: &str) {
        let ending = format!(":{choice}");
        let card = |thread: &Value| {
            let messages = thread["messages"].as_array()?.iter();
            let mut cards = messages.filter(|one| {
                one["blocks"].to_string().contains(words) || text(&one["text"]).contains(words)
            });
            cards.find_map(|one| button(&json!({"messages": [one]}), &ending))
        };
        let what = format!("the card of {words}");
        let thread = self
            .until(root, &what, |thread| card(thread).is_some())
            .await;
        let (ts, action) = card(&thread).unwrap();
        let body = json!({"channel": self.channel, "ts": ts, "action_id": action});
        let answer = self.post("v1/actions", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    /// Presses the button with exactly this action.
    pub(crate) async fn press_action(&self, root: &str, action: &str) {
        let thread = self
            .until(root, action, |thread| button(thread, action).is_some())
            .await;
        let (ts, action) = button(&thread, action).unwrap();
        let body = json!({"channel": self.channel, "ts": ts, "action_id": action});
        let answer = self.post("v1/actions", &body).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }

    /// Waits until something outside the thread holds.
    pub(crate) async fn wait(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let look = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, look).await.is_ok(),
            "{what} did not happen"
        );
    }

    /// Presses a button of the first undecided card that `choose` has one for.
    pub(crate) async fn decide(
        &self,
        thread: &Value,
        choose: impl Fn(&str) -> Option<&'static str>,
    ) -> bool {
        let decisions = thread["decisions"].as_array().into_iter().flatten();
        let mut open = decisions.filter(|one| one["decided"].is_null());
        let chosen = open.find_map(|one| {
            let kind = one["asked"]["kind"].as_str()?;
            Some((&one["asked"], choose(kind)?))
        });
        let Some((asked, choice)) = chosen else {
            return false;
        };
        let action = format!("cb:{}:{choice}", text(&asked["request"]));
        let body = json!({"channel": self.channel, "ts": asked["message"], "action_id": action});
        self.post("v1/actions", &body).await["ok"] == json!(true)
    }

    /// The process of the hub or a role, as it noted itself.
    pub(crate) fn pid(&self, name: &str) -> Option<i32> {
        let file = self.home().join(format!("run/clone/{name}.json"));
        let file = fs::File::open(file).ok()?;
        // Whoever runs holds its lock.
        file.try_lock_shared().err()?;
        let note: Value = serde_json::from_reader(file).ok()?;
        note["pid"].as_i64()?.try_into().ok()
    }

    /// `kill -9` of everything, and a new start.
    pub(crate) fn crash(&mut self) {
        let names = std::iter::once("hub").chain(Role::ALL.iter().map(|role| role.as_str()));
        let pids: Vec<i32> = names.filter_map(|name| self.pid(name)).collect();
        // First whoever would start the others again.
        self.up.kill().unwrap();
        self.up.wait().unwrap();
        for pid in pids {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        (self.up, self.hub) = start_up(&self.scratch, self.variables.clone(), None);
    }

    /// `kill -9`.
    pub(crate) fn kill(&self, name: &str) {
        let pid = self.pid(name).unwrap();
        let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(status.unwrap().success());
    }

    pub(crate) fn home(&self) -> PathBuf {
        home(&self.scratch)
    }

    /// The binary in the person's checkout, on the machine of the team.
    pub(crate) fn command(&self) -> Command {
        command(self.scratch.root(), &self.home())
    }

    /// The logs of a thread whose names begin so.
    pub(crate) fn logs(&self, root: &str, prefix: &str) -> Vec<String> {
        let all = fs::read_dir(self.conversations(root)).unwrap();
        let names = all
            .flatten()
            .map(|one| one.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.starts_with(prefix) && name.ends_with(".jsonl"))
            .collect()
    }

    /// The conversation log of a role in a thread.
    pub(crate) fn log(&self, root: &str, role: &str) -> String {
        let file = self.conversations(root).join(format!("{role}.jsonl"));
        fs::read_to_string(file).unwrap_or_default()
    }

    /// The logs of all questions that the Researcher was asked in a thread.
    pub(crate) fn research_logs(&self, root: &str) -> String {
        let names = self.logs(root, "researcher-").into_iter();
        let folder = self.conversations(root);
        let logs = names.map(|name| fs::read_to_string(folder.join(name)).unwrap());
        logs.collect()
    }

    fn conversations(&self, root: &str) -> PathBuf {
        let folder = format!("{}-{}", self.channel, root.replace('.', "-"));
        let threads = self.scratch.root().join(".codebutler/threads");
        threads.join(folder).join("conversations")
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // Closing its input is not needed: `up` ends on SIGTERM, and its children with it.
        let _ = Command::new("kill").arg(self.up.id().to_string()).status();
        let _ = self.up.wait();
        keep(self.scratch.folder());
        // Whatever the story was about, people got what they are owed.
        if !std::thread::panicking() {
            let scratch = &self.scratch;
            owed::check(scratch.root(), &scratch.remote(), &home(scratch));
            self.git.iter().for_each(GitNotes::judge);
        }
    }
}

/// Copies what a failed test leaves to the folder that `CODEBUTLER_KEEP` names.
fn keep(left: &Path) {
    if let Some(folder) = std::env::var_os("CODEBUTLER_KEEP").filter(|_| std::thread::panicking()) {
        let _ = fs::create_dir_all(&folder);
        let _ = Command::new("cp")
            .arg("-a")
            .args([left.as_os_str(), &folder])
            .status();
    }
}

/// Who said what, in one line each.
pub(crate) fn story(thread: &Value) -> Vec<String> {
    let messages = thread["messages"].as_array().into_iter().flatten();
    messages
        .map(|message| {
            let who = message["username"].as_str().unwrap_or("you");
            let line = text(&message["text"]);
            let line: String = line
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(60)
                .collect();
            format!("{who}: {line}")
        })
        .collect()
}

/// The same with more of each message, for a test that failed.
fn long_story(thread: &Value) -> Vec<String> {
    let messages = thread["messages"].as_array().into_iter().flatten();
    messages
        .map(|message| text(&message["text"]).chars().take(500).collect())
        .collect()
}

/// Whether any message of the thread holds this text.
pub(crate) fn says(thread: &Value, words: &str) -> bool {
    let messages = thread["messages"].as_array().into_iter().flatten();
    messages.into_iter().any(|message| {
        text(&message["text"]).contains(words) || message["blocks"].to_string().contains(words)
    })
}

/// The keys of our posts.
pub(crate) fn keys(thread: &Value) -> Vec<String> {
    let messages = thread["messages"].as_array().into_iter().flatten();
    messages
        .filter_map(|message| message["metadata"]["event_payload"]["idem"].as_str())
        .map(str::to_owned)
        .collect()
}

pub(crate) fn button(thread: &Value, ending: &str) -> Option<(String, String)> {
    let messages = thread["messages"].as_array()?;
    messages.iter().find_map(|message| {
        let blocks = message["blocks"].as_array()?;
        let elements = blocks
            .iter()
            .filter_map(|block| block["elements"].as_array());
        let action = elements
            .flatten()
            .filter_map(|element| element["action_id"].as_str())
            .find(|action| action.ends_with(ending))?;
        Some((text(&message["ts"]), action.to_owned()))
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Puts a repo that is set up on a forge that this machine has a token for.
fn put_on(scratch: &ScratchRepo, flavour: Flavour) -> Hosted {
    let hosted = Hosted::serve(scratch, flavour);
    let file = home(scratch).join("config.json");
    let mut machine: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    machine["forges"] = json!({Hosted::HOST:
        {"kind": hosted.kind(), "url": hosted.url(), "token": Hosted::token()}});
    butler_config::write_private(&file, &machine.to_string()).unwrap();
    hosted
}

pub(crate) fn home(scratch: &ScratchRepo) -> PathBuf {
    scratch.folder().join("machine")
}

pub(crate) fn set_up(scratch: &ScratchRepo, model_url: &str, slack: Option<&SlackStandIn>) {
    set_up_as(scratch, model_url, slack, Box::new(|_| ()));
}

fn change_machine(scratch: &ScratchRepo, change: Box<dyn FnOnce(&mut Value) + Send + '_>) {
    let file = home(scratch).join("config.json");
    let mut machine = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut machine);
    butler_config::write_private(&file, &machine.to_string()).unwrap();
}

fn set_up_as(
    scratch: &ScratchRepo,
    model_url: &str,
    slack: Option<&SlackStandIn>,
    configure: Box<dyn FnOnce(&mut Value) + Send + '_>,
) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/sample");
    let root = scratch.root();
    fs::create_dir_all(root.join("tests")).unwrap();
    for name in ["notes.sh", "tests/run.sh", "README.md"] {
        fs::copy(sample.join(name), root.join(name)).unwrap();
    }
    let home = home(scratch);
    fs::create_dir_all(&home).unwrap();
    let mut machine =
        json!({"models": {"endpoints": {"rehearsal": {"kind": "generic", "baseUrl": model_url}}}});
    if let Some(slack) = slack {
        machine["slack"] = json!({"botToken": slack.bot_token(), "appToken": slack.app_token(),
            "apiUrl": slack.base()});
    }
    butler_config::write_private(&home.join("config.json"), &machine.to_string()).unwrap();
    let mut config = json!({
        "models": {
            "pm": {"default": "rehearsal/pm"}, "coder": {"default": "rehearsal/coder"},
            "reviewer": {"model": "rehearsal/reviewer"}, "researcher": {"model": "rehearsal/researcher"},
            "artist": {"uxModel": "rehearsal/artist"}, "lead": {"model": "rehearsal/lead"},
        },
        "checks": {"test": "sh tests/run.sh"},
    });
    configure(&mut config);
    fs::create_dir_all(root.join(".codebutler")).unwrap();
    fs::write(root.join(".codebutler/config.json"), config.to_string()).unwrap();
    fs::write(root.join(".codebutler/.gitignore"), "threads/\nbranches/\n").unwrap();
    butler_testkit::git(root, &["add", "--all"]);
    butler_testkit::git(
        root,
        &["commit", "--quiet", "--message", "the sample project"],
    );
    butler_testkit::git(root, &["push", "--quiet", "origin", "HEAD:main"]);
}

/// Agrees to what the repo's files ask for, as a person does who has read it.
pub(crate) fn agree(scratch: &ScratchRepo) {
    agree_in(scratch.root(), &home(scratch));
}

/// The same on another machine.
pub(crate) fn agree_in(root: &Path, home: &Path) {
    agree_with(&|args| {
        let output = command(root, home).args(args).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    });
}

/// The same by whatever runs the binary there.
pub(crate) fn agree_with(run: &dyn Fn(&[&str]) -> String) {
    let shown = run(&["policy"]);
    let Some((_, waiting)) = shown.split_once("policy, not agreed to, ") else {
        return;
    };
    let hash = waiting.split_whitespace().next().unwrap();
    let said = run(&["policy", "accept", "--hash", hash]);
    assert!(said.starts_with("agreed"), "{shown} {said}");
}

/// The binary in a repo with a machine of its own.
pub(crate) fn command(root: &Path, home: &Path) -> Command {
    let mut command = Command::new(cargo_bin!("codebutler"));
    command
        .current_dir(root)
        .env("CODEBUTLER_HOME", home)
        .env("NO_COLOR", "1");
    command
}

/// What comes before the words of a command on a kernel that has less.
pub(crate) fn weaker(missing: &str) -> [OsString; 4] {
    let own = cargo_bin!("codebutler").into();
    ["__sandbox".into(), "weaker".into(), missing.into(), own]
}

/// Starts `up` and waits until it says where the page is.
fn start_up(scratch: &ScratchRepo, variables: Variables, without: Option<&str>) -> (Child, String) {
    let log = scratch.folder().join("up.log");
    let log = fs::File::options().create(true).append(true).open(log);
    let log = log.unwrap();
    let mut up = command(scratch.root(), &home(scratch));
    if let Some(missing) = without {
        up.args(weaker(missing));
    }
    let mut up = up
        .args(["up", "--logs", "--listen", "127.0.0.1:0"])
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let at = line.find("http://").unwrap();
    let url = line[at..].split("login").next().unwrap().to_owned();
    (up, url)
}

pub(crate) fn tokens(scratch: &ScratchRepo) -> Value {
    let output = command(scratch.root(), &home(scratch))
        .args(["hub", "tokens", "--json"])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}
