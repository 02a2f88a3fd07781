//! TLS for fetched pages: the usual certificate authorities and those this
//! machine trusts, built once.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

/// A configuration of our own: a process-wide provider need not be installed.
pub(super) fn config() -> Result<ClientConfig, String> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(Arc::clone(roots))
        .with_no_client_auth();
    Ok(config)
}
