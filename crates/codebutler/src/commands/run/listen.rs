//! Where a hub listens, for the commands that start one.

use std::net::SocketAddr;

use butler_config::Settings;
use butler_hub::HubError;

use crate::CliError;

/// An address, and how much it may be stretched.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub(crate) struct Listen {
    /// Where the hub listens, instead of the configured address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// Allow an address that other machines can reach without `hub.tls`: nothing is encrypted
    #[arg(long)]
    pub listen_anywhere: bool,
}

impl Listen {
    /// The address that was asked for, else the configured one.
    pub(crate) fn address(&self, settings: &Settings) -> Result<SocketAddr, CliError> {
        let hub = &settings.machine.hub;
        let address = self.listen.unwrap_or(hub.listen);
        if address.ip().is_loopback() || hub.tls.is_some() || self.listen_anywhere {
            Ok(address)
        } else {
            Err(not_started(HubError::NotLoopback(address)))
        }
    }

    /// Whether another port than the one that was written is not what was asked for.
    pub(crate) fn is_exact(&self) -> bool {
        self.listen.is_some_and(|address| address.port() != 0)
    }
}

/// Why a hub did not start, and what to do about it.
pub(crate) fn not_started(error: HubError) -> CliError {
    match error {
        HubError::Running(_) => CliError::user(error)
            .hint("one hub serves every repository of this machine; `codebutler up` joins it"),
        HubError::Slack(_) => {
            CliError::user(error).hint("`codebutler doctor` says what is wrong with the Slack app")
        }
        HubError::NotLoopback(_) => CliError::user(error)
            .hint("encrypt it: `hub.tls` \"self\" in the machine config, or your own certificate")
            .hint(
                "or listen on 127.0.0.1 and let an SSH tunnel or a reverse proxy with TLS lead there",
            )
            .hint(
                "or add --listen-anywhere: who reaches the port needs a token or a link, \
                 and everybody on the way can read along",
            ),
        HubError::Certificate(..) => CliError::user(error)
            .hint("`hub.tls` and `hub.tlsKey` in the machine config name its files, in PEM"),
        HubError::Listen { .. } => CliError::because(error).hint(
            "choose another address with --listen, or leave it out: then the next free port is used",
        ),
        other => CliError::internal(other),
    }
}
