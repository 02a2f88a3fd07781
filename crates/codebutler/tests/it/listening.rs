//! Where a hub listens: on the address that was asked for or not at all, and on
//! this machine alone unless somebody wants it otherwise.

use std::net::TcpListener;

use serde_json::json;

use crate::{
    running::{Running, line_with},
    scratch::{Ran, Scratch},
};

const COMMANDS: [&str; 2] = ["up", "hub"];

fn set_up() -> Scratch {
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:1/v1";
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", url]).code, 0);
    scratch
}

/// Of a process that should refuse; one that does not is ended with the test.
fn refused(scratch: &Scratch, args: &[&str]) -> Ran {
    let (code, out, err) = Running::start(&mut scratch.codebutler(args)).ended_soon();
    Ran { code, out, err }
}

#[test]
fn an_address_that_others_can_reach_needs_a_flag_which_is_named() {
    let scratch = set_up();
    for command in COMMANDS {
        let ran = refused(&scratch, &[command, "--listen", "0.0.0.0:0"]);
        assert_eq!(ran.code, 4, "{command}: {ran:?}");
        assert!(ran.err.contains("0.0.0.0:0"), "{command}: {ran:?}");
        assert!(ran.err.contains("SSH tunnel"), "{command}: {ran:?}");
        assert!(ran.err.contains("--listen-anywhere"), "{command}: {ran:?}");
    }
}

#[test]
fn a_hub_that_listens_anywhere_is_reached_from_here_on_loopback() {
    let scratch = set_up();
    let args = ["hub", "--listen", "0.0.0.0:0", "--listen-anywhere"];
    let hub = Running::start(&mut scratch.codebutler(&args));
    let ready = line_with(&hub.out, "ready");
    assert!(ready.starts_with("ready http://127.0.0.1:"), "{ready}");
    assert_eq!(scratch.run(&["link"]).code, 0);
}

#[test]
fn a_port_that_was_asked_for_and_is_taken_is_an_error_that_names_it() {
    let scratch = set_up();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    for command in COMMANDS {
        let ran = refused(&scratch, &[command, "--listen", &taken]);
        assert_eq!(ran.code, 4, "{command}: {ran:?}");
        assert!(ran.err.contains(&taken), "{command}: {ran:?}");
        assert!(ran.err.contains("--listen"), "{command}: {ran:?}");
    }
}

#[test]
fn a_configured_port_that_is_taken_gives_way_to_the_next() {
    let scratch = set_up();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    scratch.machine(&json!({"hub": {"listen": taken}}).to_string());
    let hub = Running::start(&mut scratch.codebutler(&["hub"]));
    let ready = line_with(&hub.out, "ready");
    assert!(!ready.contains(&taken), "{ready}");
}
