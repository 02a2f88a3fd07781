//! Everything that is wrong is told at once, with its place, and without a value.

use butler_config::{Problem, Problems};

use crate::scratch::Scratch;

/// The problems as (file, line, key), and that no secret is in any of them.
fn told(problems: &Problems, secrets: &[String]) -> Vec<(String, usize, String)> {
    let said = format!("{problems} {problems:?}");
    for secret in secrets {
        assert!(!said.contains(secret.as_str()), "a secret was told: {said}");
    }
    let place = |one: &Problem| {
        let parent = one.file.parent().unwrap().file_name().unwrap();
        let place = parent.to_string_lossy().replace(".codebutler", "repo");
        let name = one.file.file_name().unwrap().to_string_lossy();
        (
            format!("{place}/{name}"),
            one.line.unwrap(),
            one.key.clone(),
        )
    };
    for problem in &problems.0 {
        assert!(
            !problem.what.is_empty() && !problem.remedy.is_empty(),
            "{problem:?}"
        );
    }
    problems.0.iter().map(place).collect()
}

/// Assembled here so that no scanner takes it for a real one.
fn secret(name: &str) -> String {
    ["sk-", "or-", "v1-", name, "0123456789abcdef"].concat()
}

#[test]
fn eight_mistakes_are_eight_problems_with_their_lines_and_no_secret() {
    let secrets = ["a", "b", "c", "d"].map(secret);
    let [a, b, c, d] = &secrets;
    let machine = format!(
        "{{\n  // swapped\n  \"slack\": {{\n    \"botToken\": \"{a}\"\n  }},\n\
         \"openruoter\": {{ \"apiKey\": \"{b}\" }},\n\
         \"hub\": {{ \"publicUrl\": \"https://you:{c}@example.org\" }}\n}}\n"
    );
    let repo = format!(
        "{{\n  \"limits\": {{\n    \"maxCostPerDay\": \"{d}\",\n    \"reviewRounds\": 0,\n  }},\n\
         /* two\n lines */\n  \"models\": {{ \"endpoints\": {{ \"x\": \"{d}\" }} }},\n\
         \"slack\": {{ \"channelName\": \"${{NOT_SET}}\" }}\n}}\n"
    );
    let policy = "{\n  \"redaction\": { \"patterns\": [\n    { \"name\": \"x\", \"regex\": \"(\" }\n  ] }\n}\n";
    let scratch = Scratch::new()
        .machine(&machine)
        .repo("config.json", &repo)
        .repo("policy.json", policy);
    let problems = scratch.load().unwrap_err();
    let expected = [
        ("home/config.json", 4, "slack.botToken"),
        ("home/config.json", 6, "openruoter"),
        ("home/config.json", 7, "hub.publicUrl"),
        ("repo/config.json", 3, "limits.maxCostPerDay"),
        ("repo/config.json", 4, "limits.reviewRounds"),
        ("repo/config.json", 8, "models.endpoints"),
        ("repo/config.json", 9, "slack.channelName"),
        ("repo/policy.json", 3, "redaction.patterns[0].regex"),
    ];
    let expected = expected.map(|(file, line, key)| (file.to_owned(), line, key.to_owned()));
    assert_eq!(told(&problems, &secrets), expected, "{problems}");
}

/// One file of the repo, one problem: its line, key, and words of its text.
fn check(file: &str, text: &str, line: usize, key: &str, words: &[&str]) {
    let problems = Scratch::new().repo(file, text).load().unwrap_err();
    let [problem] = problems.0.as_slice() else {
        panic!("not one problem for {text}: {problems}");
    };
    assert_eq!(
        (problem.line, problem.key.as_str()),
        (Some(line), key),
        "{problem}"
    );
    for word in words {
        assert!(
            problem.to_string().contains(word),
            "{word} is not in: {problem}"
        );
    }
}

#[test]
fn each_kind_of_mistake_has_its_remedy() {
    let config = "config.json";
    check(
        config,
        "{\"limits\": {\"maxTurn\": {}}}",
        1,
        "limits.maxTurn",
        &["maxTurns"],
    );
    check(config, "{\n\"zzz\": 1}", 2, "zzz", &["unknown", "limits"]);
    check(
        config,
        "{\"checks\": [\"x\"]}",
        1,
        "checks",
        &["an object", "a list"],
    );
    check(
        config,
        "{\"checks\": {\"test\": 3}}",
        1,
        "checks.test",
        &["a string"],
    );
    check(
        config,
        "{\"journal\": \"rf\"}",
        1,
        "journal",
        &["Did you mean \"ref\""],
    );
    check(
        config,
        "{\"retentionDays\": 0.5}",
        1,
        "retentionDays",
        &["whole number", "a fraction"],
    );
    check(
        config,
        "{\"limits\": {\"maxCostPerDay\": -1}}",
        1,
        "limits.maxCostPerDay",
        &["at least 0"],
    );
    check(
        config,
        "{\"limits\": {\"waitMinutes\": 5000000000}}",
        1,
        "limits.waitMinutes",
        &["at most"],
    );
    check(
        config,
        "{\"prepare\": [],\n\"prepare\": []}",
        2,
        "prepare",
        &["twice"],
    );
    check(config, "[]", 1, "", &["an object"]);
    check(config, "{\n\"prepare\": [}", 2, "", &["not valid JSON"]);
    check(
        config,
        "{\"prepare\": [\"a\", 1]}",
        1,
        "prepare[1]",
        &["a string"],
    );
    check(
        "policy.json",
        "{\"planGate\": \"off\"}",
        1,
        "planGate",
        &["true or false"],
    );
    check(
        "policy.json",
        "{\"require_approval\": {\"git_push_to\": [\"[\"]}}",
        1,
        "require_approval.git_push_to[0]",
        &["glob"],
    );
}

#[test]
fn only_the_machine_names_hosts_keys_and_approvers() {
    let machine = "~/.codebutler/config.json";
    check(
        "config.json",
        "{\"openrouter\": {\"apiKey\": \"x\"}}",
        1,
        "openrouter",
        &[machine],
    );
    check(
        "config.json",
        "{\"slack\": {\"botToken\": \"x\"}}",
        1,
        "slack.botToken",
        &[machine],
    );
    check(
        "config.json",
        "{\"approvers\": [\"U1\"]}",
        1,
        "approvers",
        &[machine],
    );
    check(
        "config.json",
        "{\"models\": {\"default\": \"x\"}}",
        1,
        "models.default",
        &[machine],
    );
    check(
        "config.json",
        "{\"models\": {\"pm\": {\"baseUrl\": \"x\"}}}",
        1,
        "models.pm.baseUrl",
        &[machine],
    );
    check(
        "policy.json",
        "{\"approvers\": [\"U1\"]}",
        1,
        "approvers",
        &[machine],
    );
    check(
        "policy.json",
        "{\"consents\": {}}",
        1,
        "consents",
        &[machine],
    );
}

#[test]
fn endpoints_of_the_machine_must_make_sense_together() {
    let machine = |text: &str, line: usize, key: &str| {
        let problems = Scratch::new().machine(text).load().unwrap_err();
        let found: Vec<_> = problems
            .0
            .iter()
            .map(|one| (one.line, one.key.as_str()))
            .collect();
        assert_eq!(found, [(Some(line), key)], "{problems}");
    };
    machine("{\"models\": {\"default\": \"x\"}}", 1, "models.default");
    machine(
        "{\"models\": {\"endpoints\": {\n\"a\": {\"baseUrl\": \"http://a\", \"roles\": [\"pm\"]},\n\
         \"b\": {\"baseUrl\": \"http://b\", \"roles\": [\"pm\"]}}}}",
        3,
        "models.endpoints.b.roles",
    );
    machine(
        "{\"models\": {\n\"endpoints\": {\"a\": {\"baseUrl\": \"http://a\"}, \"b\": {\"baseUrl\": \"http://b\"}}}}",
        2,
        "models.default",
    );
    machine(
        "{\"models\": {\"endpoints\": {\"a\": {}}}}",
        1,
        "models.endpoints.a.baseUrl",
    );
    machine(
        "{\"models\": {\"endpoints\": {\"a\": {\"baseUrl\": \"ftp://x\"}}}}",
        1,
        "models.endpoints.a.baseUrl",
    );
    machine("{\"hub\": {\"listen\": \"7878\"}}", 1, "hub.listen");
}

#[test]
fn a_folder_without_settings_says_how_to_begin() {
    let dir = tempfile::tempdir().unwrap();
    let env = |name: &str| (name == "HOME").then(|| "/nowhere".to_owned());
    let problems = butler_config::Settings::load(dir.path(), &env).unwrap_err();
    assert!(
        problems.to_string().contains("codebutler init"),
        "{problems}"
    );
}
