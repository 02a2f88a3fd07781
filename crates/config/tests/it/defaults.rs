//! What holds when nobody said anything.

use butler_config::{RespondTo, Settings};
use butler_protocol::{Complexity, Role};

use crate::scratch::Scratch;

fn load(config: &str) -> Settings {
    Scratch::new().repo("config.json", config).load().unwrap()
}

#[test]
fn an_empty_repo_gets_the_documented_defaults() {
    for text in [
        "{}",
        "",
        "// nothing\n",
        "\u{feff}{ }",
        "{\"$schema\": \"x\",}",
    ] {
        let settings = load(text);
        let limits = &settings.repo.limits;
        assert_eq!(limits.max_concurrent_threads, 3, "{text:?}");
        assert_eq!(limits.max_calls_per_hour, 1000);
        assert_eq!(limits.thread_cap().to_string(), "$5.00");
        assert_eq!(limits.day_cap().to_string(), "$25.00");
        assert_eq!(
            (
                limits.review_rounds,
                limits.max_exchanges,
                limits.wait_minutes
            ),
            (3, 40, 10)
        );
        assert_eq!(
            limits.max_turns.of(Role::Coder),
            Role::Coder.default_turns()
        );
        assert_eq!(settings.repo.slack.respond_to, RespondTo::All);
        assert_eq!(settings.repo.retention_days.0, 90);
        assert!(settings.policy.plan_gate.0);
        assert_eq!(settings.machine.hub.listen.to_string(), "127.0.0.1:7878");
    }
}

#[test]
fn no_default_model_is_one_that_is_retired_or_misspelt() {
    let settings = load("{}");
    let models = &settings.repo.models;
    let mut all: Vec<String> = Role::ALL
        .into_iter()
        .flat_map(|role| {
            let choice = models.of(role);
            [Some(choice.model), choice.fallback]
        })
        .flatten()
        .collect();
    all.extend(models.pm.pool.values().cloned());
    let levels = [Complexity::Simple, Complexity::Medium, Complexity::Complex];
    all.extend(levels.map(|level| models.coder.for_complexity(level).to_owned()));
    for model in &all {
        assert!(model.contains('/'), "{model} names no vendor");
        for dead in [
            "kimi-k2",
            "claude-opus-4-6",
            "claude-sonnet-4",
            "gpt-4o-mini",
        ] {
            let is_dead = model.ends_with(dead) || model.contains(&format!("{dead}-"));
            assert!(!is_dead, "{model}");
        }
    }
}

#[test]
fn the_coders_model_follows_the_plan_unless_one_is_named_for_all() {
    let model = |config: &str, level| {
        let settings = load(config);
        settings.repo.models.coder.for_complexity(level).to_owned()
    };
    let (simple, complex) = (Complexity::Simple, Complexity::Complex);
    assert_ne!(model("{}", simple), model("{}", complex));
    let one = r#"{"models": {"coder": {"model": "x/one"}}}"#;
    assert_eq!(
        (model(one, simple), model(one, complex)),
        ("x/one".into(), "x/one".into())
    );
    let two = r#"{"models": {"coder": {"default": "x/one", "complex": "x/two"}}}"#;
    assert_eq!(
        (model(two, simple), model(two, complex)),
        ("x/one".into(), "x/two".into())
    );
}

#[test]
fn checks_keep_the_order_of_the_file() {
    let settings = load(r#"{"checks": {"zeta": "z", "alpha": "a", "mid": "m"}}"#);
    let checks = settings.repo.checks();
    let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["zeta", "alpha", "mid"]);
}
