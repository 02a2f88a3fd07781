//! Trusting one certificate by its fingerprint. Neither name nor date nor authority
//! counts: whoever gave us the fingerprint vouches for the certificate, and whoever
//! holds its key is the one.

use std::{fmt, str::FromStr, sync::Arc};

use butler_protocol::Sha256Hex;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

/// The SHA-256 of a certificate, as 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

/// A text that is none.
#[derive(Debug, thiserror::Error)]
#[error("a certificate's fingerprint is its SHA-256: 64 hex digits")]
pub struct BadFingerprint;

impl Fingerprint {
    /// That of a certificate.
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256Hex::of(certificate).as_str().to_owned())
    }

    /// That of the first certificate in a text.
    ///
    /// # Errors
    /// When there is none in it.
    pub fn of_pem(text: &str) -> Result<Self, rustls::pki_types::pem::Error> {
        CertificateDer::from_pem_slice(text.as_bytes()).map(|first| Self::of(&first))
    }

    /// Its hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    /// As `openssl x509 -fingerprint -sha256` writes it, too.
    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        let fits = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match fits {
            true => Ok(Self(digits.to_ascii_lowercase())),
            false => Err(BadFingerprint),
        }
    }
}

pub(crate) fn config(fingerprint: Fingerprint) -> ClientConfig {
    let provider = rustls::crypto::ring::default_provider();
    let verifier = Pinned {
        fingerprint,
        algorithms: provider.signature_verification_algorithms,
    };
    crate::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}

#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Fingerprint::of(shown) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            let refused = CertificateError::ApplicationVerificationFailure;
            Err(Error::InvalidCertificate(refused))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_openssl_writes_it() {
        let certificate = CertificateDer::from(vec![1, 2, 3]);
        let own = Fingerprint::of(&certificate);
        let pairs: Vec<String> = own
            .as_str()
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).to_uppercase())
            .collect();
        assert_eq!(pairs.join(":").parse::<Fingerprint>().unwrap(), own);
        for wrong in ["", "12", &"g".repeat(64), &"0".repeat(65)] {
            let told = wrong.parse::<Fingerprint>().unwrap_err().to_string();
            assert!(told.contains("64 hex digits"), "{told}");
        }
    }
}
