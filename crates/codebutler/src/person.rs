//! A person of the workspace, by the same JSON API that scripts use.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use butler_config::Settings;
use butler_protocol::{ChannelId, MessageTs, Refusal, RunView, Secret};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::{CliError, hub_access, wiring};

/// Between two tries to listen to a hub that is away.
const AGAIN: Duration = Duration::from_millis(500);
/// Between two looks at a thread.
const LOOK: Duration = Duration::from_millis(200);

/// Wakes up when something happened, while it is held.
pub(crate) struct News {
    wake: mpsc::Receiver<()>,
    _listening: AbortOnDropHandle<()>,
}

impl News {
    /// Returns when something happened since the last time.
    pub(crate) async fn wait(&mut self) {
        if self.wake.recv().await.is_none() {
            // The address cannot be listened to: there is no news.
            std::future::pending::<()>().await;
        }
    }
}

/// Talks to the hub as a person.
pub(crate) struct Person {
    client: reqwest::Client,
    base: Url,
    token: Secret,
    channel: ChannelId,
}

impl Person {
    /// The person called `you`, in the repo's channel.
    pub(crate) fn join(settings: &Settings, url: &str) -> Result<Self, CliError> {
        let mut tokens = hub_access::store(settings)?;
        let repo = hub_access::repo_tokens(settings)?;
        let person = tokens.ensure_person("you").map_err(CliError::internal)?;
        Ok(Self {
            client: hub_access::client(&wiring::hub(settings)?)?,
            base: Url::parse(url).map_err(CliError::internal)?,
            token: person.token,
            channel: repo.channel,
        })
    }

    /// The repo's channel.
    pub(crate) fn channel(&self) -> &ChannelId {
        &self.channel
    }

    /// Goes to the hub of this machine when it listens elsewhere by now; whether
    /// it does.
    pub(crate) fn move_to_hub_of(&mut self, settings: &Settings) -> bool {
        let Ok(hub) = wiring::hub(settings) else {
            return false;
        };
        // It may also have another certificate by now.
        if let Ok(client) = hub_access::client(&hub) {
            self.client = client;
        }
        let moved = hub.base != self.base;
        self.base = hub.base;
        moved
    }

    /// Posts in the channel; the answer is the root of the new thread.
    pub(crate) async fn say(&self, text: &str) -> Result<MessageTs, CliError> {
        self.message(json!({"text": text})).await
    }

    /// Answers in a thread.
    pub(crate) async fn reply(
        &self,
        thread: &MessageTs,
        text: &str,
    ) -> Result<MessageTs, CliError> {
        let said = json!({"thread_ts": thread, "text": text});
        self.message(said).await
    }

    /// Says something that answers no card, whatever its words are: in a thread, or as
    /// the beginning of one.
    pub(crate) async fn say_words(
        &self,
        thread: Option<&MessageTs>,
        text: &str,
    ) -> Result<MessageTs, CliError> {
        let said = json!({"thread_ts": thread, "text": text, "only_words": true});
        self.message(said).await
    }

    async fn message(&self, said: Value) -> Result<MessageTs, CliError> {
        let answer = self.post_here("v1/messages", said).await?;
        let ts = answer["ts"].as_str().unwrap_or_default();
        ts.parse().map_err(CliError::internal)
    }

    /// Presses a button of a card whose content has this hash; of another content it
    /// is refused.
    pub(crate) async fn decide(
        &self,
        message: &str,
        action: &str,
        sha256: &str,
    ) -> Result<(), CliError> {
        let press = json!({"ts": message, "action_id": action, "sha256": sha256});
        self.post_here("v1/actions", press).await.map(drop)
    }

    /// What waits for the person, in the repo's channel.
    pub(crate) async fn needs(&self) -> Result<Vec<Value>, CliError> {
        let mut needs = match self.get("v1/needs", &[]).await?["needs"].take() {
            Value::Array(needs) => needs,
            _ => Vec::new(),
        };
        needs.retain(|need| need["thread"]["channel"] == self.channel.as_str());
        Ok(needs)
    }

    /// Where a thread is on the page.
    pub(crate) fn page_of(&self, root: &MessageTs) -> Result<Url, CliError> {
        self.url(&format!("c/{}/{root}", self.channel))
    }

    /// The messages that began a thread, the newest first.
    pub(crate) async fn roots(&self) -> Result<Vec<Value>, CliError> {
        let path = format!("v1/channels/{}/messages", self.channel);
        let mut answer = self.get(&path, &[]).await?;
        let messages = answer["messages"].as_array_mut().map(std::mem::take);
        Ok(messages.unwrap_or_default())
    }

    /// Which sleeping teams have something to do, and which of the others have not. Takes a
    /// while when there is nothing to say.
    pub(crate) async fn waking(
        &self,
        asleep: &HashSet<&String>,
        awake: &HashSet<&String>,
        at_most: Duration,
    ) -> Result<Value, CliError> {
        let mut body = json!({"asleep": asleep, "awake": awake});
        if !awake.is_empty() {
            body["wait_ms"] = json!(at_most.max(AGAIN).as_millis());
        }
        self.post("v1/waking", &body).await
    }

    /// The newest threads, with phase and pull request.
    pub(crate) async fn board(&self) -> Result<Value, CliError> {
        self.get("v1/board", &[]).await
    }

    /// The same of the repo's channel alone.
    pub(crate) async fn board_of_channel(&self) -> Result<Value, CliError> {
        let channel = ("channel", self.channel.as_str());
        self.get("v1/board", &[channel]).await
    }

    /// The newest runs over the roadmaps of all repos.
    pub(crate) async fn runs(&self) -> Result<Vec<RunView>, CliError> {
        let runs = self.get("v1/runs", &[]).await?["runs"].take();
        serde_json::from_value(runs).map_err(CliError::internal)
    }

    /// The roles of every repo, whether they are connected and what they work on.
    pub(crate) async fn agents(&self) -> Result<Value, CliError> {
        self.get("v1/agents", &[]).await
    }

    /// How it stands between Slack and the hub; null without Slack.
    pub(crate) async fn slack(&self) -> Result<Value, CliError> {
        Ok(self.get("v1/slack", &[]).await?["slack"].take())
    }

    /// What a repo has spent today, and how much it may.
    pub(crate) async fn cost_of(&self, repo: &str) -> Result<Value, CliError> {
        self.get("v1/cost", &[("repo", repo)]).await
    }

    /// Whether no agent has mail that it did not take yet.
    pub(crate) async fn queues_empty(&self) -> Result<bool, CliError> {
        let answer = self.agents().await?;
        let agents = answer["agents"].as_array().into_iter().flatten();
        Ok(agents.into_iter().all(|agent| agent["queue"] == 0))
    }

    /// A wake-up for everything that happens. Ends never, also when the hub is
    /// away for a while; what was missed is found by looking.
    pub(crate) fn news(&self) -> News {
        let (sender, receiver) = mpsc::channel(1);
        let (client, token) = (self.client.clone(), self.token.clone());
        let url = self.url("v1/events");
        let listening = tokio::spawn(async move {
            let Ok(url) = url else { return };
            loop {
                let request = client.get(url.clone()).bearer_auth(token.expose());
                if let Ok(mut response) = request.send().await {
                    while let Ok(Some(_)) = response.chunk().await {
                        // One that waits already is as good as two.
                        let _ = sender.try_send(());
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
        News {
            wake: receiver,
            _listening: AbortOnDropHandle::new(listening),
        }
    }

    /// Presses a button.
    pub(crate) async fn click(&self, message: &str, action: &str) -> Result<(), CliError> {
        let press = json!({"ts": message, "action_id": action});
        self.post_here("v1/actions", press).await.map(drop)
    }

    /// The thread as the page shows it.
    pub(crate) async fn thread(&self, root: &MessageTs) -> Result<Value, CliError> {
        let path = format!("v1/threads/{}/{root}", self.channel);
        self.get(&path, &[]).await
    }

    /// Looks at a thread until it shows what is waited for, or the time is over.
    pub(crate) async fn seen_in<T>(
        &self,
        root: &MessageTs,
        at_most: Duration,
        what: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, CliError> {
        let begun = Instant::now();
        while begun.elapsed() < at_most {
            if let Some(seen) = what(&self.thread(root).await?) {
                return Ok(Some(seen));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(None)
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let request = self.client.get(self.url(path)?).query(query);
        answer(request.bearer_auth(self.token.expose())).await
    }

    /// What is said or pressed is so in the repo's channel.
    async fn post_here(&self, path: &str, mut body: Value) -> Result<Value, CliError> {
        body["channel"] = json!(self.channel);
        self.post(path, &body).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.client.post(self.url(path)?).json(body);
        answer(request.bearer_auth(self.token.expose())).await
    }

    fn url(&self, path: &str) -> Result<Url, CliError> {
        self.base.join(path).map_err(CliError::internal)
    }
}

/// The hub does not answer: it is not running, or went away in the middle.
#[derive(Debug, thiserror::Error)]
#[error("the hub at {address} does not answer")]
pub(crate) struct Away {
    address: String,
    /// Whether the call may have been carried out all the same.
    pub unclear: bool,
}

impl Away {
    fn from(error: &reqwest::Error) -> CliError {
        let mut address = error.url().cloned();
        if let Some(url) = &mut address {
            url.set_path("");
            url.set_query(None);
        }
        let away = Self {
            address: address.map(String::from).unwrap_or_default(),
            unclear: !error.is_connect(),
        };
        CliError::because(away).hint("`codebutler up` starts it")
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Value, CliError> {
    let response = request.send().await.map_err(|error| Away::from(&error))?;
    let status = response.status();
    let body: Value = response.json().await.map_err(|error| Away::from(&error))?;
    if status.is_success() {
        return Ok(body);
    }
    let refusal = body["error"].as_str().and_then(Refusal::named);
    if refusal == Some(Refusal::UseSlack) {
        let error = CliError::user("Slack is behind this hub, so people write and press there");
        return Err(
            error.hint("the channel is in Slack; `codebutler chat --list` and `--read` only look")
        );
    }
    Err(CliError::user(match refusal {
        Some(refusal) => format!("{} ({refusal})", refusal.sentence()),
        None => format!("the hub answered {status}: {body}"),
    }))
}
