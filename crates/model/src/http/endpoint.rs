//! Whom we talk to. A key belongs to the host of its endpoint: redirects are
//! not followed, and a key is not sent in the clear to another machine.

use std::{fmt, str::FromStr};

use butler_protocol::Secret;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::ModelError;

/// Which dialect an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointKind {
    /// OpenRouter: routing fields, cache markers, its own cost record.
    Openrouter,
    /// OpenAI itself, or what copies it closely.
    Openai,
    /// Ollama, vLLM, llama.cpp, LiteLLM, a company gateway: the common ground only.
    Generic,
}

butler_protocol::words! { EndpointKind {
    Openrouter = "openrouter",
    Openai = "openai",
    Generic = "generic",
}}

impl fmt::Display for EndpointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EndpointKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let mut all = [Self::Openrouter, Self::Openai, Self::Generic].into_iter();
        all.find(|kind| kind.as_str() == word).ok_or_else(|| {
            format!("unknown endpoint kind `{word}`: use openrouter, openai or generic")
        })
    }
}

/// One endpoint: an address, and the key that belongs to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Which dialect it speaks.
    pub kind: EndpointKind,
    /// As in `https://openrouter.ai/api/v1`; paths are appended to it.
    pub base_url: Url,
    /// Sent as a bearer token, to this host only.
    pub key: Option<Secret>,
    /// Further headers, as in `HTTP-Referer`. Values are not secret.
    pub headers: Vec<(String, String)>,
    /// Allows a key over plain HTTP to another machine (a gateway in one's own network).
    pub plain_http: bool,
    /// What a person changes for another address, as in `--model-url`; for messages.
    pub address_from: String,
    pub key_from: String,
}

impl Endpoint {
    /// An endpoint without key and headers.
    pub fn new(kind: EndpointKind, base_url: Url) -> Self {
        Self {
            kind,
            base_url,
            key: None,
            headers: Vec::new(),
            plain_http: false,
            address_from: "its address".to_owned(),
            key_from: "the endpoint's configuration".to_owned(),
        }
    }

    /// The same endpoint with a key.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    /// Whether it is on this machine; such an endpoint is never reached through a proxy.
    pub fn is_loopback(&self) -> bool {
        match self.base_url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            None => false,
        }
    }

    /// The host (and port, when it is not the usual one) for messages to people.
    pub fn host(&self) -> String {
        let host = self.base_url.host_str().unwrap_or("no host");
        match self.base_url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The whole address for messages to people, without what may be secret in it.
    pub fn address(&self) -> String {
        let mut url = self.base_url.clone();
        // Only an address that cannot have them refuses, and then there are none.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// The address of a method, as in `chat/completions`.
    pub fn url(&self, method: &str) -> Url {
        let mut url = self.base_url.clone();
        let path = format!("{}/{method}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// Refuses an address that is not HTTP, and a key that would travel in the clear.
    /// Errors: [`ModelError::Setup`] naming the endpoint.
    pub fn check(&self) -> Result<(), ModelError> {
        let problem = match self.base_url.scheme() {
            "https" => return Ok(()),
            "http" if self.key.is_none() || self.plain_http || self.is_loopback() => return Ok(()),
            "http" => "its key would travel unencrypted; use https, or allow plain http for it",
            _ => "its address must begin with http:// or https://",
        };
        let host = self.host();
        Err(ModelError::Setup(format!(
            "model endpoint {host}: {problem}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint::new(EndpointKind::Generic, url.parse().unwrap())
    }

    #[test]
    fn methods_are_appended_to_the_base() {
        for base in ["http://h:1/api/v1", "http://h:1/api/v1/"] {
            assert_eq!(
                endpoint(base).url("chat/completions").as_str(),
                "http://h:1/api/v1/chat/completions"
            );
        }
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let shown = endpoint("https://me:secret@models.example:8443/v1/?key=secret#x").address();
        assert_eq!(shown, "https://models.example:8443/v1");
    }

    #[test]
    fn a_key_does_not_travel_in_the_clear() {
        let key = || Secret::new("k");
        for fine in [
            "https://models.example",
            "http://127.0.0.1:1",
            "http://localhost/v1",
            "http://[::1]:2",
        ] {
            assert!(endpoint(fine).with_key(key()).check().is_ok(), "{fine}");
        }
        let open = endpoint("http://models.example/v1").with_key(key());
        let error = open.check().unwrap_err().to_string();
        assert!(
            error.contains("models.example") && error.contains("https"),
            "{error}"
        );
        assert!(
            Endpoint {
                plain_http: true,
                ..open
            }
            .check()
            .is_ok()
        );
        assert!(endpoint("http://models.example/v1").check().is_ok());
        assert!(endpoint("ftp://models.example").check().is_err());
    }
}
