//! One real handshake, with a certificate authority of our own.

use std::{io::Write, sync::Arc};

use butler_model::{ClientConfig, Endpoint, EndpointKind, ErrorClass, ModelClient, Pace};
use butler_protocol::Secret;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{TlsAcceptor, rustls};

use crate::kit::{ask, question};

/// A server with a certificate of an authority that nobody knows. Returns its
/// port and the authority as PEM.
async fn serve() -> (u16, String) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(params, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])
        .unwrap();
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
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that refuses the certificate hangs up here.
            let Ok(mut stream) = acceptor.accept(socket).await else {
                continue;
            };
            let mut request = vec![0; 64 << 10];
            let length = stream.read(&mut request).await.unwrap();
            assert!(
                String::from_utf8_lossy(&request[..length]).contains("POST /v1/chat/completions")
            );
            let body = include_str!("fixtures/openai.sse");
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    (port, authority.pem())
}

fn config(port: u16) -> ClientConfig {
    let url = format!("https://127.0.0.1:{port}/v1").parse().unwrap();
    let endpoint = Endpoint::new(EndpointKind::Openai, url).with_key(Secret::new("k"));
    let mut config = ClientConfig::new(endpoint);
    config.retry.pace = Pace::new(|_| std::future::ready(()), || 0.0);
    config
}

#[tokio::test]
async fn an_authority_from_a_file_is_believed_and_a_stranger_is_not() {
    let (port, authority) = serve().await;
    let stranger = ModelClient::new(config(port)).unwrap();
    let error = ask(&stranger, &question("m")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(authority.as_bytes()).unwrap();
    let mut trusting = config(port);
    trusting.ca_file = Some(file.path().to_owned());
    let client = ModelClient::new(trusting).unwrap();
    let reply = ask(&client, &question("m")).await.unwrap();
    assert_eq!(reply.calls[0].name, "add");
}

#[tokio::test]
async fn a_file_without_certificates_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [
        file.path().to_owned(),
        file.path().with_extension("missing"),
    ] {
        let mut config = config(1);
        config.ca_file = Some(path.clone());
        let error = ModelClient::new(config).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Setup);
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
    }
}
