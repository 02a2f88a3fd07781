//! Calls that are tried once. The hub, which talks to the real Slack for many
//! agents, decides itself when to try again: it has a queue, and a post that may
//! have happened must be looked for first.

use std::time::Duration;

use butler_protocol::Refusal;
use reqwest::StatusCode;
use serde_json::{Value, json};
use url::Url;

use crate::{SlackError, Web, http::asked_to_wait, web::as_form};

/// A good answer with what its headers say.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub body: Value,
    /// The scopes that the app was installed with.
    pub scopes: Vec<String>,
}

impl Web {
    /// Calls a method once.
    /// Errors: as [`Web::call`], and [`SlackError::RateLimited`]; see
    /// [`SlackError::is_unclear`] about what may have happened all the same.
    pub async fn attempt(&self, method: &str, args: Value) -> Result<Answered, SlackError> {
        let url = self.caller.url(&format!("api/{method}"))?;
        let form = as_form(args);
        let sending = self
            .caller
            .send_once(method, |client| client.post(url).form(&form));
        let answer = sending.await?;
        let odd = |detail: String| SlackError::answer(method, &detail);
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            return Err(SlackError::RateLimited {
                method: method.to_owned(),
                after: asked_to_wait(&answer).unwrap_or(Duration::from_secs(30)),
            });
        }
        if !answer.status().is_success() {
            return Err(odd(format!("HTTP {}", answer.status())));
        }
        let scopes = answer.headers().get("x-oauth-scopes");
        let scopes = scopes
            .and_then(|list| list.to_str().ok())
            .unwrap_or_default();
        let scopes = scopes.split(',').map(|scope| scope.trim().to_owned());
        let scopes = scopes.filter(|scope| !scope.is_empty()).collect();
        let body = answer.json().await;
        let body: Value = body.map_err(|error| odd(error.without_url().to_string()))?;
        if body["ok"] == json!(true) {
            return Ok(Answered { body, scopes });
        }
        Err(refused(method, &body))
    }

    /// Fetches a file of the workspace, at most `limit` bytes; gives its content
    /// type too. The token goes to the workspace's own hosts only.
    /// Fails when it cannot be had; a page that asks to sign in counts as that.
    pub async fn fetch(&self, url: &str, limit: usize) -> Result<(String, Vec<u8>), SlackError> {
        const METHOD: &str = "file download";
        let odd = |detail: &str| SlackError::answer(METHOD, &detail);
        let url = Url::parse(url).map_err(|_| odd("not an address"))?;
        if !self.caller.trusts(&url) {
            return Err(odd("not a file of this workspace"));
        }
        let sending = self.caller.send_once(METHOD, |client| client.get(url));
        let mut answer = sending.await?;
        if !answer.status().is_success() {
            return Err(odd(&format!("HTTP {}", answer.status())));
        }
        let kind = answer.headers().get("content-type");
        let kind = kind
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if kind.starts_with("text/html") {
            return Err(odd("a page to sign in instead of the file"));
        }
        let too_large = || SlackError::api(METHOD, Refusal::FileUploadSizeRestricted.code());
        let said = answer.content_length().unwrap_or_default();
        if said > limit as u64 {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|_| odd("it broke off"))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > limit {
                return Err(too_large());
            }
        }
        Ok((kind, bytes))
    }

    /// Puts bytes at an address that carries its own secret.
    /// Fails when they were not taken.
    pub async fn put_bytes(&self, url: &str, bytes: Vec<u8>) -> Result<(), SlackError> {
        let url = Url::parse(url).map_err(|_| SlackError::Address {
            base: "the upload address".to_owned(),
        })?;
        let sending = |client: &reqwest::Client| {
            client
                .post(url)
                .header("content-type", "application/octet-stream")
                .body(bytes)
        };
        let answer = self.caller.send_bare("file upload", sending).await?;
        taken("file upload", answer.status())
    }

    /// Posts JSON to an address that carries its own secret (`response_url`).
    /// Fails when it was not taken.
    pub async fn respond(&self, url: &str, body: &Value) -> Result<(), SlackError> {
        let url = Url::parse(url).map_err(|_| SlackError::Address {
            base: "the response address".to_owned(),
        })?;
        let sending = |client: &reqwest::Client| client.post(url).json(body);
        let answer = self.caller.send_bare("response_url", sending).await?;
        taken("response_url", answer.status())
    }
}

fn taken(method: &str, status: StatusCode) -> Result<(), SlackError> {
    if status.is_success() {
        return Ok(());
    }
    Err(SlackError::answer(method, &format_args!("HTTP {status}")))
}

fn refused(method: &str, body: &Value) -> SlackError {
    let code = body["error"].as_str().unwrap_or("no error name");
    match (code, body["needed"].as_str()) {
        ("missing_scope", Some(needed)) => SlackError::MissingScope {
            method: method.to_owned(),
            needed: needed.to_owned(),
        },
        _ => SlackError::api(method, code),
    }
}
