//! What a server is for.

use std::time::{Duration, Instant};

use serde_json::Map;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::world::{World, call, refused, said};

#[tokio::test]
async fn tools_are_listed_and_called_and_the_same_program_serves_all() {
    let world = World::new();
    let server = world.server("");
    let listing = server.listing(Some(World::sandbox())).await.unwrap();
    assert_eq!(listing.version, "hostile 1");
    let echo = listing.tools.iter().find(|tool| tool.name == "echo");
    assert!(echo.unwrap().read_only);
    let (one, two) = tokio::join!(said(&server, "echo", "one"), said(&server, "echo", "two"));
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
    let picture = call(&server, "picture", "").await.unwrap();
    assert_eq!(picture.images.len(), 1);
    let fails = call(&server, "fails", "").await.unwrap();
    assert!(!fails.ok && fails.text == "no such thing");
    assert!(refused(&server, "nothing").await.contains("no such tool"));
    // Sent once: it was started once.
    let told = said(&server, "told", "").await;
    assert_eq!(
        told.matches("notifications/initialized").count(),
        1,
        "{told}"
    );
    server.end().await;
}

#[tokio::test]
async fn a_server_sees_its_own_secret_and_nothing_of_ours() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "s").unwrap();
    let server = world.server("");
    let env = said(&server, "env", "").await;
    assert!(env.contains("for this server"), "{env}");
    for ours in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "NEXTEST"] {
        assert!(!env.contains(ours), "{env}");
    }
    let place = said(&server, "place", secret.to_str().unwrap()).await;
    assert!(place.ends_with("False"), "{place}");
    server.end().await;
}

#[tokio::test]
async fn the_newer_era_is_spoken_with_who_refuses_the_handshake() {
    let world = World::new();
    let server = world.server("modern");
    assert_eq!(said(&server, "echo", "hello").await, "hello");
    server.end().await;
    let server = world.server("modern+asks-back");
    let text = refused(&server, "echo").await;
    assert!(text.contains("asks back"), "{text}");
    server.end().await;
}

#[tokio::test]
async fn five_hundred_tools_come_in_pages() {
    let world = World::new();
    let server = world.server("many");
    let listing = server.listing(Some(World::sandbox())).await.unwrap();
    assert_eq!(listing.tools.len(), 500);
    server.end().await;
    let server = world.server("endless");
    let error = server.listing(Some(World::sandbox())).await.unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
    server.end().await;
}

#[tokio::test]
async fn progress_is_told_and_lengthens_the_time() {
    let mut world = World::new();
    world.times.call = Duration::from_millis(900);
    let server = world.server("");
    server.listing(Some(World::sandbox())).await.unwrap();
    let (lines, mut told) = mpsc::channel(16);
    let cancel = CancellationToken::new();
    let sandbox = Some(World::sandbox());
    let answer = server.call("slow", Map::new(), sandbox, &cancel, Some(lines));
    assert_eq!(answer.await.unwrap().text, "done");
    assert_eq!(told.recv().await.unwrap(), "0 of 6: working");
    let text = refused(&server, "hang").await;
    assert!(text.contains("did not answer within"), "{text}");
    server.end().await;
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_there_and_a_late_answer_harms_nobody() {
    let world = World::new();
    let server = world.server("late");
    said(&server, "echo", "up").await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let sandbox = Some(World::sandbox());
    let since = Instant::now();
    let cancelled = {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let calling = server.call("hang", Map::new(), sandbox, &cancel, None);
        let stopping = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stop.cancel();
        };
        tokio::join!(calling, stopping).0
    };
    assert_eq!(cancelled.unwrap_err().to_string(), "stopped");
    assert!(since.elapsed() < Duration::from_secs(5));
    let told = said(&server, "told", "").await;
    assert!(told.contains("notifications/cancelled"), "{told}");
    assert_eq!(said(&server, "echo", "still there").await, "still there");
    server.end().await;
}

#[tokio::test]
async fn texts_are_listed_in_pages_and_read() {
    let world = World::new();
    let server = world.server("texts");
    let (sandbox, cancel) = (Some(World::sandbox()), CancellationToken::new());
    assert!(server.listing(sandbox).await.unwrap().resources);
    let lines = server.resources(sandbox, &cancel).await.unwrap();
    assert_eq!(
        lines,
        [
            "notes://today today, what is due",
            "notes://dot dot, image/png"
        ]
    );
    let today = server
        .read("notes://today", sandbox, &cancel)
        .await
        .unwrap();
    assert!(today.text.contains("milk"), "{today:?}");
    let dot = server.read("notes://dot", sandbox, &cancel).await.unwrap();
    assert_eq!(dot.images.len(), 1);
    let error = server
        .read("notes://no", sandbox, &cancel)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no such text"), "{error}");
    server.end().await;
    let plain = world.server("");
    assert!(!plain.listing(sandbox).await.unwrap().resources);
    assert!(plain.resources(sandbox, &cancel).await.is_err());
    plain.end().await;
}
