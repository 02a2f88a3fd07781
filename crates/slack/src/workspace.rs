//! Where a workspace is, and whom to trust on the way there.

use std::path::PathBuf;

use url::Url;

use crate::SlackError;

/// Slack, a stand-in of it, or a hub.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// As in `https://slack.com/`.
    pub base: Url,
    /// Certificates to trust besides the usual ones.
    pub ca_file: Option<PathBuf>,
}

impl Workspace {
    /// One that the usual certificates are enough for.
    pub fn new(base: Url) -> Self {
        let ca_file = None;
        Self { base, ca_file }
    }

    /// Whom to trust; nobody, and quickly, where nothing is encrypted.
    pub(crate) fn tls(&self) -> Result<rustls::ClientConfig, SlackError> {
        Ok(match self.base.scheme() {
            "https" => butler_tls::config(self.ca_file.as_deref())?,
            _ => butler_tls::plain(),
        })
    }
}
