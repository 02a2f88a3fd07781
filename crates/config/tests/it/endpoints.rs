//! Which endpoint answers for a role, and that keys stay with their hosts.

use butler_config::{EndpointKind, Settings};
use butler_protocol::Role;

use crate::scratch::Scratch;

fn load(machine: &str) -> Settings {
    Scratch::new().machine(machine).load().unwrap()
}

fn answers(settings: &Settings, role: Role) -> Option<String> {
    settings.machine.endpoint_for(role).map(|(name, _)| name)
}

#[test]
fn the_short_form_is_openrouter_with_its_own_host() {
    let settings = load(r#"{"openrouter": {"apiKey": "k1"}, "openai": {"apiKey": "k2"}}"#);
    let (name, endpoint) = settings.machine.endpoint_for(Role::Coder).unwrap();
    assert_eq!(
        (name.as_str(), endpoint.kind),
        ("openrouter", EndpointKind::OpenRouter)
    );
    assert!(endpoint.base_url.starts_with("https://openrouter.ai/"));
    assert_eq!(endpoint.api_key.unwrap().expose(), "k1");
    let (_, media) = settings.machine.media_endpoint().unwrap();
    assert!(media.base_url.starts_with("https://api.openai.com/"));
    assert_eq!(settings.machine.secrets().len(), 2);
}

#[test]
fn a_named_role_wins_then_the_default_then_the_only_one() {
    let settings = load(
        r#"{"models": {"default": "far", "endpoints": {
            "near": {"baseUrl": "http://127.0.0.1:11434/v1", "roles": ["pm", "researcher"]},
            "far": {"baseUrl": "https://example.org/v1", "apiKey": "k", "headers": {"X-Team": "h"}}}}}"#,
    );
    assert_eq!(answers(&settings, Role::Pm).as_deref(), Some("near"));
    assert_eq!(answers(&settings, Role::Coder).as_deref(), Some("far"));
    assert_eq!(settings.machine.secrets().len(), 2);
    let only = load(r#"{"models": {"endpoints": {"x": {"baseUrl": "http://localhost:1/v1"}}}}"#);
    assert_eq!(answers(&only, Role::Lead).as_deref(), Some("x"));
    assert_eq!(answers(&load("{}"), Role::Pm), None);
}

#[test]
fn an_empty_key_is_no_key() {
    for empty in ["", " "] {
        let short = load(&format!(r#"{{"openrouter": {{"apiKey": "{empty}"}}}}"#));
        assert_eq!(answers(&short, Role::Pm), None, "{empty:?}");
        let written = load(&format!(
            r#"{{"models": {{"endpoints": {{"x": {{"baseUrl": "http://localhost:1/v1", "apiKey": "{empty}"}}}}}}}}"#
        ));
        let (_, endpoint) = written.machine.endpoint_for(Role::Pm).unwrap();
        assert!(endpoint.api_key.is_none(), "{empty:?}");
    }
}

#[test]
fn a_key_that_travels_in_the_clear_is_worth_a_word() {
    let with = |address: &str| {
        let text = format!(
            r#"{{"models": {{"endpoints": {{"x": {{"baseUrl": "{address}", "apiKey": "k"}}}}}}}}"#
        );
        load(&text).notices.len()
    };
    assert_eq!(with("http://gateway.example.org/v1"), 1);
    for fine in [
        "https://example.org/v1",
        "http://127.0.0.1:1/v1",
        "http://[::1]:1/v1",
        "http://localhost/v1",
    ] {
        assert_eq!(with(fine), 0, "{fine}");
    }
}

#[test]
fn keys_come_from_the_environment_and_never_show() {
    let scratch = Scratch::new()
        .machine(r#"{"openrouter": {"apiKey": "${MY_KEY}"}}"#)
        .variable("MY_KEY", "quote\"d and ${MORE}");
    let settings = scratch.load().unwrap();
    let key = settings.machine.openrouter.api_key.clone().unwrap();
    assert_eq!(key.expose(), "quote\"d and ${MORE}");
    assert!(!format!("{settings:?}").contains("quote"));
}
