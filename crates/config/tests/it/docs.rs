//! The reference page and the schemas in `docs/` are what the types say. Run
//! with `UPDATE_DOCS=1` to write them anew.

use std::{env, fs, path::Path};

use butler_config::{SchemaName, reference, schema};

fn check(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == text,
        "docs/{name} is not up to date: run UPDATE_DOCS=1 cargo test -p butler-config"
    );
}

#[test]
fn the_reference_is_up_to_date() {
    check("configuration.md", &reference());
}

#[test]
fn the_schemas_are_up_to_date() {
    for name in SchemaName::ALL {
        let text = format!("{:#}\n", schema(name));
        check(&format!("schemas/{}.json", name.as_str()), &text);
    }
}

#[test]
fn every_key_of_the_design_is_in_the_reference() {
    let page = reference();
    for key in [
        "slack.channelID",
        "slack.channelName",
        "slack.respondTo",
        "models.pm.default",
        "models.pm.pool",
        "models.pm.fallbackModel",
        "models.coder.model",
        "models.coder.simple",
        "models.coder.medium",
        "models.coder.complex",
        "models.coder.fallbackModel",
        "models.coder.profile",
        "models.reviewer.firstPass",
        "models.reviewer.twoPass",
        "models.artist.uxModel",
        "limits.maxConcurrentThreads",
        "limits.maxCallsPerHour",
        "limits.maxCostPerThread",
        "limits.maxCostPerDay",
        "limits.maxCallsPerPersonHour",
        "limits.allowedUsers",
        "limits.maxTurns.pm",
        "limits.reviewRounds",
        "limits.maxExchanges",
        "limits.waitMinutes",
        "checks",
        "prepare",
        "language.repo",
        "language.reply",
        "journal",
        "retentionDays",
        "research.maxAgeDays",
        "tool_overrides.bash.destructive",
        "tool_overrides.bash.safe",
        "require_approval.git_push_to",
        "require_approval.create_pr_to",
        "planGate",
        "knowledge",
        "redaction.patterns[].regex",
        "sandbox.acceptWeaker",
        "hub.publicUrl",
        "models.endpoints.<name>.apiKey",
        "approvers",
    ] {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}
