//! A model that keeps failing, and its fallback.

use butler_model::{Breaker, EndpointKind, ErrorClass, ModelClient};
use tokio_util::sync::CancellationToken;

use crate::kit::{Server, ask, json_body, question, stream};

fn down() -> crate::kit::Canned {
    json_body(503, r#"{"error":{"code":503,"message":"down"}}"#)
}

fn up() -> crate::kit::Canned {
    stream(include_str!("fixtures/openai.sse"))
}

async fn models_asked(server: &Server) -> Vec<String> {
    let asked = server.asked();
    asked
        .iter()
        .map(|asked| asked.body["model"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_fallback_answers_when_the_model_failed_after_its_retries() {
    let mut answers = vec![down(); 6];
    answers.push(up());
    let server = Server::start(answers).await;
    let client = server.client(EndpointKind::Generic);
    let mut request = question("first");
    request.fallback = Some("second".into());
    let reply = ask(&client, &request).await.unwrap();
    assert_eq!(reply.model, "second", "so that the thread can be told");
    let asked = models_asked(&server).await;
    assert_eq!(asked[..6], ["first"; 6]);
    assert_eq!(asked[6..], ["second"]);
}

#[tokio::test]
async fn three_failed_calls_open_the_breaker_and_the_model_is_left_alone() {
    let server = Server::start(vec![down()]).await;
    let client = server.client(EndpointKind::Generic);
    for _ in 0..Breaker::THRESHOLD {
        ask(&client, &question("m")).await.unwrap_err();
    }
    let before = server.asked().len();
    let error = ask(&client, &question("m")).await.unwrap_err();
    assert_eq!(server.asked().len(), before, "nothing was sent");
    assert_eq!(error.class(), ErrorClass::Overloaded);
    assert!(
        error
            .retry_after()
            .is_some_and(|wait| wait <= Breaker::PAUSE)
    );
    ask(&client, &question("other")).await.unwrap_err();
    assert!(
        server.asked().len() > before,
        "another model has its own breaker"
    );
}

#[tokio::test]
async fn our_own_mistakes_do_not_open_the_breaker() {
    let server = Server::start(vec![json_body(400, r#"{"error":{"message":"bad"}}"#)]).await;
    let client = server.client(EndpointKind::Generic);
    for n in 1..=5 {
        ask(&client, &question("m")).await.unwrap_err();
        assert_eq!(server.asked().len(), n);
    }
    let mut request = question("m");
    request.fallback = Some("second".into());
    let error = ask(&client, &request).await.unwrap_err();
    assert_eq!(
        error.class(),
        ErrorClass::Rejected,
        "nor do they move to another model"
    );
}

#[tokio::test]
async fn a_cancelled_wait_ends_at_once() {
    let server = Server::start(vec![down()]).await;
    let mut config = server.config(EndpointKind::Generic);
    let stop = CancellationToken::new();
    let stopper = stop.clone();
    // The wait never ends by itself.
    config.retry.pace = butler_model::Pace::new(
        move |_| {
            stopper.cancel();
            std::future::pending()
        },
        || 0.5,
    );
    let client = ModelClient::new(config).unwrap();
    let error = client
        .complete(&question("m"), &stop, None)
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    assert_eq!(server.asked().len(), 1);
}
