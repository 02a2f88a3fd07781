//! A hub and agents of different releases: they work together within the range that both
//! know, and otherwise each of them says which one to update. What another release says
//! is put on the wire by a proxy between real processes.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

use crate::{
    running::{Running, line_with},
    scratch::{Scratch, pushed},
};

/// What this build says, both ways, and what a release says that knows nothing older.
const AGENT: (&str, &str) = ("codebutler=2&oldest=1", "codebutler=9&oldest=9");
const OLD_AGENT: (&str, &str) = ("codebutler=2&oldest=1", "codebutler=0&oldest=0");
const HUB: [(&str, &str); 2] = [
    (r#""protocol":2"#, r#""protocol":9"#),
    (r#""oldest":1"#, r#""oldest":9"#),
];
/// A release before there was a handshake; what it does not say is other words' place.
const SILENT_HUB: [(&str, &str); 2] = [
    (r#""protocol":2"#, r#""protocoI":2"#),
    (r#""oldest":1"#, r#""oldies":1"#),
];

type Words = (String, String);

fn copy(mut from: TcpStream, mut to: TcpStream, changes: &[Words]) {
    let mut piece = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let mut bytes = piece[..length].to_vec();
        for (old, new) in changes {
            let found: Vec<usize> = (0..bytes.len().saturating_sub(old.len() - 1))
                .filter(|at| bytes[*at..].starts_with(old.as_bytes()))
                .collect();
            for at in found {
                bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
            }
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A way to the hub on which these words become others of the same length.
fn between(hub: &str, said: &[(&str, &str)]) -> String {
    let hub = hub
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    // Addresses stand in answers whose length is said.
    let listener = std::iter::repeat_with(|| TcpListener::bind("127.0.0.1:0").unwrap())
        .find(|one| one.local_addr().unwrap().to_string().len() == hub.len())
        .unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let words = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    let mut to_hub = vec![words(&here, &hub)];
    let mut to_client = vec![words(&hub, &here)];
    for (old, new) in said {
        to_hub.push(words(old, new));
        to_client.push(words(old, new));
    }
    let address = format!("http://{here}/");
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(&hub) else {
                return;
            };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (up, down) = (to_hub.clone(), to_client.clone());
            thread::spawn(move || copy(from, to, &up));
            thread::spawn(move || copy(server, client, &down));
        }
    });
    address
}

/// A repo with a hub that runs; and where it is.
fn with_a_hub() -> (Scratch, Running, String) {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = crate::endpoint::listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let args = ["hub", "--listen", "127.0.0.1:0"];
    let hub = Running::start(&mut scratch.codebutler(&args));
    let ready = line_with(&hub.out, "ready");
    let address = ready.trim_start_matches("ready").trim().to_owned();
    (scratch, hub, address)
}

/// Whoever starts now takes this for the hub.
fn remember(scratch: &Scratch, address: &str) {
    fs::write(scratch.home().join("hub/address"), address).unwrap();
}

#[test]
fn the_older_one_of_hub_and_agent_is_named_on_both_sides() {
    let (scratch, _hub, address) = with_a_hub();
    // An agent that knows only what came later: the hub is to be updated.
    remember(&scratch, &between(&address, &[AGENT]));
    let agent = Running::start(&mut scratch.codebutler(&["--role", "coder"]));
    let (code, _, said) = agent.ended();
    assert_ne!(code, 0);
    assert!(
        said.contains("update codebutler where the hub runs"),
        "{said}"
    );
    remember(&scratch, &address);
    let status = scratch.run(&["status"]);
    let told = "update codebutler where the hub runs";
    assert!(status.out.contains(told), "{status:?}");

    // A hub that knows only what came later, and an agent that does not compare itself.
    remember(&scratch, &between(&address, &[OLD_AGENT]));
    let mut up = Running::start(&mut scratch.codebutler(&["up", "--no-open"]));
    let line = line_with(&up.err, "too old for the hub");
    assert!(
        line.contains("update codebutler where this agent runs"),
        "{line}"
    );
    up.interrupt();
    remember(&scratch, &address);
    let status = scratch.run(&["status", "--json"]);
    assert!(status.out.contains("where this agent runs"), "{status:?}");

    // The same, found out by the agent.
    remember(&scratch, &between(&address, &HUB));
    let agent = Running::start(&mut scratch.codebutler(&["--role", "coder"]));
    let (code, _, said) = agent.ended();
    assert_ne!(code, 0);
    assert!(
        said.contains("update codebutler where this agent runs"),
        "{said}"
    );

    // A hub of the first release, and this build: they work together, and nothing is
    // left of what was wrong.
    remember(&scratch, &between(&address, &SILENT_HUB));
    let agent = Running::start(&mut scratch.codebutler(&["--role", "coder"]));
    line_with(&agent.out, "ready");
    remember(&scratch, &address);
    let status = scratch.run(&["status", "--json"]);
    let coder = status.out.split("\"coder\"").nth(1).unwrap();
    let coder = coder.split("\"name\"").next().unwrap();
    assert!(!coder.contains("where this agent runs"), "{coder}");
}
