//! TLS for fetched pages: the usual certificate authorities, those this machine
//! trusts, and those of a file that its config names.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

/// A configuration of our own: a process-wide provider need not be installed.
pub(super) fn config(ca_file: Option<&Path>) -> Result<ClientConfig, String> {
    let roots = match ca_file {
        None => usual(),
        Some(file) => Arc::new(with_file(file)?),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
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

fn with_file(file: &Path) -> Result<RootCertStore, String> {
    let bad = |why: String| format!("network.caFile, {}: {why}", file.display());
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
