//! The webhook: what newly waits is told once, in few words without secrets, again until it
//! is taken, and not again after a restart.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use butler_hub::Hub;
use butler_protocol::{DecisionKind, Role, Secret};
use butler_slack::Webhook;
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::world::{PATIENCE, World, card, config, secret, subject};

/// A chat that takes what it is told, after it refused so often.
#[derive(Clone, Default)]
struct Chat {
    told: Arc<Mutex<Vec<Value>>>,
    refuses: Arc<Mutex<u32>>,
}

impl Chat {
    async fn start(&self) -> Webhook {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let address = format!("http://{}/hook", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/hook", post(take))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Webhook::new(Secret::new(address), None).unwrap()
    }

    async fn hears(&self, count: usize) -> Vec<Value> {
        let heard = async {
            while self.told.lock().unwrap().len() < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, heard).await.unwrap();
        self.told.lock().unwrap().clone()
    }
}

async fn take(State(chat): State<Chat>, Json(body): Json<Value>) -> StatusCode {
    let mut refuses = chat.refuses.lock().unwrap();
    if *refuses > 0 {
        *refuses -= 1;
        return StatusCode::BAD_GATEWAY;
    }
    chat.told.lock().unwrap().push(body);
    StatusCode::OK
}

/// The world's hub again, with this webhook.
async fn restart(world: &mut World, webhook: &Webhook) -> (Hub, CancellationToken) {
    world.down().await;
    let port = world.base.port().unwrap();
    let mut config = config(world.dir.path(), ([127, 0, 0, 1], port).into());
    config.outside.webhook = Some(webhook.clone());
    config.reach.public_url = Some("https://team.example/".parse().unwrap());
    let cancel = CancellationToken::new();
    (Hub::start(config, cancel.clone()).await.unwrap(), cancel)
}

async fn stop((hub, cancel): (Hub, CancellationToken)) {
    cancel.cancel();
    timeout(PATIENCE, hub.wait()).await.unwrap();
}

async fn ask(world: &World, words: &str, id: &str) {
    let root = world.say(words, None).await;
    let mut post = world.post("", Some(&root), &format!("card {id}"));
    let plan = subject(DecisionKind::Plan, "Do it");
    card(&world.control(Role::Pm), &mut post, id, &plan).await;
    world.web(Role::Pm).post(&post).await.unwrap();
}

#[tokio::test]
async fn a_webhook_is_told_once_what_newly_waits() {
    let mut world = World::start().await;
    ask(&world, "an old wish", "plan01").await;
    let chat = Chat::default();
    let webhook = chat.start().await;
    // It does not hear of what was there before it: the first look only takes note.
    stop(restart(&mut world, &webhook).await).await;

    // The first call fails and is repeated.
    let running = restart(&mut world, &webhook).await;
    *chat.refuses.lock().unwrap() = 1;
    ask(&world, &format!("a flag for {}", secret()), "plan02").await;
    let told = chat.hears(1).await;
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.contains("The plan is waiting for approval") && text.contains("a flag for"));
    assert!(text.contains("https://team.example/c/"), "{text}");
    assert!(!told[0].to_string().contains(&secret()), "{}", told[0]);
    assert_eq!(told[0]["needs"].as_array().unwrap().len(), 1, "{}", told[0]);
    assert_eq!(told[0]["needs"][0]["kind"], json!("plan"));

    // After a restart only what is new is told.
    stop(running).await;
    let running = restart(&mut world, &webhook).await;
    ask(&world, "another wish", "plan03").await;
    let told = chat.hears(2).await;
    assert!(told[1]["text"].as_str().unwrap().contains("another wish"));
    assert_eq!(told[1]["needs"].as_array().unwrap().len(), 1, "{}", told[1]);
    stop(running).await;
    assert_eq!(chat.told.lock().unwrap().len(), 2);
}
