//! Searching the web: one trait, and the engines behind it.
//!
//! An engine is configured on the machine, with its key and the one address that
//! gets it. What it finds are addresses with title, date and source; all of it is
//! text from outside.

mod engines;
mod server;

use butler_sandbox::Sandbox;
pub use engines::{HttpEngine, HttpEngineKind};
use futures_util::future::BoxFuture;
pub use server::ServerEngine;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Somebody who finds pages for words.
pub trait SearchEngine: Send + Sync {
    /// What people call it.
    fn name(&self) -> &str;

    /// How long a search may take.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// What it finds, the best first; the reason when it finds nothing because it
    /// cannot look.
    fn search<'a>(
        &'a self,
        query: &'a str,
        looking: &'a Looking<'a>,
    ) -> BoxFuture<'a, Result<Found, String>>;
}

/// What an engine may use while it looks.
pub struct Looking<'a> {
    /// Where programs run, for engines that are one.
    pub sandbox: Option<&'a Arc<Sandbox>>,
    pub cancel: &'a CancellationToken,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// What the engine says about the search itself, as in an engine behind it that did not answer.
    pub remarks: Vec<String>,
}

/// A page that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    /// When it was published or changed, as the engine says it.
    pub date: Option<String>,
    /// Who found it, where the engine asks others.
    pub source: Option<String>,
    /// A few words of it.
    pub text: String,
}

impl Hit {
    /// Only what can be fetched is worth naming.
    pub(crate) fn is_page(&self) -> bool {
        self.url.starts_with("https://") || self.url.starts_with("http://")
    }
}
