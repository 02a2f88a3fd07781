//! Nobody answers, or a key is missing: the error names the address and what to
//! look at.

use butler_model::{
    ClientConfig, Endpoint, EndpointKind, ErrorClass, ModelClient, ModelError, Pace,
};
use butler_protocol::Secret;

use crate::kit::{Server, ask, json_body, question};

fn config(url: &str) -> ClientConfig {
    let mut config = ClientConfig::new(Endpoint::new(EndpointKind::Generic, url.parse().unwrap()));
    config.retry.pace = Pace::new(|_| std::future::ready(()), || 0.0);
    config.endpoint.address_from = "--model-url".to_owned();
    config.endpoint.key_from = "--key-env".to_owned();
    config
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = free.local_addr().unwrap();
    drop(free);
    let client = ModelClient::new(config(&format!("http://me:secret@{place}/v1"))).unwrap();
    let errors: [ModelError; 2] = [
        ask(&client, &question("tiny")).await.unwrap_err(),
        client.models().await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.class(), ErrorClass::Timeout, "retried as before");
        let said = error.to_string();
        for part in [
            &format!("http://{place}/v1"),
            "Connection refused",
            "is the server running",
            "--model-url",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("secret"), "{said}");
        assert!(error.advice().contains("--model-url"), "{}", error.advice());
    }
}

#[tokio::test]
async fn a_key_that_nobody_gave_was_not_refused() {
    let no = || json_body(401, r#"{"error": {"message": "Unauthorized"}}"#);
    let server = Server::start(vec![no()]).await;
    let without = ModelClient::new(config(&server.url)).unwrap();
    for error in [
        ask(&without, &question("tiny")).await.unwrap_err(),
        without.models().await.unwrap_err(),
    ] {
        assert_eq!(error.class(), ErrorClass::Auth);
        let said = error.to_string();
        for part in ["no key was given", &server.url, "Unauthorized", "--key-env"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let mut with = config(&server.url);
    with.endpoint = with.endpoint.with_key(Secret::new("sk-mine"));
    let with = ModelClient::new(with).unwrap();
    let error = ask(&with, &question("tiny")).await.unwrap_err();
    assert!(error.to_string().contains("was refused"), "{error}");
}
