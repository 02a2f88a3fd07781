//! The hub's side of TLS: with the certificate of a company's authority, or with one
//! that the hub makes itself, once per workspace. That one is in the store, so that
//! several hubs of one store are the same to whoever trusts its fingerprint.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use butler_tls::Fingerprint;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use url::Url;

use crate::{
    error::{HubError, Result, Trouble},
    store::{Db, Store},
};

/// Where the hub's certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubTls {
    /// The hub makes one and keeps it; whoever joins trusts it by its fingerprint.
    Own,
    /// Somebody gave one: files in PEM.
    Files {
        /// The certificate, and those between it and the authority.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

/// A certificate in use.
#[derive(Clone)]
pub(crate) struct Certificate {
    pub(super) acceptor: TlsAcceptor,
    pub(crate) fingerprint: Fingerprint,
}

impl Certificate {
    /// Reads or makes it.
    pub(crate) async fn of(
        tls: HubTls,
        store: &Store,
        names: Vec<String>,
    ) -> Result<Self, HubError> {
        match tls {
            HubTls::Own => {
                let kept = store.read(own).await?;
                let pem = match kept {
                    Some(pem) => pem,
                    None => store.write(move |tx| make(tx.db(), names)).await?,
                };
                Self::from_pem(pem.as_bytes(), pem.as_bytes())
                    .map_err(|why| HubError::Certificate("of the hub itself".to_owned(), why))
            }
            HubTls::Files { certificate, key } => {
                let read = |path: &PathBuf| {
                    std::fs::read(path).map_err(|error| {
                        HubError::Certificate(path.display().to_string(), error.to_string())
                    })
                };
                let (chain, secret) = (read(&certificate)?, read(&key)?);
                Self::from_pem(&chain, &secret).map_err(|why| {
                    let files = format!("{} with {}", certificate.display(), key.display());
                    HubError::Certificate(files, why)
                })
            }
        }
    }

    fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| error.to_string())?;
        let first = chain.first().ok_or("no certificate in it")?;
        let fingerprint = Fingerprint::of(first);
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => "no private key in it".to_owned(),
            other => other.to_string(),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| error.to_string())?;
        // Sockets are upgraded from HTTP/1.1.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            fingerprint,
        })
    }
}

/// The names and addresses under which this hub may be asked for.
pub(crate) fn names(own_name: &str, address: SocketAddr, public_url: Option<&Url>) -> Vec<String> {
    let mut names: Vec<String> = [own_name, "localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    let others = [Some(address.ip().to_string()), public_url.and_then(host)];
    for name in others.into_iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(host.trim_matches(['[', ']']).to_owned())
}

/// The certificate that the store has, with its key.
fn own(db: &Db) -> Result<Option<String>> {
    Ok(db.own_value("certificate")?)
}

/// The certificate that the hub of this store made for itself, in PEM, without its key.
pub(crate) fn own_certificate(db: &Db) -> Result<Option<String>> {
    const END: &str = "-----END CERTIFICATE-----\n";
    let both = own(db)?;
    Ok(both.and_then(|pem| pem.split_inclusive(END).next().map(str::to_owned)))
}

/// Makes one, unless another hub of the store was quicker.
fn make(db: &Db, names: Vec<String>) -> Result<String> {
    let broken =
        |error: rcgen::Error| Trouble::Explained(crate::Refusal::InternalError, error.to_string());
    let mut params = CertificateParams::new(names).map_err(broken)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "CodeButler hub");
    let key = KeyPair::generate().map_err(broken)?;
    let certificate = params.self_signed(&key).map_err(broken)?;
    let pem = format!(
        "{}{}",
        certificate.pem().replace('\r', ""),
        key.serialize_pem()
    );
    Ok(db.first_own_value("certificate", &pem)?)
}
