//! Where a hub listens, and what it is known by there.

use std::{
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::TcpListener;

use crate::{
    HubError,
    hub::{HubConfig, Reach, app::Reached},
    identity::tokens,
    serve::tls::{self, Certificate},
    store::Store,
};

/// Ports that are tried when the wished one is taken.
const PORTS: u16 = 20;

/// A hub can be asked here as soon as it answers.
pub(super) struct Bound {
    pub(super) listener: TcpListener,
    /// As the system says it.
    pub(super) address: SocketAddr,
    pub(super) certificate: Option<Certificate>,
    pub(super) reached: Reached,
}

/// What others can reach needs a certificate, or somebody's consent.
pub(super) fn may_listen(config: &HubConfig) -> Result<(), HubError> {
    let Reach { tls, anywhere, .. } = &config.reach;
    match config.listen.ip().is_loopback() || tls.is_some() || *anywhere {
        true => Ok(()),
        false => Err(HubError::NotLoopback(config.listen)),
    }
}

/// Takes the port that was asked for, or one of the next ones.
pub(super) async fn bind(
    wished: SocketAddr,
    reach: Reach,
    store: &Store,
) -> Result<Bound, HubError> {
    let own_name = store.write(|tx| tokens::own_name(tx.db())).await?;
    let listener = listen(wished, if reach.exact { 1 } else { PORTS }).await?;
    let local = listener.local_addr();
    let bound = local.map_err(|source| HubError::Listen {
        address: wished,
        source,
    })?;
    let (address, public_url) = (from_here(bound), reach.public_url);
    let certificate = match reach.tls {
        Some(tls) => {
            let names = tls::names(&own_name, address, public_url.as_ref());
            Some(Certificate::of(tls, store, names).await?)
        }
        None => None,
    };
    let reached = Reached {
        address,
        own_name,
        only_here: bound.ip().is_loopback() && public_url.is_none(),
        public_url,
        encrypted: certificate.is_some(),
    };
    Ok(Bound {
        listener,
        address: bound,
        certificate,
        reached,
    })
}

/// "Every address" is none that one can ask for.
fn from_here(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

async fn listen(wished: SocketAddr, ports: u16) -> Result<TcpListener, HubError> {
    let mut address = wished;
    for _ in 0..ports {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == ErrorKind::AddrInUse && wished.port() != 0 => {
                address.set_port(address.port().saturating_add(1));
            }
            Ok(listener) => return Ok(listener),
            Err(source) => return Err(HubError::Listen { address, source }),
        }
    }
    Err(HubError::Listen {
        address: wished,
        source: ErrorKind::AddrInUse.into(),
    })
}
