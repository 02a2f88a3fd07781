//! Endpoints that make pictures, as their documentation has them: base64, an address, a
//! queue; prices, errors, and keys that stay where they belong.

use butler_model::{ClientConfig, Drawing, Endpoint, EndpointKind, ModelClient, ModelError};
use butler_protocol::{Secret, Usd};
use butler_testkit::{Answers, ImageStandIn};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    attached::PIXEL,
    team::{Team, says},
};

fn client(images: &ImageStandIn, kind: EndpointKind) -> ModelClient {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut endpoint = Endpoint::new(kind, images.base_url().parse().unwrap());
    endpoint.key = Some(Secret::new(ImageStandIn::KEY));
    ModelClient::new(ClientConfig::new(endpoint)).unwrap()
}

async fn draw(
    client: &ModelClient,
    from: &[(String, Vec<u8>)],
) -> Result<butler_model::Drawn, ModelError> {
    let drawing = Drawing {
        model: "drawer",
        prompt: "a tray",
        size: Some("1024x1024"),
        from,
    };
    client.draw(drawing, &CancellationToken::new()).await
}

#[tokio::test]
async fn pictures_come_as_text_from_an_address_and_from_a_queue() {
    let images = ImageStandIn::start(PIXEL).await;
    let client = client(&images, EndpointKind::Openai);
    let usage = json!({"input_tokens": 12, "output_tokens": 1_000});
    for answers in [Answers::Base64, Answers::Address, Answers::Queue(2)] {
        images.answer(answers, usage.clone());
        let drawn = draw(&client, &[]).await.unwrap();
        assert_eq!(drawn.bytes, PIXEL, "{answers:?}");
        assert_eq!((drawn.usage.input, drawn.usage.output), (12, 1_000));
        assert_eq!(drawn.billed, None);
    }
    assert_eq!(images.keys_at_addresses(), 0, "the key goes nowhere else");
    // Nobody is sent to this machine's neighbours.
    images.answer(Answers::AddressElsewhere, Value::Null);
    let error = draw(&client, &[]).await.unwrap_err().to_string();
    assert!(error.contains("an address that is not fetched"), "{error}");
    let from = [
        ("a.png".to_owned(), PIXEL.to_vec()),
        ("b.jpg".to_owned(), PIXEL.to_vec()),
    ];
    images.answer(Answers::Base64, json!({"cost": 0.02}));
    let drawn = draw(&client, &from).await.unwrap();
    assert_eq!(drawn.billed, Some(Usd::from_cents(2)));
    let form = images.asked().pop().unwrap();
    assert_eq!(form["images"][1]["field"], "image[]");
    assert_eq!(form["images"][1]["type"], "image/jpeg");
    images.refuse(400, "Your request was rejected by the safety system.");
    let error = draw(&client, &[]).await.unwrap_err().to_string();
    assert!(error.contains("safety system"), "{error}");
}

#[tokio::test]
async fn openrouter_draws_in_chat() {
    let images = ImageStandIn::start(PIXEL).await;
    let client = client(&images, EndpointKind::Openrouter);
    images.answer(
        Answers::Base64,
        json!({"cost": 0.039, "prompt_tokens": 9, "completion_tokens": 1_290}),
    );
    let from = [("a.png".to_owned(), PIXEL.to_vec())];
    let drawn = draw(&client, &from).await.unwrap();
    assert_eq!(drawn.bytes, PIXEL);
    assert_eq!(drawn.billed, Some(Usd::from_dollars(0.039)));
    let asked = &images.asked()[0]["messages"][0]["content"];
    assert!(
        asked[1]["image_url"]["url"]
            .as_str()
            .unwrap()
            .starts_with("data:image/png;base64,")
    );
    images.refuse(200, "no provider draws this");
    let error = draw(&client, &[]).await.unwrap_err().to_string();
    assert!(error.contains("no provider draws this"), "{error}");
}

const STORY: &str = "
title: an Artist that draws
roles:
  artist:
    - call: [{ tool: GenerateImage, with: { prompt: 'a tray', name: tray.png } }]
    - say: It is done, one way or the other.
";

/// What cannot be paid is not asked for; what fails or comes torn is told; discarded is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caps_hold_errors_are_told_and_what_is_discarded_is_gone() {
    let images = ImageStandIn::start(PIXEL).await;
    let team = Team::start_drawing(STORY, &images, |_| ()).await;
    let root = team.say("@codebutler.artist draw a tray").await;
    team.press(&root, "discard").await;
    team.until(&root, "the end", |thread| {
        says(thread, "one way or the other")
    })
    .await;
    assert!(team.log(&root, "artist").contains("discarded `tray.png`"));
    let kept = team
        .scratch
        .remote_git(&["log", "--all", "--format=", "--name-only"]);
    assert!(!kept.contains("tray.png"), "{kept}");
    images.refuse(503, "no capacity");
    let root = team.say("@codebutler.artist draw a tray").await;
    team.until(&root, "the end", |thread| {
        says(thread, "one way or the other")
    })
    .await;
    assert!(team.log(&root, "artist").contains("no capacity"));

    let images = ImageStandIn::start(b"<svg/>").await;
    let dear = |config: &mut Value| {
        config["models"]["artist"]["dollarsPerImage"] = json!(1.0);
        config["limits"] = json!({"maxCostPerThread": 0.5});
    };
    let team = Team::start_drawing_with(STORY, &images, dear, |_| ()).await;
    let root = team.say("@codebutler.artist draw a tray").await;
    team.until(&root, "the end", |thread| {
        says(thread, "one way or the other")
    })
    .await;
    assert!(team.log(&root, "artist").contains("budget is used up"));
    assert!(
        images.asked().is_empty(),
        "what cannot be paid is not asked for"
    );
}
