//! The HTTP client: one TLS stack, no redirects, no proxy for this machine.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Proxy,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{ClientConfig, ModelError};

const CONNECT: Duration = Duration::from_secs(10);

/// Builds the client of an endpoint.
pub(crate) fn build(config: &ClientConfig) -> Result<reqwest::Client, ModelError> {
    let endpoint = &config.endpoint;
    endpoint.check()?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(config)?)
        .user_agent(concat!("codebutler/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers(config)?)
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

/// Our own configuration, because a process-wide provider need not be installed
/// and because a bare container has no certificates of its own.
fn tls(config: &ClientConfig) -> Result<rustls::ClientConfig, ModelError> {
    let mut roots = RootCertStore::empty();
    if config.endpoint.base_url.scheme() == "https" {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if let Some(file) = &config.ca_file {
        let bad = |problem: String| {
            ModelError::Setup(format!("certificate file {}: {problem}", file.display()))
        };
        let certificates = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| bad(error.to_string()))?;
        let (added, _) = roots.add_parsable_certificates(certificates);
        if added == 0 {
            return Err(bad("no certificate in it".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ModelError::Setup(format!("TLS: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
