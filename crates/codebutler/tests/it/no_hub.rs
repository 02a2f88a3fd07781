//! What needs a hub says so when there is none, with what to run.

use crate::{
    running::{Running, line_with},
    scratch::{Scratch, pushed},
};

/// A repo whose hub has run and is gone; and where it was.
fn with_a_dead_hub() -> (Scratch, String) {
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    let args = ["hub", "--listen", "127.0.0.1:0"];
    let mut hub = Running::start(&mut scratch.codebutler(&args));
    let ready = line_with(&hub.out, "ready");
    hub.interrupt();
    let address = ready.trim_start_matches("ready").trim().to_owned();
    (scratch, address)
}

#[test]
fn no_link_leads_to_a_hub_that_does_not_run() {
    let (scratch, address) = with_a_dead_hub();
    let ran = scratch.run(&["link"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
    assert!(ran.err.contains(&address), "{ran:?}");
    assert!(ran.err.contains("codebutler up"), "{ran:?}");
}

#[test]
fn an_agent_says_what_it_waits_for_and_ends_in_silence() {
    let (scratch, address) = with_a_dead_hub();
    let mut agent = Running::start(&mut scratch.codebutler(&["--role", "pm"]));
    let line = line_with(&agent.err, "waiting for the hub");
    assert!(line.contains(&address), "{line}");
    assert!(line.contains("codebutler up"), "{line}");
    let (code, err) = agent.interrupted();
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("error:"), "{err}");
}
