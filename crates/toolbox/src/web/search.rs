//! Search engines behind one trait. Which one is used, its address and its key
//! come from the machine's own config, so these requests are not guarded.

use butler_vocab::Secret;
use futures_util::future::BoxFuture;
use serde_json::Value;
use url::Url;

use super::innermost;

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// A few lines of it.
    pub snippet: String,
}

/// A search engine.
pub trait Search: Send + Sync {
    /// The best `limit` results, or what went wrong.
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, String>>;
}

/// A SearXNG server, which needs no key.
pub struct SearXng {
    base: Url,
}

impl SearXng {
    /// The server at this address; its JSON format must be switched on.
    #[must_use]
    pub fn new(base: Url) -> Self {
        Self { base }
    }
}

impl Search for SearXng {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, String>> {
        Box::pin(async move {
            let url = below(&self.base, "search")?;
            let request = client()?
                .get(url)
                .query(&[("q", query), ("format", "json")]);
            let answer = json(request).await?;
            Ok(hits(&answer["results"], "content", limit))
        })
    }
}

/// Brave's search, which needs a key.
pub struct Brave {
    base: Url,
    key: Secret,
}

impl Brave {
    /// Where Brave answers.
    pub const ADDRESS: &str = "https://api.search.brave.com/res/v1/web/";

    /// With a key; `base` is [`Brave::ADDRESS`] unless something stands in between.
    #[must_use]
    pub fn new(base: Url, key: Secret) -> Self {
        Self { base, key }
    }
}

impl Search for Brave {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, String>> {
        Box::pin(async move {
            let url = below(&self.base, "search")?;
            let count = limit.min(20).to_string();
            let request = client()?
                .get(url)
                .query(&[("q", query), ("count", count.as_str())])
                .header("X-Subscription-Token", self.key.expose());
            let answer = json(request).await?;
            Ok(hits(&answer["web"]["results"], "description", limit))
        })
    }
}

fn below(base: &Url, path: &str) -> Result<Url, String> {
    let mut base = base.clone();
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    base.join(path).map_err(|error| error.to_string())
}

fn client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(super::tls::config()?)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(super::WHOLE)
        .user_agent(concat!("codebutler/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

async fn json(request: reqwest::RequestBuilder) -> Result<Value, String> {
    // The error of a client may carry the whole address; its cause does not.
    let response = request.send().await.map_err(|error| innermost(&error))?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("the search engine answered {status}"));
    }
    let bytes = response.bytes().await.map_err(|error| innermost(&error))?;
    serde_json::from_slice(&bytes)
        .map_err(|_| "the search engine did not answer in JSON".to_owned())
}

fn hits(results: &Value, snippet: &str, limit: usize) -> Vec<Hit> {
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    results
        .as_array()
        .into_iter()
        .flatten()
        .map(|result| Hit {
            title: text(&result["title"]),
            url: text(&result["url"]),
            snippet: text(&result[snippet]),
        })
        .filter(|hit| hit.url.starts_with("http://") || hit.url.starts_with("https://"))
        .take(limit)
        .collect()
}
