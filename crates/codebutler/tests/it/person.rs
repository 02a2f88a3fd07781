//! A person who talks to a hub that may die at any moment: who gets no answer
//! looks whether it was done, and does it again if not.

use std::time::Duration;

use butler_tls::Trust;
use serde_json::{Value, json};

use crate::team::{button, story};

/// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub(crate) struct Person {
    pub hub: String,
    pub channel: String,
    token: String,
    client: reqwest::Client,
}

impl Person {
    pub(crate) fn new(hub: &str, channel: &str, token: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            hub: hub.to_owned(),
            channel: channel.to_owned(),
            token: token.to_owned(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    /// The same at a hub that encrypts.
    pub(crate) fn trusting(hub: &str, channel: &str, token: &str, trust: &Trust) -> Self {
        let builder = reqwest::Client::builder().no_proxy();
        let builder = builder.tls_backend_preconfigured(trust.config().unwrap());
        Self {
            client: builder.build().unwrap(),
            ..Self::new(hub, channel, token)
        }
    }

    /// Posts in the channel; returns the thread.
    pub(crate) async fn open(&self, words: &str) -> String {
        let body = json!({"channel": self.channel, "text": words});
        loop {
            if let Some(answer) = self.try_post("v1/messages", &body).await {
                return text(&answer["ts"]);
            }
            let path = format!("v1/channels/{}/messages", self.channel);
            if let Some(ts) = self.get(&path).await.and_then(|all| said(&all, words)) {
                return ts;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Says something in a thread, once.
    pub(crate) async fn reply(&self, root: &str, words: &str) {
        let body = json!({"channel": self.channel, "thread_ts": root, "text": words});
        loop {
            if self.try_post("v1/messages", &body).await.is_some() {
                return;
            }
            if self
                .thread(root)
                .await
                .and_then(|all| said(&all, words))
                .is_some()
            {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Puts a mark on a message.
    pub(crate) async fn react(&self, ts: &str, name: &str) {
        let body = json!({"channel": self.channel, "ts": ts, "name": name});
        while self.try_post("v1/reactions", &body).await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for a card that begins so and has this button, and presses it; one
    /// that was pressed by a click without an answer is fine.
    pub(crate) async fn press(&self, root: &str, title: &str, choice: &str) -> Result<(), String> {
        let ending = format!(":{choice}");
        let find = |thread: &Value| {
            let messages = thread["messages"].as_array()?.iter();
            let mut cards = messages.filter(|one| text(&one["text"]).starts_with(title));
            cards.find_map(|one| button(&json!({"messages": [one]}), &ending))
        };
        let thread = self
            .until(root, title, |thread| find(thread).is_some())
            .await?;
        let (ts, action) = find(&thread).unwrap();
        let body = json!({"channel": self.channel, "ts": ts, "action_id": action});
        loop {
            match self.try_post("v1/actions", &body).await {
                Some(answer) if answer["ok"] == json!(true) => return Ok(()),
                Some(answer) if answer["error"] == json!("already_decided") => return Ok(()),
                Some(answer) => return Err(format!("{choice}: {answer}")),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The thread as the page shows it; nothing while the hub is away.
    pub(crate) async fn thread(&self, root: &str) -> Option<Value> {
        self.get(&format!("v1/threads/{}/{root}", self.channel))
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let request = self.client.get(format!("{}{path}", self.hub));
        request
            .bearer_auth(&self.token)
            .send()
            .await
            .ok()?
            .json()
            .await
            .ok()
    }

    /// What another address answers, by its number.
    pub(crate) async fn status(&self, url: &str) -> Option<u16> {
        let answer = self.client.get(url).send().await.ok()?;
        Some(answer.status().as_u16())
    }

    /// Waits until the thread satisfies `enough`, and tells what it said if not.
    pub(crate) async fn until(
        &self,
        root: &str,
        what: &str,
        enough: impl Fn(&Value) -> bool,
    ) -> Result<Value, String> {
        let look = async {
            loop {
                if let Some(thread) = self.thread(root).await
                    && enough(&thread)
                {
                    return thread;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(thread) => Ok(thread),
            Err(_) => {
                let thread = self.thread(root).await.unwrap_or(Value::Null);
                let said = story(&thread);
                Err(format!(
                    "{what} did not happen; the thread says {said:#?}, {}",
                    thread["activity"]
                ))
            }
        }
    }

    async fn try_post(&self, path: &str, body: &Value) -> Option<Value> {
        let request = self.client.post(format!("{}{path}", self.hub)).json(body);
        request
            .bearer_auth(&self.token)
            .send()
            .await
            .ok()?
            .json()
            .await
            .ok()
    }
}

/// The message with these words.
fn said(all: &Value, words: &str) -> Option<String> {
    let messages = all["messages"].as_array()?;
    let found = messages
        .iter()
        .find(|one| one["text"].as_str() == Some(words));
    found.map(|one| text(&one["ts"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
