//! A cloned repo can tighten at once, and loosen nothing by itself.

use butler_settings::{Agreement, Knowledge, Settings, agree};

use crate::scratch::Scratch;

const LOOSE: &str = r#"{
  "tool_overrides": { "bash": { "destructive": ["make deploy"], "safe": ["docker compose up"] } },
  "planGate": false,
  "knowledge": "direct",
  "network": { "allow": ["example.org"] },
  "sandbox": { "caches": ["~/.cache/x"], "acceptWeaker": true }
}"#;

fn is_strict(settings: &Settings) -> bool {
    let policy = &settings.policy;
    policy.tool_overrides.bash.safe.is_empty()
        && policy.plan_gate.0
        && policy.knowledge == Knowledge::Pr
        && policy.network.allow.is_empty()
        && policy.sandbox.caches.is_empty()
        && !policy.sandbox.accept_weaker
}

fn agree_to(scratch: &Scratch) {
    let loosening = scratch.load().unwrap().loosening.unwrap();
    agree(
        &scratch.home(),
        Agreement::Policy,
        &scratch.root(),
        &loosening.sha256,
    )
    .unwrap();
}

#[test]
fn loosening_has_no_effect_before_consent_and_tightening_has() {
    let settings = Scratch::new().repo("policy.json", LOOSE).load().unwrap();
    assert!(is_strict(&settings));
    assert_eq!(
        settings.policy.tool_overrides.bash.destructive,
        ["make deploy"]
    );
    let loosening = settings.loosening.unwrap();
    assert!(!loosening.agreed);
    assert_eq!(loosening.parts.len(), 6, "{:?}", loosening.parts);
    assert!(
        settings.notices[0]
            .to_string()
            .contains("docker compose up")
    );
}

#[test]
fn consent_is_for_this_policy_in_this_repo() {
    let scratch = Scratch::new().repo("policy.json", LOOSE);
    agree_to(&scratch);
    let settings = scratch.load().unwrap();
    assert!(settings.loosening.unwrap().agreed && !settings.policy.plan_gate.0);
    assert!(settings.notices.is_empty());

    // Another spelling of the same policy is the same policy.
    let respelt = format!("// why not\n{}", LOOSE.replace('\n', " "));
    let scratch = scratch.repo("policy.json", &respelt);
    assert!(scratch.load().unwrap().loosening.unwrap().agreed);

    // One more loosening is another policy.
    let more = LOOSE.replace("docker compose up", "docker run");
    let scratch = scratch.repo("policy.json", &more);
    assert!(is_strict(&scratch.load().unwrap()));

    // The same policy in another repo was not agreed to.
    let other = Scratch::new().repo("policy.json", LOOSE);
    let hash = other.load().unwrap().loosening.unwrap().sha256;
    agree(&other.home(), Agreement::Policy, &scratch.root(), &hash).unwrap();
    assert!(is_strict(&other.load().unwrap()));
}

#[test]
fn a_policy_that_only_tightens_needs_no_consent() {
    let tight =
        r#"{"tool_overrides": {"bash": {"destructive": ["x"]}}, "mcp": {"approval": "always"}}"#;
    let settings = Scratch::new().repo("policy.json", tight).load().unwrap();
    assert!(settings.loosening.is_none() && settings.notices.is_empty());
}

#[test]
fn an_mcp_server_starts_only_as_exactly_what_was_agreed_to() {
    let server = |args: &str| {
        format!(
            r#"{{"servers": {{"x": {{"command": "run", "args": ["{args}"], "env": {{"K": "${{KEY}}"}}}}}}}}"#
        )
    };
    let scratch = Scratch::new()
        .repo("mcp.json", &server("a"))
        .variable("KEY", "one");
    let settings = scratch.load().unwrap();
    assert!(!settings.mcp_agreed("x") && !settings.mcp_agreed("y"));
    let hash = &settings.mcp_offer("x").unwrap().sha256;
    agree(&scratch.home(), Agreement::Mcp, &scratch.root(), hash).unwrap();
    // The key itself is the machine's own; another one needs no new consent.
    let scratch = scratch.variable("KEY", "two");
    let settings = scratch.load().unwrap();
    assert!(settings.mcp_agreed("x"));
    assert_eq!(settings.mcp.servers["x"].env["K"].expose(), "two");
    let scratch = scratch.repo("mcp.json", &server("b"));
    assert!(!scratch.load().unwrap().mcp_agreed("x"));
}

#[test]
fn a_repo_cannot_spend_more_than_the_machine_allows() {
    let scratch = Scratch::new()
        .machine(r#"{"ceilings": {"maxCostPerThread": 2}}"#)
        .repo(
            "config.json",
            r#"{"limits": {"maxCostPerThread": 500, "maxCostPerDay": 600}}"#,
        );
    let limits = scratch.load().unwrap().repo.limits;
    assert_eq!(limits.thread_cap().to_string(), "$2.00");
    assert_eq!(limits.day_cap().to_string(), "$600.00");
}
