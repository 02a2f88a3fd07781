//! An incoming webhook: an address that takes `{"text": …}` and tells it to somebody. Slack
//! has them, and most chats take the same words.

use std::{path::PathBuf, time::Duration};

use butler_protocol::Secret;
use reqwest::{Client, StatusCode, redirect::Policy};
use serde_json::Value;
use url::Url;

use crate::{SlackError, Workspace, http};

const PATIENCE: Duration = Duration::from_secs(10);

/// One address, which is its own secret.
#[derive(Debug, Clone)]
pub struct Webhook {
    client: Client,
    address: Secret,
}

/// How a call of a webhook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    Taken,
    /// It may be taken later; after so long at the earliest.
    Later(String, Option<Duration>),
    /// It never will.
    Never(String),
}

impl Webhook {
    /// A webhook at this address; `ca_file` has certificates to trust besides the usual ones.
    /// Fails when it is no address, or the certificates cannot be read.
    pub fn new(address: Secret, ca_file: Option<PathBuf>) -> Result<Self, SlackError> {
        let wrong = || SlackError::Address {
            base: "the address of the webhook".to_owned(),
        };
        let base = Url::parse(address.expose()).map_err(|_| wrong())?;
        let workspace = Workspace::with_file(base, ca_file);
        // What is told is for this address and for none that it names.
        let client = http::builder_for(&workspace)?.redirect(Policy::none());
        let client = client.timeout(PATIENCE).build().map_err(|_| wrong())?;
        Ok(Self { client, address })
    }

    /// Says it once.
    pub async fn call(&self, body: &Value) -> Called {
        let sent = self.client.post(self.address.expose()).json(body).send();
        match sent.await {
            Err(error) => Called::Later(error.without_url().to_string(), None),
            Ok(answer) if answer.status().is_success() => Called::Taken,
            Ok(answer) => {
                let said = format!("HTTP {}", answer.status());
                let busy = answer.status() == StatusCode::TOO_MANY_REQUESTS;
                if busy || answer.status().is_server_error() {
                    Called::Later(said, http::asked_to_wait(&answer))
                } else {
                    Called::Never(said)
                }
            }
        }
    }
}
