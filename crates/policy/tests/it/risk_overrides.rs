//! Tiers below DESTRUCTIVE, what the policy changes, and what a person is shown.

use butler_policy::{Overrides, RiskContext, assess};
use butler_protocol::Tier;

use crate::risk_corpus::judge;

fn with(json: &str, command: &str) -> Tier {
    let overrides: Overrides = serde_json::from_str(json).unwrap();
    let ctx = RiskContext {
        cwd: "/work/repo/src",
        root: "/work/repo",
        home: "/home/you",
        overrides: &overrides,
    };
    assess(command, &ctx).tier
}

#[test]
fn the_lower_tiers() {
    for (command, tier) in [
        ("ls -la | grep x", Tier::Read),
        ("git status && git log -3", Tier::Read),
        ("cat a b", Tier::Read),
        ("cargo test", Tier::WriteLocal),
        ("echo x > y", Tier::WriteLocal),
        ("sed -i s/a/b/ f", Tier::WriteLocal),
        ("git commit -m x", Tier::WriteLocal),
        ("some-unknown-tool --flag", Tier::WriteLocal),
        ("git push origin feature/x", Tier::WriteVisible),
        ("gh pr create -t x -b y", Tier::WriteVisible),
    ] {
        assert_eq!(judge(command).tier, tier, "{command}");
    }
}

#[test]
fn the_policy_promotes_by_words_and_not_by_text() {
    let policy = r#"{"tool_overrides": {"bash": {"destructive": ["cargo bench", "./scripts/migrate.sh", "just db-*"]}}}"#;
    for command in [
        "cargo bench",
        "cargo --quiet bench --all",
        "ls && cargo bench",
        "sh -c 'cargo bench'",
        "../scripts/migrate.sh --env x",
        "cd .. && scripts/migrate.sh",
        "just db-seed",
    ] {
        assert_eq!(with(policy, command), Tier::Destructive, "{command}");
    }
    for command in [
        "echo cargo bench",
        "cargo test bench",
        "cat scripts/migrate.sh",
        "just test",
    ] {
        assert!(with(policy, command) < Tier::Destructive, "{command}");
    }
}

#[test]
fn the_policy_demotes_exactly_what_it_names() {
    let policy = r#"{"tool_overrides": {"bash": {"safe": ["docker compose up -d", "npm ci", "terraform apply *"]}}}"#;
    for command in [
        "docker compose up -d",
        "npm ci && npm test",
        "terraform apply -auto-approve",
    ] {
        assert!(with(policy, command) < Tier::Destructive, "{command}");
    }
    for command in [
        "docker compose up -d --privileged",
        "docker compose up",
        "npm ci; rm -rf x",
        "npm ci > /etc/x",
        "npm ci $(sudo id)",
        "docker compose $X -d",
    ] {
        assert_eq!(with(policy, command), Tier::Destructive, "{command}");
    }
}

#[test]
fn protected_branches_come_from_the_policy() {
    let policy = r#"{"require_approval": {"git_push_to": ["hot/*"]}}"#;
    assert_eq!(with(policy, "git push origin hot/1"), Tier::Destructive);
    assert_eq!(with(policy, "git push origin cold/1"), Tier::WriteVisible);
}

#[test]
fn the_part_that_caused_it_is_shown() {
    let verdict = judge("cargo test && rm -rf src && ls");
    assert_eq!(verdict.part.as_deref(), Some("rm -rf src"));
    assert!(verdict.reason.contains("recursively"), "{}", verdict.reason);
    let verdict = judge("ls; bash -c 'cd x; sudo make'");
    assert_eq!(verdict.part.as_deref(), Some("sudo make"));
    assert!(!judge("rm -rf x").network && judge("npm install").network);
}
