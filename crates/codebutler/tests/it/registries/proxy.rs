//! A company's proxy: the only way to its packages, whose certificate is signed by
//! an authority that nobody else knows. It writes down whom it was asked for.

use std::{
    io::{BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use super::{Shelves, request};

/// What the packages are called inside. No name server knows it.
pub(super) const NAME: &str = "packages.example";

pub(crate) struct Proxy {
    address: SocketAddr,
    /// The authority that signed, as PEM.
    pub authority: String,
    asked_for: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(super) fn start(shelves: Shelves) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (config, authority) = certificate();
        let asked_for = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked_for);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, shelves) = (Arc::clone(&config), shelves.clone());
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || tunnel(stream, &config, &shelves, &noted));
            }
        });
        Self {
            address,
            authority,
            asked_for,
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a machine behind it says in its environment.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let address = self.address();
        vec![
            ("HTTP_PROXY", address.clone()),
            ("HTTPS_PROXY", address),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ]
    }

    /// Whom it was asked for, each request once.
    pub(crate) fn asked_for(&self) -> Vec<String> {
        self.asked_for.lock().unwrap().clone()
    }
}

/// One who asks to be put through. Nobody but the packages is there.
fn tunnel(
    mut stream: TcpStream,
    config: &Arc<rustls::ServerConfig>,
    shelves: &Shelves,
    noted: &Mutex<Vec<String>>,
) {
    let asked = request(&mut BufReader::new(&stream));
    let Some((method, target)) = asked else {
        return;
    };
    noted.lock().unwrap().push(target.clone());
    if method != "CONNECT" || target != format!("{NAME}:443") {
        let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
    let connection = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
    shelves.serve(rustls::StreamOwned::new(connection, stream));
}

/// What the packages show of themselves, and the authority behind it.
fn certificate() -> (Arc<rustls::ServerConfig>, String) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let mut leaf = rcgen::CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    // What OpenSSL and Python insist on: a name of its own, and who signed it.
    leaf.distinguished_name
        .push(rcgen::DnType::CommonName, NAME);
    leaf.use_authority_key_identifier_extension = true;
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (Arc::new(config), authority.pem())
}
