//! Engines that are asked over HTTP: SearXNG, Brave, Tavily. What they are asked and
//! how their answers are read are plain functions; shapes as the services send them.

use std::{path::Path, time::Duration};

use butler_protocol::Secret;
use futures_util::{StreamExt, future::BoxFuture};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use serde_json::{Value, json};

use super::{Found, Hit, Looking, SearchEngine};

const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(30);
/// What is read of an answer.
const BODY: usize = 4 << 20;
const BRAVE: &str = "https://api.search.brave.com/";
const TAVILY: &str = "https://api.tavily.com/";

/// Which service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpEngineKind {
    /// A SearXNG of one's own.
    SearXng,
    /// Brave's search API.
    Brave,
    /// Tavily's search API.
    Tavily,
}

impl HttpEngineKind {
    fn name(self) -> &'static str {
        match self {
            Self::SearXng => "SearXNG",
            Self::Brave => "Brave",
            Self::Tavily => "Tavily",
        }
    }

    /// Where it is asked.
    fn address(self, own: Option<&str>) -> Result<Url, String> {
        let (usual, path) = match self {
            Self::SearXng => (None, "search"),
            Self::Brave => (Some(BRAVE), "res/v1/web/search"),
            Self::Tavily => (Some(TAVILY), "search"),
        };
        let base = own.or(usual).ok_or("it has no address")?;
        // A path of a base counts only with its slash.
        let base = format!("{}/", base.trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|error| error.to_string())?;
        base.join(path).map_err(|error| error.to_string())
    }

    fn read(self, answer: &Value) -> Found {
        match self {
            Self::SearXng => searxng(answer),
            Self::Brave => brave(answer),
            Self::Tavily => tavily(answer),
        }
    }
}

/// A service with its address and its key.
pub struct HttpEngine {
    kind: HttpEngineKind,
    url: Url,
    key: Option<Secret>,
    client: Client,
}

impl HttpEngine {
    /// The service, at its usual address or at `url`. `ca_file` names further
    /// authorities; the system's proxy is used, but not for this machine.
    /// Fails when address or certificates cannot be used.
    pub fn new(
        kind: HttpEngineKind,
        url: Option<&str>,
        key: Option<Secret>,
        ca_file: Option<&Path>,
    ) -> Result<Self, String> {
        let url = kind.address(url)?;
        let tls =
            butler_tls::config(ca_file).map_err(|error| format!("network.caFile: {error}"))?;
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            // A redirect would carry the key along.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            .user_agent(concat!("codebutler/", env!("CARGO_PKG_VERSION")));
        if is_here(&url) {
            client = client.no_proxy();
        }
        Ok(Self {
            kind,
            key,
            client: client.build().map_err(|error| error.to_string())?,
            url,
        })
    }

    fn request(&self, query: &str) -> RequestBuilder {
        let key = self.key.as_ref().map_or("", Secret::expose);
        match self.kind {
            HttpEngineKind::SearXng => {
                let request = self.client.get(self.url.clone());
                let request = request.query(&[("q", query), ("format", "json")]);
                match key {
                    "" => request,
                    key => request.bearer_auth(key),
                }
            }
            HttpEngineKind::Brave => {
                let request = self.client.get(self.url.clone());
                let request = request.query(&[("q", query), ("count", "10")]);
                request.header("x-subscription-token", key)
            }
            HttpEngineKind::Tavily => {
                let body = json!({"query": query, "max_results": 10, "search_depth": "basic"});
                self.client
                    .post(self.url.clone())
                    .bearer_auth(key)
                    .json(&body)
            }
        }
        .header("accept", "application/json")
    }

    async fn ask(&self, query: &str) -> Result<Found, String> {
        let sent = self.request(query).send().await;
        // Addresses of requests hold the query, not the key; still nobody needs them.
        let response = sent.map_err(|error| super::super::innermost(&error.without_url()))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status));
        }
        let body = body(response).await?;
        let answer: Value = serde_json::from_slice(&body).map_err(|_| {
            format!(
                "{} answered with something that is not JSON",
                self.url.path()
            )
        })?;
        Ok(self.kind.read(&answer))
    }

    /// What a status means for whoever configured it.
    fn refused(&self, status: StatusCode) -> String {
        let why = match (self.kind, status.as_u16()) {
            (HttpEngineKind::SearXng, 403) => {
                "its settings do not permit `json`: add it to `search.formats` in settings.yml"
            }
            (_, 401 | 403) => "it does not take the key in `search.apiKey`",
            (_, 422) => "it does not take the key, or not these words",
            (_, 429) => "it was asked too often; wait a while",
            (_, 432 | 433) => "the plan of this key is used up",
            (_, 300..=399) => "it sends elsewhere; set `search.url` to where it is",
            _ => "it cannot search now",
        };
        format!("{status}: {why}")
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

async fn body(response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| super::super::innermost(&error.without_url()))?;
        body.extend_from_slice(&chunk);
        if body.len() > BODY {
            return Err(format!("its answer is longer than {} MB", BODY >> 20));
        }
    }
    Ok(body)
}

impl SearchEngine for HttpEngine {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        looking: &'a Looking<'a>,
    ) -> BoxFuture<'a, Result<Found, String>> {
        Box::pin(async move {
            tokio::select! {
                found = self.ask(query) => found,
                () = looking.cancel.cancelled() => Err("stopped".to_owned()),
            }
        })
    }
}

fn word(value: &Value) -> Option<String> {
    let text = value.as_str().map(str::trim)?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `GET /search?format=json`.
fn searxng(answer: &Value) -> Found {
    let hits = list(&answer["results"]).map(|one| {
        let engines: Vec<&str> = list(&one["engines"]).filter_map(Value::as_str).collect();
        Hit {
            title: word(&one["title"]).unwrap_or_default(),
            url: word(&one["url"]).unwrap_or_default(),
            date: word(&one["publishedDate"]).or_else(|| word(&one["pubdate"])),
            source: (!engines.is_empty()).then(|| engines.join(", ")),
            text: word(&one["content"]).unwrap_or_default(),
        }
    });
    // Pairs of an engine and why it did not answer.
    let silent = list(&answer["unresponsive_engines"]);
    let silent =
        silent.filter_map(|pair| Some(format!("{}: {}", word(&pair[0])?, word(&pair[1])?)));
    Found {
        hits: hits.collect(),
        remarks: silent.collect(),
    }
}

/// `GET /res/v1/web/search`.
fn brave(answer: &Value) -> Found {
    let hits = list(&answer["web"]["results"]).map(|one| Hit {
        title: word(&one["title"]).unwrap_or_default(),
        url: word(&one["url"]).unwrap_or_default(),
        date: word(&one["page_age"]).or_else(|| word(&one["age"])),
        source: word(&one["profile"]["long_name"]).or_else(|| word(&one["meta_url"]["hostname"])),
        text: word(&one["description"]).unwrap_or_default(),
    });
    Found {
        hits: hits.collect(),
        remarks: Vec::new(),
    }
}

/// `POST /search`.
fn tavily(answer: &Value) -> Found {
    let hits = list(&answer["results"]).map(|one| Hit {
        title: word(&one["title"]).unwrap_or_default(),
        url: word(&one["url"]).unwrap_or_default(),
        date: word(&one["published_date"]),
        source: None,
        text: word(&one["content"]).unwrap_or_default(),
    });
    Found {
        hits: hits.collect(),
        remarks: Vec::new(),
    }
}
