//! A hostile server: whatever it does is contained, told, and leaks nothing.

use std::time::{Duration, Instant};

use butler_mcp::offered_name;

use crate::world::{World, call, refused, said};

#[tokio::test]
async fn garbage_and_a_flood_of_errors_are_passed_over() {
    let world = World::new();
    for modes in ["garbage", "stderr", "string-ids", "twice", "future"] {
        let server = world.server(modes);
        for word in ["one", "two"] {
            assert_eq!(said(&server, "echo", word).await, word, "{modes}");
        }
        server.end().await;
    }
}

#[tokio::test]
async fn what_a_server_wants_from_us_is_refused() {
    let world = World::new();
    let server = world.server("requests");
    said(&server, "echo", "x").await;
    let told = said(&server, "told", "").await;
    let seen: serde_json::Value = serde_json::from_str(&told).unwrap();
    let answer = |method: &str| {
        let id = format!("s-{method}");
        let mut all = seen.as_array().unwrap().iter();
        all.find(|one| one[0] == id.as_str())
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(answer("ping")[2], serde_json::json!({}), "{told}");
    for method in ["sampling/createMessage", "elicitation/create", "odd/thing"] {
        assert!(answer(method)[1].is_number(), "{method}: {told}");
        assert!(answer(method)[2].is_null(), "{method}: {told}");
    }
    assert!(
        !answer("roots/list")[2].to_string().contains("file:"),
        "{told}"
    );
    server.end().await;
}

#[tokio::test]
async fn floods_and_endless_lines_end_the_talk_not_us() {
    let world = World::new();
    for (modes, why) in [
        ("flood", "flooded"),
        ("long-line", "a line of more than 32 MiB"),
    ] {
        let server = world.server(modes);
        let text = refused(&server, "hang").await;
        assert!(text.contains(why), "{modes}: {text}");
        server.end().await;
    }
    let server = world.server("");
    let text = refused(&server, "huge").await;
    assert!(text.contains("a line of more than 32 MiB"), "{text}");
    assert!(text.len() < 2_000);
    server.end().await;
}

#[tokio::test]
async fn a_crash_in_a_call_is_told_not_repeated_and_the_next_call_starts_it_again() {
    let world = World::new();
    let server = world.server("");
    let text = refused(&server, "crash").await;
    assert!(text.contains("ended before it answered"), "{text}");
    assert!(
        text.contains("code 3") && text.contains("out of luck"),
        "{text}"
    );
    assert!(text.contains("was not repeated"), "{text}");
    assert_eq!(said(&server, "echo", "again").await, "again");
    server.end().await;
}

#[tokio::test]
async fn who_cannot_start_is_given_longer_and_longer_pauses() {
    let world = World::new();
    let server = world.server("exits");
    let text = refused(&server, "echo").await;
    assert!(text.contains("could not be started"), "{text}");
    assert!(text.contains("no configuration found"), "{text}");
    let since = Instant::now();
    refused(&server, "echo").await;
    assert!(since.elapsed() > Duration::from_millis(900), "no pause");
    let mut text = String::new();
    for _ in 0..3 {
        text = refused(&server, "echo").await;
    }
    assert!(text.contains("is started again in"), "{text}");
    let server = world.program(&["no-such-program"], None);
    let text = refused(&server, "echo").await;
    assert!(text.contains("no-such-program"), "{text}");
}

#[tokio::test]
async fn who_says_nothing_is_given_up_after_the_time_for_the_first_byte() {
    let mut world = World::new();
    world.times.first_byte = Duration::from_millis(500);
    let server = world.server("mute");
    let text = refused(&server, "echo").await;
    assert!(text.contains("said nothing"), "{text}");
}

#[tokio::test]
async fn other_descriptions_than_accepted_stop_a_server() {
    let world = World::new();
    for (modes, line) in [
        ("poisoned", "+says it again. First read"),
        ("newer", "+version hostile 2"),
    ] {
        let server = world.accepted(modes).await;
        for _ in 0..2 {
            let text = refused(&server, "echo").await;
            assert!(
                text.contains("was stopped") && text.contains(line),
                "{text}"
            );
        }
    }
    let server = world.accepted("").await;
    assert_eq!(said(&server, "echo", "same").await, "same");
    // And while it runs.
    assert_eq!(said(&server, "change", "").await, "changed");
    let text = refused(&server, "echo").await;
    assert!(text.contains("+says it again. First read"), "{text}");
}

#[tokio::test]
async fn schemas_and_names_are_bounded_and_stay_apart() {
    let world = World::new();
    let server = world.server("collisions+huge-schema");
    let listing = server.listing(Some(World::sandbox())).await.unwrap();
    let mut names: Vec<String> = listing
        .tools
        .iter()
        .map(|tool| offered_name("hostile", &tool.name))
        .collect();
    assert!(
        names.contains(&"mcp__hostile__Bash".to_owned()),
        "{names:?}"
    );
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    let wide = listing
        .tools
        .iter()
        .find(|tool| tool.name == "wide")
        .unwrap();
    assert!(wide.parameters().to_string().len() < 13_000);
    server.end().await;
}

#[tokio::test]
async fn who_ignores_every_end_is_killed_with_its_children() {
    let world = World::new();
    let server = world.server("stubborn");
    said(&server, "echo", "up").await;
    let since = Instant::now();
    server.end().await;
    assert!(since.elapsed() < Duration::from_secs(6));
    let mark = world
        .root()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            cwd.to_string_lossy().contains(&mark)
        });
    assert_eq!(left.count(), 0);
    // Ended, not refused: it can be used again.
    assert!(call(&server, "echo", "x").await.is_ok());
    server.end().await;
}
