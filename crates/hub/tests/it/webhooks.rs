//! A webhook of the forge wakes the agents of its channel, if it is signed; nothing else does.

use butler_protocol::Secret;
use reqwest::StatusCode;

use crate::world::World;

fn secret() -> String {
    ["not", "a", "real", "secret"].join("-")
}

async fn send(world: &World, path: &str, token: &str, body: Vec<u8>) -> StatusCode {
    let url = world.base.join(path).unwrap();
    let request = world
        .http
        .post(url)
        .header("x-gitlab-token", token)
        .body(body);
    request.send().await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_signed_webhook_wakes_and_only_its_channel() {
    let mut world = World::start().await;
    let channel = world.channel();
    let path = format!("webhooks/{channel}");
    let sent = send(&world, &path, &secret(), b"{}".to_vec()).await;
    assert_eq!(
        sent,
        StatusCode::NOT_FOUND,
        "off unless somebody sets a secret"
    );
    world.down().await;
    world.forge_secret = Some(Secret::new(secret()));
    world.up().await;
    let control = world.control(butler_protocol::Role::Lead);
    let waiting = tokio::spawn({
        let (control, channel) = (control.clone(), channel.clone());
        async move { control.forge_moved(&channel, 0).await }
    });
    let good = secret();
    for (token, body, status) in [
        ("wrong", b"{}".to_vec(), StatusCode::UNAUTHORIZED),
        ("", b"{}".to_vec(), StatusCode::UNAUTHORIZED),
        (
            good.as_str(),
            vec![b' '; 5 << 20],
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ] {
        assert_eq!(send(&world, &path, token, body).await, status);
    }
    // Another channel's, however well signed, is not ours.
    let other = send(&world, "webhooks/C0OTHER", &secret(), Vec::new()).await;
    assert_eq!(other, StatusCode::NO_CONTENT);
    assert!(!waiting.is_finished(), "nothing of that woke anybody");
    // Until the agent waits there is nobody to wake; what it was about is seen anyway.
    let woken = async {
        loop {
            let sent = send(&world, &path, &secret(), b"not even json".to_vec()).await;
            assert_eq!(sent, StatusCode::NO_CONTENT);
            if waiting.is_finished() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(crate::world::PATIENCE, woken)
        .await
        .unwrap();
    let now = waiting.await.unwrap().unwrap();
    assert!(now > 0);
    // Heard once: the next wait begins from there.
    let again = control.forge_moved(&channel, 0).await.unwrap();
    assert!(again >= now);
}
