//! Images, voice and lost bills, against a server that answers as the
//! documentation says.

use butler_model::{
    EndpointKind, ErrorClass, ImageOrder, ListPrice, ModelInfo, Picture, Voice, read_models,
};
use butler_vocab::{Price, Usd};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{Server, json_body};

fn order() -> ImageOrder {
    ImageOrder {
        model: "painter".into(),
        prompt: "a door".into(),
        size: Some("1024x1024".into()),
        transparent: true,
        ..ImageOrder::default()
    }
}

/// `aGVsbG8=` is `hello`.
fn painted() -> crate::kit::Canned {
    json_body(
        200,
        json!({"data": [{"b64_json": "aGVsbG8="}], "output_format": "png",
        "usage": {"input_tokens": 1_000_000, "output_tokens": 500_000}}),
    )
}

fn priced() -> Vec<ModelInfo> {
    let mut models = read_models(&json!({"data": [{"id": "painter"}]}));
    let price = Price::flat(Usd::from_cents(100), Usd::from_cents(400));
    models[0].price = Some(ListPrice::from(price));
    models
}

#[tokio::test]
async fn an_image_is_painted_and_its_tokens_are_paid() {
    let busy = json_body(503, json!({"error": {"message": "overloaded"}}));
    let server = Server::start(vec![busy, painted()]).await;
    let client = server.client(EndpointKind::Openai);
    client.learn(&priced());
    let none = CancellationToken::new();
    let painted = client.paint(&order(), &none).await.unwrap();
    assert_eq!(painted.pictures[0].bytes, b"hello");
    assert_eq!(painted.pictures[0].name, "image-1.png");
    assert_eq!(painted.cost, Usd::from_cents(300));
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "an overloaded painter is asked again");
    assert_eq!(asked[1].path, "/v1/images/generations");
    assert_eq!(
        asked[1].body,
        json!({"model": "painter", "prompt": "a door", "n": 1, "output_format": "png",
            "size": "1024x1024", "background": "transparent"}),
        "and no response_format, which is refused"
    );
}

#[tokio::test]
async fn an_image_is_changed_by_a_form_with_named_files() {
    let server = Server::start(vec![painted()]).await;
    let client = server.client(EndpointKind::Openai);
    let mut order = order();
    let source = Picture {
        name: "door.png".into(),
        kind: "image/png".into(),
        bytes: b"pixels".to_vec(),
    };
    order.sources = vec![source; 2];
    let none = CancellationToken::new();
    client.paint(&order, &none).await.unwrap();
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/v1/images/edits");
    let kind = asked.headers["content-type"].to_str().unwrap();
    assert!(kind.starts_with("multipart/form-data"), "{kind}");
    for part in [
        "name=\"image[]\"; filename=\"door.png\"",
        "Content-Type: image/png",
        "a door",
    ] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    order.sources.truncate(1);
    client.paint(&order, &none).await.unwrap();
    assert!(server.asked()[1].text.contains("name=\"image\";"));
}

#[tokio::test]
async fn an_answer_without_an_image_is_malformed_and_a_refusal_is_final() {
    let empty = json_body(200, json!({"data": []}));
    let none = CancellationToken::new();
    let server = Server::start(vec![empty]).await;
    let client = server.client(EndpointKind::Openai);
    let error = client.paint(&order(), &none).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Malformed);
    let refusal = json!({"error": {"message": "no", "code": "content_policy_violation"}});
    let server = Server::start(vec![json_body(400, refusal)]).await;
    let client = server.client(EndpointKind::Openai);
    client.paint(&order(), &none).await.unwrap_err();
    assert_eq!(server.asked().len(), 1);
}

fn voice(name: &str) -> Voice {
    Voice {
        name: name.into(),
        bytes: b"la la".to_vec(),
        language: Some("es".into()),
    }
}

#[tokio::test]
async fn voice_becomes_text_and_is_paid_by_bill_token_or_minute() {
    let usages = [
        (json!({"cost": 0.002}), Usd::from_nanos(2_000_000)),
        (
            json!({"type": "duration", "seconds": 61.0}),
            Usd::from_cents(2),
        ),
    ];
    for (usage, cost) in usages {
        let answer = json_body(200, json!({"text": " hola \n", "usage": usage}));
        let server = Server::start(vec![answer]).await;
        let client = server.client(EndpointKind::Openai);
        let none = CancellationToken::new();
        let said = client.transcribe("scribe", &voice("clip.m4a"), &none).await;
        let said = said.unwrap();
        assert_eq!((said.text.as_str(), said.cost), ("hola", cost));
        let asked = server.asked().remove(0);
        assert_eq!(asked.path, "/v1/audio/transcriptions");
        for part in [
            "filename=\"clip.m4a\"",
            "name=\"language\"\r\n\r\nes",
            "scribe",
            "la la",
        ] {
            assert!(asked.text.contains(part), "{part}: {}", asked.text);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_sent() {
    let server = Server::start(vec![json_body(200, json!({}))]).await;
    let client = server.client(EndpointKind::Openai);
    let none = CancellationToken::new();
    let mut large = voice("clip.webm");
    large.bytes = vec![0; (25 << 20) + 1];
    for (voice, word) in [(voice("clip.txt"), "m4a"), (large, "25 MB")] {
        let error = client
            .transcribe("scribe", &voice, &none)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn a_lost_bill_is_looked_up_where_there_are_records() {
    let not_yet = json_body(404, json!({"error": {"code": 404, "message": "not found"}}));
    let record = json_body(200, json!({"data": {"id": "gen-1", "total_cost": 0.0125}}));
    let server = Server::start(vec![not_yet.clone(), record]).await;
    let none = CancellationToken::new();
    let client = server.client(EndpointKind::Openrouter);
    let cost = client.generation_cost("gen-1", &none).await.unwrap();
    assert_eq!(cost, Some(Usd::from_nanos(12_500_000)));
    assert_eq!(server.asked().len(), 2, "it may come late");
    assert_eq!(server.asked()[0].path, "/v1/generation");

    let never = Server::start(vec![not_yet]).await;
    let client = never.client(EndpointKind::Openrouter);
    assert_eq!(client.generation_cost("gen-2", &none).await.unwrap(), None);
    let asked = never.asked().len();
    assert!(
        (2..10).contains(&asked),
        "it is not asked for ever: {asked}"
    );
    let local = never.client(EndpointKind::Generic);
    assert_eq!(local.generation_cost("gen-2", &none).await.unwrap(), None);
    assert_eq!(never.asked().len(), asked, "others keep no records");
}
