//! A client and the server: streaming and not, calls, usage, the model list.

use std::sync::Mutex;

use butler_model::{EndpointKind, Heard};
use butler_protocol::Usd;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{called, request, result, stage, stage_with, user};

const STORY: &str = r#"
title: greet
price: { input: 2.0, output: 10.0 }
context: 32000
roles:
  pm:
    - say: "I read the file first, then I answer you with care: ÄÖÜ 🦀."
      call:
        - { tool: Read, with: { path: "README.md", offset: 3 } }
        - { tool: Grep, with: { pattern: "line\nbreak" } }
      usage: { input: 1000, cached: 400, output: 50 }
    - say: The file says hello.
      usage: { input: 10, output: 1, cost: 0.25 }
"#;

#[tokio::test]
async fn an_answer_is_the_same_streamed_and_buffered() {
    let stage = stage(STORY).await;
    let mut request = request("pm", vec![user("hi")]);
    let streamed = stage.ask(&request).await.unwrap();
    request.stream = false;
    let buffered = stage.ask(&request).await.unwrap();
    assert_eq!(streamed, buffered);
    assert!(streamed.text.unwrap().ends_with("ÄÖÜ 🦀."));
    let calls: Vec<_> = streamed
        .calls
        .iter()
        .map(|c| (c.name.as_str(), c.arguments.clone()))
        .collect();
    assert_eq!(
        calls,
        [
            ("Read", json!({"path": "README.md", "offset": 3})),
            ("Grep", json!({"pattern": "line\nbreak"})),
        ]
    );
    assert_eq!(streamed.model, "rehearsal/pm");
    assert_eq!(
        (
            streamed.usage.input,
            streamed.usage.cached_input,
            streamed.usage.output
        ),
        (1000, 400, 50)
    );
    assert_eq!(streamed.cost, Usd::from_nanos(2_500_000));
}

#[tokio::test]
async fn a_conversation_goes_on_and_costs_what_the_provider_says() {
    let stage = stage(STORY).await;
    let mut messages = vec![user("hi")];
    let first = stage.ask(&request("pm", messages.clone())).await.unwrap();
    assert_eq!(stage.rehearsal.left_over().len(), 1);
    let calls = first
        .calls
        .iter()
        .enumerate()
        .map(|(n, call)| butler_protocol::ToolCall {
            id: butler_protocol::CallId::new(format!("c{n}")),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            problem: None,
        });
    messages.push(butler_protocol::ModelMessage::Assistant {
        text: first.text,
        calls: calls.collect(),
        reasoning: first.reasoning,
    });
    messages.push(result("c0", "hello"));
    messages.push(result("c1", "none"));
    let second = stage.ask(&request("pm", messages)).await.unwrap();
    assert_eq!(second.text.as_deref(), Some("The file says hello."));
    assert_eq!(second.cost, Usd::from_cents(25));
    assert_eq!(stage.rehearsal.left_over(), Vec::<String>::new());
}

#[tokio::test]
async fn every_kind_of_endpoint_can_be_played() {
    for kind in [
        EndpointKind::Openrouter,
        EndpointKind::Openai,
        EndpointKind::Generic,
    ] {
        let stage = stage_with(STORY, true, |config| config.endpoint.kind = kind).await;
        let history = vec![
            user("hi"),
            called("a", "Read", json!({"path": "x"})),
            result("a", "y"),
            user("and?"),
        ];
        let reply = stage.ask(&request("pm", history)).await.unwrap();
        assert_eq!(reply.calls.len(), 2, "{kind}");
    }
}

#[tokio::test]
async fn text_is_heard_while_it_comes() {
    let stage = stage(STORY).await;
    let heard = Mutex::new(Vec::new());
    let listen = |piece: Heard<'_>| {
        if let Heard::Text(text) = piece {
            heard.lock().unwrap().push(text.to_owned());
        }
    };
    let request = request("pm", vec![user("hi")]);
    let reply = stage
        .client
        .complete(&request, &CancellationToken::new(), Some(&listen))
        .await;
    let heard = heard.into_inner().unwrap();
    assert!(heard.len() > 1, "{heard:?}");
    assert_eq!(Some(heard.concat()), reply.unwrap().text);
}

#[tokio::test]
async fn the_model_list_says_that_it_is_a_rehearsal_and_what_it_costs() {
    let stage = stage(STORY).await;
    let models = stage.client.models().await.unwrap();
    // Every role has a model, and a second one to fall back to.
    let of = |prefix: &str| {
        models
            .iter()
            .filter(|model| model.id.starts_with(prefix))
            .count()
    };
    assert_eq!((of("rehearsal/"), of("second/"), models.len()), (6, 6, 12));
    let pm = &models[0];
    assert_eq!((pm.context, pm.tools), (Some(32_000), Some(true)));
    assert_eq!(
        pm.price.as_ref().unwrap().base.output,
        Usd::from_cents(1000)
    );
    assert_eq!(
        stage.client.reserve_price("rehearsal/pm").input,
        Usd::from_cents(200)
    );
}

#[tokio::test]
async fn off_the_script_people_get_a_text_and_tests_an_error() {
    let strict = stage("title: t\nroles: { pm: [{ say: x, when: { nth: 9 } }] }").await;
    let error = strict
        .ask(&request("pm", vec![user("hi")]))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("answer 1, not 9"), "{error}");
    let kind = stage_with(
        "title: t\nroles: { pm: [{ say: x, when: { nth: 9 } }] }",
        false,
        |_| {},
    )
    .await;
    let reply = kind.ask(&request("pm", vec![user("hi")])).await.unwrap();
    assert!(reply.text.unwrap().contains("rehearsal"));
    let nobody = strict
        .ask(&request("boss", vec![user("hi")]))
        .await
        .unwrap_err();
    assert!(nobody.to_string().contains("rehearsal/<role>"), "{nobody}");
}
