//! Pictures go to models that can see, and a sentence to those that cannot.

use butler_model::{EndpointKind, ModelInfo, ModelRequest};
use butler_protocol::{Image, ModelMessage};
use serde_json::{Value, json};

use crate::kit::{Server, ask, assistant, call, json_body, result, system};

fn answer() -> crate::kit::Canned {
    let message = json!({"role": "assistant", "content": "a red square"});
    json_body(
        200,
        json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}),
    )
}

/// A picture that Read showed, as the fold hands it over.
fn request(session: Option<&str>) -> ModelRequest {
    let picture = Image::new("image/png", b"red");
    let seen = ModelMessage::User {
        text: "of the results above".into(),
        images: vec![picture],
    };
    let calls = vec![call("aaaaaaaaa", "Read", json!({"path": "a.png"}))];
    let talk = vec![
        system("p"),
        crate::kit::user("what is in a.png?"),
        assistant(None, calls, None),
        result("aaaaaaaaa", "a PNG picture"),
        seen,
    ];
    let mut request = ModelRequest::new("m", talk);
    request.stream = false;
    request.session = session.map(str::to_owned);
    request
}

fn info(vision: Option<bool>) -> ModelInfo {
    let mut list = butler_model::read_models(&json!({"data": [{"id": "m"}]}));
    list[0].vision = vision;
    list.remove(0)
}

fn last(body: &Value) -> &Value {
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(
        messages[messages.len() - 2]["role"],
        "tool",
        "results stay together"
    );
    messages.last().unwrap()
}

fn url(body: &Value) -> Option<&str> {
    last(body)["content"]
        .as_array()?
        .iter()
        .find_map(|part| part["image_url"]["url"].as_str())
}

#[tokio::test]
async fn a_model_that_sees_gets_the_picture_after_the_results() {
    for vision in [None, Some(true)] {
        let server = Server::start(vec![answer()]).await;
        let client = server.client(EndpointKind::Generic);
        client.learn(&[info(vision)]);
        ask(&client, &request(Some("s"))).await.unwrap();
        let asked = server.asked();
        assert_eq!(url(&asked[0].body), Some("data:image/png;base64,cmVk"));
    }
}

#[tokio::test]
async fn a_blind_model_reads_a_sentence_instead() {
    for session in [None, Some("s")] {
        let server = Server::start(vec![answer()]).await;
        let client = server.client(EndpointKind::Generic);
        client.learn(&[info(Some(false))]);
        ask(&client, &request(session)).await.unwrap();
        let body = &server.asked()[0].body;
        assert_eq!(url(body), None, "{body}");
        let text = last(body)["content"].to_string();
        assert!(
            text.contains("a picture (image/png)") && text.contains("cannot see"),
            "{text}"
        );
    }
    // Known before the first list came.
    let server = Server::start(vec![answer()]).await;
    let mut config = server.config(EndpointKind::Generic);
    config.blind.insert("m".into());
    let client = butler_model::ModelClient::new(config).unwrap();
    ask(&client, &request(None)).await.unwrap();
    assert_eq!(url(&server.asked()[0].body), None);
}

#[tokio::test]
async fn a_refused_picture_does_not_end_the_conversation() {
    let refusal = json!({"error": {"message": "image input is not supported by this model"}});
    for status in [400, 404, 500] {
        let mut answers = vec![json_body(status, &refusal); 1];
        if status == 500 {
            // Worth some tries before it counts as a refusal.
            answers = vec![json_body(status, &refusal); 12];
            answers.truncate(tries().await);
        }
        answers.push(answer());
        let server = Server::start(answers).await;
        let client = server.client(EndpointKind::Generic);
        let reply = ask(&client, &request(Some("s"))).await.unwrap();
        assert_eq!(reply.text.as_deref(), Some("a red square"), "{status}");
        let asked = server.asked();
        assert!(url(&asked[0].body).is_some());
        assert_eq!(url(&asked.last().unwrap().body), None);
    }
    // A refusal for another reason is not tried again.
    let other = json!({"error": {"message": "max_tokens is too small"}});
    let server = Server::start(vec![json_body(400, &other), answer()]).await;
    let client = server.client(EndpointKind::Generic);
    ask(&client, &request(None)).await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
}

/// How often one call asks a server that fails.
async fn tries() -> usize {
    let server = Server::start(vec![json_body(500, json!({"error": {"message": "down"}}))]).await;
    let client = server.client(EndpointKind::Generic);
    ask(&client, &request(None)).await.unwrap_err();
    server.asked().len()
}
