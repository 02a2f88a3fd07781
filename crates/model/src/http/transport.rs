//! The HTTP client: one TLS stack, no redirects, no proxy for this machine.

use std::time::Duration;

use crate::{ClientConfig, ModelError};
use reqwest::{
    Proxy,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect,
};

const CONNECT: Duration = Duration::from_secs(10);

/// Builds the client of an endpoint.
pub(crate) fn build(config: &ClientConfig) -> Result<reqwest::Client, ModelError> {
    with_headers(config, headers(config)?)
}

/// The same without key and headers, for an address that an answer points to.
pub(crate) fn bare(config: &ClientConfig) -> Result<reqwest::Client, ModelError> {
    with_headers(config, HeaderMap::new())
}

fn with_headers(config: &ClientConfig, headers: HeaderMap) -> Result<reqwest::Client, ModelError> {
    let endpoint = &config.endpoint;
    endpoint.check()?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(config)?)
        .user_agent(concat!("codebutler/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        // A redirect would carry the conversation, and perhaps the key, elsewhere.
        .redirect(redirect::Policy::none())
        // Retries are ours: a repeat that we do not see is paid twice.
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT);
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    } else if let Some(proxy) = &config.proxy {
        let proxy = Proxy::all(proxy.clone())
            .map_err(|error| ModelError::Setup(format!("proxy {proxy}: {error}")))?;
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| ModelError::Setup(format!("model endpoint {}: {error}", endpoint.host())))
}

fn headers(config: &ClientConfig) -> Result<HeaderMap, ModelError> {
    let bad = |name: &str| {
        ModelError::Setup(format!(
            "model endpoint {}: header `{name}` has a value or name that HTTP does not allow",
            config.endpoint.host()
        ))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &config.endpoint.headers {
        let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad(name))?;
        headers.insert(parsed, HeaderValue::try_from(value).map_err(|_| bad(name))?);
    }
    if let Some(key) = &config.endpoint.key {
        let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
            .map_err(|_| bad("Authorization"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// A server that speaks plain HTTP needs no authorities but those of the file.
fn tls(config: &ClientConfig) -> Result<butler_tls::ClientConfig, ModelError> {
    let file = config.ca_file.as_deref();
    if file.is_none() && config.endpoint.base_url.scheme() != "https" {
        return Ok(butler_tls::plain());
    }
    butler_tls::config(file).map_err(|error| ModelError::Setup(error.to_string()))
}
