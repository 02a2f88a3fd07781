//! A real model on a real server. Not run by default: it needs an endpoint.
//!
//! ```text
//! CODEBUTLER_REAL_MODEL_URL=http://127.0.0.1:8080/v1 CODEBUTLER_REAL_MODEL=any \
//!     cargo test -p butler-model -- --ignored real
//! ```

use std::time::Duration;

use butler_model::{ClientConfig, Endpoint, EndpointKind, ModelClient, ModelRequest};
use tokio_util::sync::CancellationToken;

use crate::kit::{ask, system, user};

fn client() -> (ModelClient, String) {
    let url = std::env::var("CODEBUTLER_REAL_MODEL_URL").unwrap();
    let model = std::env::var("CODEBUTLER_REAL_MODEL").unwrap_or_else(|_| "any".to_owned());
    let mut config = ClientConfig::new(Endpoint::new(EndpointKind::Generic, url.parse().unwrap()));
    // A busy machine is twenty times slower than a quiet one.
    config.idle = Duration::from_secs(600);
    config.first_byte = Duration::from_secs(600);
    (ModelClient::new(config).unwrap(), model)
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_real_model_answers_streamed_and_not() {
    let (client, model) = client();
    assert!(!client.models().await.unwrap().is_empty());
    for stream in [true, false] {
        let mut request = ModelRequest::new(&model, vec![system("Be brief."), user("Say hello.")]);
        request.stream = stream;
        request.max_tokens = 32;
        let reply = ask(&client, &request).await.unwrap();
        assert!(reply.text.is_some() || reply.cut, "{reply:?}");
        assert!(reply.usage.input > 0 && reply.usage.output > 0, "{reply:?}");
    }
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_real_model_calls_a_tool() {
    let (client, model) = client();
    let fitness = client
        .probe_tools(&model, 0x5a17, &CancellationToken::new())
        .await
        .unwrap();
    assert!(fitness.calls_tools, "{fitness:?}");
}
