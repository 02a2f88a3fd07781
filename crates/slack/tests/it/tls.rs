//! The socket trusts whom the machine config names, as every other call does.

use std::{io::Write, sync::Arc};

use butler_protocol::Secret;
use butler_slack::{Hearing, Socket, Web, Workspace};
use butler_testkit::SlackStandIn;
use serde_json::json;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, rustls};
use tokio_util::sync::CancellationToken;

/// Encrypts the way to the stand-in with a certificate of an authority that nobody
/// knows. Its port and the authority as PEM.
async fn encrypted(slack: &SlackStandIn) -> (u16, String) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let behind = slack.address();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that refuses the certificate hangs up here.
                if let Ok(mut stream) = acceptor.accept(socket).await {
                    let mut there = TcpStream::connect(behind).await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut there).await;
                }
            });
        }
    });
    slack.reached_encrypted_as(&format!("localhost:{port}"));
    (port, authority.pem())
}

#[tokio::test]
async fn a_companys_authority_is_trusted_by_calls_and_socket_alike() {
    let slack = SlackStandIn::start().await;
    let (port, authority) = encrypted(&slack).await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(authority.as_bytes()).unwrap();
    let base = format!("https://localhost:{port}/").parse().unwrap();
    let trusting = Workspace::with_file(base, Some(file.path().to_owned()));
    let web = Web::at(&trusting, Secret::new(slack.bot_token())).unwrap();
    web.attempt("auth.test", json!({})).await.unwrap();
    let token = || Secret::new(slack.app_token());
    let socket = Socket::start(&trusting, token(), CancellationToken::new()).unwrap();
    let mut hearing = socket.hearing();
    let heard = |hearing: &Hearing| matches!(hearing, Hearing::Connected { others: 0 });
    let waiting = hearing.wait_for(heard);
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, waiting)
        .await
        .unwrap()
        .unwrap();
    socket.close().await;

    // Nobody else is trusted, and why is said.
    let strict = Workspace::new(trusting.base.clone());
    let socket = Socket::start(&strict, token(), CancellationToken::new()).unwrap();
    let mut hearing = socket.hearing();
    let tried = |hearing: &Hearing| matches!(hearing, Hearing::Reconnecting { tries: 1.., .. });
    let waiting = hearing.wait_for(tried);
    let last = tokio::time::timeout(patience, waiting)
        .await
        .unwrap()
        .unwrap()
        .clone();
    let Hearing::Reconnecting { why: Some(why), .. } = last else {
        panic!("{last:?}");
    };
    assert!(why.contains("certificate"), "{why}");
    socket.close().await;
}
