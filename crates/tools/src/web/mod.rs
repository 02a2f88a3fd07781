//! Fetching pages without reaching what only this machine can reach.
//!
//! A model names the address, so every hop is checked: scheme, port, and every
//! address the name resolves to. The connection then goes to exactly those
//! addresses, whatever the name resolves to a moment later. Redirects are ours
//! to follow, one checked hop at a time.

mod address;
mod html;
mod kept;
mod page;
mod proxy;
mod search;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use butler_policy::host_of;
use futures_util::{StreamExt, future::BoxFuture};
pub use kept::KeptPages;
pub(crate) use page::text_of;
use proxy::Proxies;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header, redirect,
};
pub(crate) use search::{Found, Hit};
pub use search::{HttpEngine, HttpEngineKind, Looking, SearchEngine, ServerEngine};
use url::{Host, Url};

/// Hops after the first address.
const HOPS: usize = 5;
const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(40);
/// Decoded bytes that are read of one page, and of a PDF, which is useless when cut.
const BODY: usize = 3 * 1024 * 1024;
const PDF_BODY: usize = 16 * 1024 * 1024;

/// Looks a name up.
pub type Lookup =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// A guarded way to the web.
#[derive(Clone)]
pub struct Web {
    lookup: Lookup,
    opened: Vec<String>,
    ca_file: Option<PathBuf>,
    proxies: Proxies,
}

impl Default for Web {
    fn default() -> Self {
        let lookup: Lookup = Arc::new(|host, port| {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
        });
        Self {
            lookup,
            opened: Vec::new(),
            ca_file: None,
            proxies: Proxies::default(),
        }
    }
}

/// Why a page was not fetched, for the model.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Not an address that may be fetched at all.
    #[error("refused: {url} {why}")]
    Refused { url: String, why: String },
    /// It may be fetched, but that failed.
    #[error("failed: {url}: {why}")]
    Failed { url: String, why: String },
}

/// A page as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was found in the end.
    pub url: Url,
    /// Its media type, lower case, without parameters.
    pub media_type: String,
    /// The character set that was named.
    pub charset: Option<String>,
    /// Its bytes, decompressed.
    pub body: Vec<u8>,
    pub cut: bool,
}

impl Web {
    /// The way that the environment of this process names.
    pub(crate) fn of_environment() -> Self {
        Self {
            proxies: Proxies::of_environment(),
            ..Self::default()
        }
    }

    /// Looks names up in another way.
    #[must_use]
    pub fn with_lookup(mut self, lookup: Lookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// Opens hosts inside the own network, as `wiki.internal:8080`. They come
    /// from the machine's own config, never from a repo or a model.
    #[must_use]
    pub fn with_opened(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.opened
            .extend(hosts.into_iter().map(|host| host.to_ascii_lowercase()));
        self
    }

    /// Believes the certificate authorities of this file too: a company's own.
    #[must_use]
    pub(crate) fn with_ca_file(mut self, file: Option<PathBuf>) -> Self {
        self.ca_file = file;
        self
    }

    /// Fetches a page, following redirects that lead to permitted places. Where
    /// `hosts` are given, nothing is asked of any other.
    pub async fn fetch(&self, address: &str, hosts: Option<&[String]>) -> Result<Page, WebError> {
        let url = Url::parse(address).map_err(|error| WebError::Refused {
            url: crate::content::clip::line(address).into_owned(),
            why: format!("is not an address: {error}"),
        })?;
        let whole = tokio::time::timeout(WHOLE, self.follow(url, hosts));
        match whole.await {
            Ok(result) => result,
            Err(_) => Err(WebError::Failed {
                url: crate::content::clip::line(address).into_owned(),
                why: format!("took longer than {} s", WHOLE.as_secs()),
            }),
        }
    }

    async fn follow(&self, mut url: Url, hosts: Option<&[String]>) -> Result<Page, WebError> {
        for _ in 0..=HOPS {
            let host = host_of(url.as_str());
            if hosts.is_some_and(|hosts| !host.is_some_and(|host| hosts.contains(&host))) {
                let why = "is on a host that nobody named; fetch that address itself, and a \
                           person is asked";
                return Err(refused(&url, why));
            }
            let response = self.hop(&url).await?;
            let Some(next) = redirect_of(&response) else {
                return read(url, response).await;
            };
            let next = url
                .join(&next)
                .map_err(|error| failed(&url, error.to_string()))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(refused(&next, "would leave https"));
            }
            tracing::debug!(from = %url, to = %next, "redirected");
            url = next;
        }
        Err(failed(&url, format!("more than {HOPS} redirects")))
    }

    /// One request to a checked address.
    async fn hop(&self, url: &Url) -> Result<Response, WebError> {
        let way = self.check(url).await?;
        tracing::info!(host = url.host_str(), %url, "fetching a page");
        let client = client(way, self.ca_file.as_deref()).map_err(|error| failed(url, error))?;
        client
            .get(url.clone())
            .header(
                header::ACCEPT,
                "text/html,text/markdown,text/plain,application/json;q=0.9,application/pdf;q=0.8,*/*;q=0.1",
            )
            .send()
            .await
            .map_err(|error| failed(url, innermost(&error)))
    }

    /// The way to a host: its addresses, all of them permitted, or the proxy that knows
    /// them.
    async fn check(&self, url: &Url) -> Result<Way, WebError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(url, "is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(url, "carries a user name"));
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let host = url.host().ok_or_else(|| refused(url, "names no host"))?;
        let name = host.to_string().to_ascii_lowercase();
        let name = name.trim_end_matches('.');
        let opened = self.opened.contains(&format!("{name}:{port}"));
        if !opened && !matches!(port, 80 | 443) {
            return Err(refused(url, "uses a port other than 80 and 443"));
        }
        let proxy = self.proxies.for_address(url).filter(|_| !opened);
        let addresses = match host {
            Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Domain(_) => match (self.lookup)(name.to_owned(), port).await {
                Ok(found) => found,
                // Only the proxy knows it.
                Err(_) if proxy.is_some() && proxy::may_be_public(&host) => Vec::new(),
                Err(error) => {
                    return Err(failed(url, format!("the name was not found: {error}")));
                }
            },
        };
        if addresses.is_empty() && proxy.is_none() {
            return Err(failed(url, "the name has no address"));
        }
        // One inner address among outer ones is how rebinding looks.
        let inner = addresses
            .iter()
            .find(|found| !address::is_public(found.ip()));
        match inner {
            Some(_) if !opened => Err(refused(url, "leads into a private network")),
            _ => Ok(match proxy {
                Some(proxy) => Way::Proxy(proxy.clone()),
                None => Way::Direct(addresses),
            }),
        }
    }
}

/// How a host is reached.
enum Way {
    /// At these addresses and no other.
    Direct(Vec<SocketAddr>),
    /// Through a proxy.
    Proxy(Url),
}

/// A client that goes this way and no other.
fn client(way: Way, ca_file: Option<&Path>) -> Result<Client, String> {
    let config = butler_tls::config(ca_file).map_err(|error| format!("network.caFile: {error}"))?;
    let client = Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy();
    let client = match way {
        Way::Direct(addresses) => client.dns_resolver(Arc::new(Fixed(addresses))),
        Way::Proxy(proxy) => {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| error.to_string())?;
            client.proxy(proxy)
        }
    };
    client
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT)
        .user_agent(concat!("codebutler/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

/// Answers every name with the addresses that were checked.
struct Fixed(Vec<SocketAddr>);

impl Resolve for Fixed {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn redirect_of(response: &Response) -> Option<String> {
    if !response.status().is_redirection() {
        return None;
    }
    let next = response.headers().get(header::LOCATION)?;
    Some(next.to_str().ok()?.to_owned())
}

async fn read(url: Url, response: Response) -> Result<Page, WebError> {
    let status = response.status();
    if !status.is_success() {
        return Err(failed(&url, format!("answered {status}")));
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("text/plain");
    let (media_type, charset) = page::media_type(kind);
    if !page::is_readable(&media_type) {
        return Err(refused(&url, &format!("is {media_type}, not text")));
    }
    let most = if page::is_pdf(&media_type) {
        PDF_BODY
    } else {
        BODY
    };
    let mut body = Vec::new();
    let mut cut = false;
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| failed(&url, innermost(&error)))?;
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Page {
        url,
        media_type,
        charset,
        body,
        cut,
    })
}

fn refused(url: &Url, why: &str) -> WebError {
    WebError::Refused {
        url: crate::content::clip::line(url.as_str()).into_owned(),
        why: why.to_owned(),
    }
}

fn failed(url: &Url, why: impl Into<String>) -> WebError {
    WebError::Failed {
        url: crate::content::clip::line(url.as_str()).into_owned(),
        why: why.into(),
    }
}

/// The cause at the bottom: the outer texts only repeat the address.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}
