//! One request to a forge's REST interface, with the token that this machine's config binds
//! to its host. A redirect is not followed: it could lead the token elsewhere.

use std::{path::Path, time::Duration};

use butler_protocol::Secret;
use reqwest::{Client, Method, header::LINK, redirect::Policy};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{
    answer::Answer,
    host::{Address, ForgeHost},
};
use crate::{Error, Result};

/// A diff or a log may be long; a list is not.
const MOST_BYTES: usize = 32 << 20;
const DEADLINE: Duration = Duration::from_secs(60);

/// A way to one repository on one forge.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    /// As in `https://gitlab.com`.
    site: String,
    /// As in `/api/v4`.
    version: &'static str,
    /// The repository, below it.
    project: String,
    /// The word before the token.
    scheme: &'static str,
    token: Option<Secret>,
    host: String,
    me: OnceCell<String>,
}

/// The way to it until the work is cancelled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link<'a> {
    http: &'a Http,
    pub(super) cancel: &'a CancellationToken,
}

/// How a kind of forge wants to be asked.
pub(super) struct Manner {
    pub version: &'static str,
    pub scheme: &'static str,
    pub project: String,
}

impl Http {
    pub(super) fn new(
        found: &ForgeHost,
        address: &Address,
        manner: Manner,
        ca_file: Option<&Path>,
    ) -> Result<Self> {
        let site = match &found.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://{}", address.host),
        };
        let unusable = |why: String| Error::Unreachable {
            address: site.clone(),
            why,
        };
        let tls = butler_tls::config(ca_file).map_err(|error| unusable(error.to_string()))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .timeout(DEADLINE)
            .user_agent("codebutler")
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            client,
            version: manner.version,
            project: manner.project,
            scheme: manner.scheme,
            token: found.token.clone(),
            host: found.host.clone(),
            me: OnceCell::new(),
            site,
        })
    }

    pub(super) const fn until<'a>(&'a self, cancel: &'a CancellationToken) -> Link<'a> {
        Link { http: self, cancel }
    }

    async fn exchange(
        &self,
        method: &str,
        place: &str,
        body: &Value,
        command: &str,
    ) -> Result<Answer> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let mut request = self.client.request(method, place);
        if let Some(token) = &self.token {
            let value = format!("{} {}", self.scheme, token.expose());
            request = request.header("authorization", value);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let lost = |error: &reqwest::Error| Error::Unreachable {
            address: place.to_owned(),
            why: cause(error),
        };
        let mut response = match request.send().await {
            Ok(response) => response,
            // Nothing was asked: there is nothing to look up.
            Err(error) if error.is_connect() || error.is_builder() => return Err(lost(&error)),
            Err(error) => return Ok(no_answer(command, &error)),
        };
        let mut head = format!("HTTP {}\n", response.status());
        for (name, value) in response.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            head.push_str(&format!("{name}: {value}\n"));
        }
        let links = response.headers().get_all(LINK).iter();
        let more = links.filter_map(|link| link.to_str().ok());
        let more = more.into_iter().any(|link| link.contains("rel=\"next\""));
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return Ok(no_answer(command, &error)),
            }
            if bytes.len() > MOST_BYTES {
                return Err(Error::TooMuch {
                    command: command.to_owned(),
                    limit: MOST_BYTES,
                });
            }
        }
        let answer = Answer {
            status,
            body: bytes,
            head,
            command: command.to_owned(),
            more: Some(more),
        };
        // Without a token the answer to everything may be "there is no such thing".
        match self.token {
            None if matches!(status, 401 | 403 | 404) => {
                let host = &self.host;
                Ok(answer.called(401).saying(&format!(
                    "there is no token for {host}: put one into ~/.codebutler/config.json, \
                     at forges.{host}.token"
                )))
            }
            _ => Ok(answer),
        }
    }
}

impl<'a> Link<'a> {
    /// Asks for `path` below the repository, with a body unless it is null; below the site, if it begins with a stroke.
    pub(super) async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let Http {
            site,
            version,
            project,
            ..
        } = self.http;
        let place = match path.strip_prefix('/') {
            Some(whole) => format!("{site}/{whole}"),
            None => format!("{site}{version}/{project}/{path}"),
        };
        let place = place.trim_end_matches('/').to_owned();
        let command = format!("{method} {place}");
        let work = self.http.exchange(method, &place, body, &command);
        tokio::select! {
            () = self.cancel.cancelled() => Err(Error::Cancelled { what: command.clone() }),
            answer = work => answer,
        }
    }

    /// The same below the version: what is about no repository.
    pub(super) async fn get_top(&self, path: &str) -> Result<Answer> {
        self.send(
            "GET",
            &format!("{}/{path}", self.http.version),
            &Value::Null,
        )
        .await
    }

    pub(super) async fn get(&self, path: &str) -> Result<Answer> {
        self.send("GET", path, &Value::Null).await
    }

    /// The same in GitHub's fields.
    pub(super) async fn shown(&self, path: &str, shape: fn(&Value) -> Value) -> Result<Answer> {
        Ok(self.get(path).await?.with(shape))
    }

    /// What is there, or null when nothing is.
    pub(super) async fn found(&self, path: &str) -> Result<Value> {
        let answer = self.get(path).await?;
        match answer.status {
            404 => Ok(Value::Null),
            _ => answer.json(),
        }
    }

    /// The name of the account that the token belongs to.
    pub(super) async fn me(&self, name: &str) -> Result<&'a str> {
        let asked = self.http.me.get_or_try_init(|| async {
            let json = self.get_top("user").await?.json()?;
            Ok(json[name].as_str().unwrap_or_default().to_owned())
        });
        asked.await.map(String::as_str)
    }

    /// Every page of a list.
    pub(super) async fn all(&self, path: &str, size: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        for page in 1..=super::hosted::PAGES {
            let sign = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{sign}{size}&page={page}");
            let answer = self.get(&path).await?;
            if let Value::Array(more) = answer.json()? {
                items.extend(more);
            }
            if answer.more != Some(true) {
                break;
            }
        }
        Ok(items)
    }
}

/// The request may have been carried out: who asked looks again.
fn no_answer(command: &str, error: &reqwest::Error) -> Answer {
    let answer = Answer {
        status: 599,
        body: Vec::new(),
        head: String::new(),
        command: command.to_owned(),
        more: None,
    };
    answer.saying(&format!("no answer: {}", cause(error)))
}

/// The innermost reason, without the address.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// A name as a part of a path.
pub(super) fn encoded(part: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let letters = part.bytes().map(|b| match plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    letters.collect()
}
