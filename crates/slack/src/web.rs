//! The Web API: any method by name, and the ones we use typed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{
    ChannelId, MessageTs, PostTag, Refusal, Secret, ThreadId, UserId, person_name,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{Message, SharedEpoch, SlackError, Workspace, http::Caller};

/// Calls methods of one workspace with one token. What is not said to fail otherwise
/// fails as [`Web::call`].
#[derive(Debug, Clone)]
pub struct Web {
    pub(crate) caller: Caller,
    names: Arc<Mutex<HashMap<UserId, String>>>,
}

/// A message to post.
#[derive(Debug, Clone, PartialEq)]
pub struct Post {
    pub channel: ChannelId,
    /// In which thread; none starts one.
    pub thread: Option<MessageTs>,
    /// The text, in mrkdwn; with blocks it is the fallback people hear read out.
    pub text: String,
    /// Block Kit.
    pub blocks: Option<Value>,
    /// The name people see, as in `codebutler.pm`.
    pub username: Option<String>,
    /// An emoji with colons, as in `:robot_face:`.
    pub icon: Option<String>,
    /// Key, address, hand-over and card of this post.
    pub tag: PostTag,
}

/// Where a post went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub channel: ChannelId,
    /// The first part, when it was split.
    pub ts: MessageTs,
}

impl Web {
    /// A client of the workspace at `base` (`https://slack.com/`, or the hub's
    /// own address), speaking with the given bot token.
    /// Fails when `base` has no host.
    pub fn new(
        base: impl Into<Workspace>,
        token: Secret,
        epoch: SharedEpoch,
    ) -> Result<Self, SlackError> {
        let caller = Caller::new(&base.into(), token, epoch)?;
        let names = Arc::default();
        Ok(Self { caller, names })
    }

    /// A client of a workspace that knows no epochs, as Slack.
    /// Fails when the address or the file of certificates cannot be used.
    pub fn at(workspace: &Workspace, token: Secret) -> Result<Self, SlackError> {
        let caller = Caller::new(workspace, token, SharedEpoch::default())?;
        let names = Arc::default();
        Ok(Self { caller, names })
    }

    /// The same client with another limit on how long a call is repeated while
    /// the workspace does not answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.caller.patience = patience;
        self
    }

    /// The same client for one thread, see [`crate::Control::in_thread`].
    pub fn in_thread(&self, thread: &ThreadId) -> Self {
        let mut web = self.clone();
        web.caller.thread = Some(thread.clone());
        web
    }

    /// Calls a method. Arguments are sent as a form, nested values as JSON:
    /// the one shape that every method of Slack understands.
    /// Errors: `ok: false`, no answer, or an answer that is not JSON.
    pub fn call<'a>(
        &'a self,
        method: &'a str,
        args: Value,
    ) -> BoxFuture<'a, Result<Value, SlackError>> {
        Box::pin(async move {
            let url = self.caller.url(&format!("api/{method}"))?;
            let form = as_form(args);
            loop {
                let epoch = self.caller.epoch();
                let answer = self
                    .caller
                    .send(method, |client| client.post(url.clone()).form(&form))
                    .await?;
                let body = answer.json().await;
                let body: Value =
                    body.map_err(|error| SlackError::answer(method, &error.without_url()))?;
                if body["ok"] == json!(true) {
                    return Ok(body);
                }
                let code = body["error"].as_str().unwrap_or("no error name");
                if code != "stale_epoch" {
                    return Err(SlackError::api(method, code));
                }
                self.caller.newer_epoch(method, epoch).await?;
            }
        })
    }

    /// The bytes of a file of the workspace. The hub has them, also those of files that
    /// people shared in Slack.
    /// Fails when there is no such file, it is not for this token, or nobody answers.
    pub async fn file(&self, id: &str) -> Result<Vec<u8>, SlackError> {
        let method = format!("files/{id}");
        let url = self.caller.url(&method)?;
        let sending = self.caller.send(&method, |client| client.get(url.clone()));
        let answer = sending.await?;
        let status = answer.status();
        let bytes = answer.bytes().await;
        let bytes = bytes.map_err(|error| SlackError::answer(&method, &error.without_url()))?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        let refused: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        Err(match refused["error"].as_str() {
            Some(code) => SlackError::api(&method, code),
            None => SlackError::answer(&method, &format_args!("HTTP {status}")),
        })
    }

    /// Posts a message. The same key gets the first answer again.
    pub async fn post(&self, post: &Post) -> Result<Posted, SlackError> {
        let args = json!({
            "channel": post.channel, "text": post.text, "metadata": post.tag.to_metadata(),
            "unfurl_links": false, "unfurl_media": false, "thread_ts": post.thread,
            "blocks": post.blocks, "username": post.username, "icon_emoji": post.icon,
        });
        let answer = self.call("chat.postMessage", args).await?;
        Ok(Posted {
            channel: read("chat.postMessage", &answer, "channel")?,
            ts: read("chat.postMessage", &answer, "ts")?,
        })
    }

    /// Posts files, in their order, with the post's text over them. The same key gets the
    /// first answer again.
    pub async fn share(
        &self,
        post: &Post,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<(Posted, Vec<String>), SlackError> {
        const DONE: &str = "files.completeUploadExternal";
        let mut ids = Vec::new();
        for (name, bytes) in files {
            let asked = json!({"filename": name, "length": bytes.len()});
            let method = "files.getUploadURLExternal";
            let place = self.call(method, asked).await?;
            let url: String = read(method, &place, "upload_url")?;
            self.put_bytes(&url, bytes).await?;
            ids.push(read::<String>(method, &place, "file_id")?);
        }
        let named: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        let args = json!({
            "files": named, "channel_id": post.channel, "initial_comment": post.text,
            "metadata": post.tag.to_metadata(), "thread_ts": post.thread,
            "username": post.username, "icon_emoji": post.icon,
        });
        let answer = self.call(DONE, args).await?;
        let posted = Posted {
            channel: post.channel.clone(),
            ts: read(DONE, &answer["codebutler"], "ts")?,
        };
        Ok((posted, ids))
    }

    /// Replaces text and blocks of our own message; no blocks removes them.
    pub async fn update(
        &self,
        channel: &ChannelId,
        ts: &MessageTs,
        text: &str,
        blocks: Option<&Value>,
    ) -> Result<(), SlackError> {
        let args = json!({"channel": channel, "ts": ts, "text": text, "blocks": blocks});
        self.call("chat.update", args).await.map(drop)
    }

    /// Adds a reaction; one that is there already is fine.
    pub async fn react(
        &self,
        channel: &ChannelId,
        ts: &MessageTs,
        name: &str,
    ) -> Result<(), SlackError> {
        let args = json!({"channel": channel, "timestamp": ts, "name": name});
        forgiving(
            self.call("reactions.add", args).await,
            Refusal::AlreadyReacted,
        )
    }

    /// Takes a reaction back; one that is gone already is fine.
    pub async fn unreact(
        &self,
        channel: &ChannelId,
        ts: &MessageTs,
        name: &str,
    ) -> Result<(), SlackError> {
        let args = json!({"channel": channel, "timestamp": ts, "name": name});
        forgiving(
            self.call("reactions.remove", args).await,
            Refusal::NoReaction,
        )
    }

    /// All messages of a thread, root first, with their metadata.
    pub async fn replies(&self, thread: &ThreadId) -> Result<Vec<Message>, SlackError> {
        const METHOD: &str = "conversations.replies";
        let mut found = BTreeMap::new();
        let mut cursor = String::new();
        loop {
            let from = (!cursor.is_empty()).then_some(&cursor);
            let args = json!({"channel": thread.channel, "ts": thread.root, "limit": 200,
                "include_all_metadata": true, "cursor": from});
            let answer = self.call(METHOD, args).await?;
            // Slack may repeat the root on each page.
            let page: Vec<Message> = read(METHOD, &answer, "messages")?;
            found.extend(page.into_iter().map(|one| (one.ts.clone(), one)));
            match answer["response_metadata"]["next_cursor"].as_str() {
                Some(next) if !next.is_empty() && next != cursor => next.clone_into(&mut cursor),
                _ => return Ok(found.into_values().collect()),
            }
        }
    }

    /// The name people see for a user, remembered after the first look; "the user"
    /// for one without a name, because models read it.
    pub async fn user_name(&self, user: &UserId) -> Result<String, SlackError> {
        let names = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names().get(user) {
            return Ok(name.clone());
        }
        let answer = self.call("users.info", json!({"user": user})).await?;
        let profile = &answer["user"];
        let name = [&profile["profile"]["display_name"], &profile["name"]]
            .into_iter()
            .filter_map(Value::as_str)
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        let name = person_name(name).to_owned();
        names().insert(user.clone(), name.clone());
        Ok(name)
    }
}

fn forgiving(outcome: Result<Value, SlackError>, fine: Refusal) -> Result<(), SlackError> {
    match outcome {
        Err(error) if error.refusal() == Some(fine) => Ok(()),
        other => other.map(drop),
    }
}

fn read<T: serde::de::DeserializeOwned>(
    method: &str,
    answer: &Value,
    field: &str,
) -> Result<T, SlackError> {
    T::deserialize(&answer[field])
        .map_err(|error| SlackError::answer(method, &format_args!("`{field}`: {error}")))
}

pub(crate) fn as_form(args: Value) -> Vec<(String, String)> {
    let Value::Object(args) = args else {
        return Vec::new();
    };
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    args.into_iter()
        .filter_map(|(key, value)| Some((key, text(value)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_a_form_with_nested_json() {
        let form = as_form(json!({"a": "x", "b": true, "c": [1], "d": null, "e": {"k": "v"}}));
        let pairs: Vec<_> = form.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("a", "x"),
                ("b", "true"),
                ("c", "[1]"),
                ("e", r#"{"k":"v"}"#)
            ]
        );
    }
}
