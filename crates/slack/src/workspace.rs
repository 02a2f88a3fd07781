//! Where a workspace is, and whom to trust on the way there.

use std::path::PathBuf;

use butler_tls::Trust;
use url::Url;

use crate::SlackError;

/// Slack, a stand-in of it, or a hub.
#[derive(Debug, Clone, PartialEq)]
pub struct Workspace {
    /// As in `https://slack.com/`.
    pub base: Url,
    /// Who may answer there.
    pub trust: Trust,
}

impl Workspace {
    /// One that the usual certificates are enough for.
    pub fn new(base: Url) -> Self {
        let trust = Trust::Usual;
        Self { base, trust }
    }

    /// One whose certificate may also be of an authority in this file.
    pub fn with_file(base: Url, ca_file: Option<PathBuf>) -> Self {
        let trust = Trust::with_file(ca_file);
        Self { base, trust }
    }

    /// Whom to trust; nobody, and quickly, where nothing is encrypted.
    pub(crate) fn tls(&self) -> Result<rustls::ClientConfig, SlackError> {
        Ok(match self.base.scheme() {
            "https" => self.trust.config()?,
            _ => butler_tls::plain(),
        })
    }
}

impl From<&Url> for Workspace {
    fn from(base: &Url) -> Self {
        Self::new(base.clone())
    }
}

impl From<&Workspace> for Workspace {
    fn from(workspace: &Workspace) -> Self {
        workspace.clone()
    }
}
