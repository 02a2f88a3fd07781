//! What a client needs to know, and nothing of the rest of the configuration.

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use butler_protocol::{Price, Usd};
use url::Url;

use crate::{Endpoint, PriceBook, RetryPolicy};

/// Takes the secrets out of a text that goes to a log.
#[derive(Clone)]
pub struct Redact(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redact {
    /// Wraps a redacting function (`policy` has one).
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// The text without its secrets.
    pub fn apply(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

/// How a [`crate::ModelClient`] behaves.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    pub endpoint: Endpoint,
    /// When it tries again, and how it waits.
    pub retry: RetryPolicy,
    /// The longest wait for the first byte of an answer.
    pub first_byte: Duration,
    /// The longest gap between two pieces of an answer; keep-alives count.
    pub idle: Duration,
    /// The longest answer, keep-alives or not.
    pub whole: Duration,
    /// What models cost, where the provider does not say it with the answer.
    pub prices: PriceBook,
    /// Models that the endpoint's list calls unable to see: they read a sentence
    /// where a picture was.
    pub blind: BTreeSet<String>,
    /// What an unknown model costs, so that a cap stays a cap.
    pub upper_price: Price,
    /// A PEM file with further certificate authorities (a company's proxy).
    pub ca_file: Option<PathBuf>,
    /// A proxy for endpoints on other machines; none means the system's.
    pub proxy: Option<Url>,
    /// Without it bodies do not reach the debug log at all.
    pub redact: Option<Redact>,
}

impl ClientConfig {
    /// The usual patience with an endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            retry: RetryPolicy::default(),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            whole: Duration::from_secs(30 * 60),
            prices: PriceBook::default(),
            blind: BTreeSet::new(),
            upper_price: Price::flat(Usd::from_cents(1500), Usd::from_cents(7500)),
            ca_file: None,
            proxy: None,
            redact: None,
        }
    }
}
