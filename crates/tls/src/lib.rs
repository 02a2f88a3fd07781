//! TLS for every client of the binary: the usual certificate authorities, those
//! this machine trusts, and those of a file that its config names; or exactly one
//! certificate, by its fingerprint, where a hub made its own.
//!
//! A configuration of our own, because a process-wide provider need not be
//! installed, and because a bare container has no certificates: there the
//! libraries' own choice fails before anything is sent, also to this machine.

mod pinned;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

pub use pinned::Fingerprint;

pub use rustls::ClientConfig;
use rustls::{
    ConfigBuilder, RootCertStore, WantsVerifier,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Why a certificate file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("certificate file {file}: {why}")]
pub struct BadFile {
    file: String,
    why: String,
}

/// Whom a client trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// The usual authorities and those of this machine.
    #[default]
    Usual,
    /// Those of a file besides.
    WithFile(PathBuf),
    /// Whoever shows exactly this certificate, under any name, and nobody else.
    Exactly(Fingerprint),
}

impl Trust {
    /// The usual authorities, and those of the file if there is one.
    #[must_use]
    pub fn with_file(file: Option<PathBuf>) -> Self {
        file.map_or(Self::Usual, Self::WithFile)
    }

    /// What a client is told.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn config(&self) -> Result<ClientConfig, BadFile> {
        match self {
            Self::Usual => config(None),
            Self::WithFile(file) => config(Some(file)),
            Self::Exactly(fingerprint) => Ok(pinned::config(fingerprint.clone())),
        }
    }
}

/// Trusts the usual authorities, and those of the file.
pub fn config(ca_file: Option<&Path>) -> Result<ClientConfig, BadFile> {
    Ok(trusting(match ca_file {
        None => usual(),
        Some(file) => Arc::new(with_file(file)?),
    }))
}

/// Trusts nobody: for plain HTTP to this machine, where reading the machine's
/// certificates would only cost time.
pub fn plain() -> ClientConfig {
    trusting(Arc::new(RootCertStore::empty()))
}

fn trusting(roots: Arc<RootCertStore>) -> ClientConfig {
    builder()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::DEFAULT_VERSIONS)
        // It knows the versions that it was built with.
        .unwrap_or_else(|error| unreachable!("ring and rustls do not fit: {error}"))
}

/// Built once: the machine's own are read from many files.
fn usual() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    Arc::clone(roots)
}

fn with_file(file: &Path) -> Result<RootCertStore, BadFile> {
    let bad = |why: String| BadFile {
        file: file.display().to_string(),
        why,
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(error.to_string()))?;
    let mut roots = RootCertStore::clone(&usual());
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(bad("no certificate in it".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for text in [None, Some("nothing")] {
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            let told = config(Some(&file)).unwrap_err().to_string();
            assert!(told.contains("ca.pem"), "{told}");
        }
    }
}
