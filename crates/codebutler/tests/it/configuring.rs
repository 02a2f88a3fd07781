//! `codebutler configure`: what is shown, and what flags change.

use serde_json::{Value, json};

use crate::scratch::{Scratch, pushed};

fn set_up() -> Scratch {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = crate::endpoint::listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    scratch
}

fn shown(scratch: &Scratch) -> Vec<Value> {
    let ran = scratch.run(&["configure", "--show", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn of<'a>(all: &'a [Value], key: &str) -> &'a Value {
    let found = all.iter().find(|one| one["key"] == key);
    found.unwrap_or_else(|| panic!("{key} is not shown: {all:#?}"))
}

#[test]
fn every_value_is_shown_with_where_it_comes_from_and_no_secret() {
    let scratch = set_up();
    let token = ["xoxb", "1", "abcdefghijklmnop"].join("-");
    let app = token.replace("xoxb", "xapp");
    scratch.machine(&format!(
        "{{\n  \"slack\": {{\"botToken\": \"{token}\", \"appToken\": \"{app}\"}},\n  \
         \"models\": {{\"endpoints\": {{\"main\": {{\"kind\": \"generic\",\n    \
         \"baseUrl\": \"http://127.0.0.1:1/v1\", \"apiKey\": \"${{A_KEY}}\"}}}}}}\n}}"
    ));
    let mut command = scratch.codebutler(&["configure", "--show", "--json"]);
    let ran = crate::scratch::ran(command.env("A_KEY", "sesame"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        !ran.out.contains(&token) && !ran.out.contains("sesame"),
        "{ran:?}"
    );
    let all: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(of(&all, "slack.botToken")["value"], "(secret)");
    let key = of(&all, "models.endpoints.main.apiKey");
    assert_eq!(
        (&key["from"], &key["variables"]),
        (&json!("environment"), &json!(["A_KEY"]))
    );
    assert_eq!(of(&all, "limits.maxConcurrentThreads")["from"], "default");
    assert_eq!(of(&all, "slack.channelName")["from"], "file");
    let mut words = scratch.codebutler(&["configure", "--show"]);
    let words = crate::scratch::ran(words.env("A_KEY", "sesame")).out;
    assert!(words.contains("environment A_KEY (set)"), "{words}");
    assert!(!words.contains(&token), "{words}");
}

#[test]
fn flags_change_what_they_name_and_nothing_else() {
    let scratch = set_up();
    let change = |words: &[&str]| {
        let mut all = vec!["configure"];
        all.extend(words);
        let ran = scratch.run(&all);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let before = shown(&scratch);
    change(&["--channel", "other-place", "--check", "lint=sh lint.sh"]);
    let after = shown(&scratch);
    assert_eq!(of(&after, "slack.channelName")["value"], "other-place");
    assert_eq!(of(&after, "checks")["value"]["lint"], "sh lint.sh");
    let model = "models.pm.default";
    assert_eq!(of(&before, model)["value"], of(&after, model)["value"]);
    change(&["--remove-check", "lint"]);
    assert!(
        of(&shown(&scratch), "checks")["value"]
            .get("lint")
            .is_none()
    );
    let missing = scratch.run(&["configure", "--remove-check", "lint"]);
    assert_eq!(missing.code, 4, "{missing:?}");
    let nothing = scratch.run(&["configure"]);
    assert_eq!(nothing.code, 4, "{nothing:?}");
    assert!(nothing.err.contains("--show"), "{nothing:?}");
}

#[test]
fn slack_is_left_for_the_built_in_workspace_and_comments_stay() {
    let scratch = set_up();
    let token = ["xoxb", "1", "abcdefghijklmnop"].join("-");
    let app = token.replace("xoxb", "xapp");
    scratch.machine(&format!(
        "{{\n  // mine\n  \"slack\": {{\"botToken\": \"{token}\", \"appToken\": \"{app}\"}}\n}}"
    ));
    let ran = scratch.run(&["configure", "--built-in-chat"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = std::fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(text.contains("// mine") && !text.contains(&token), "{text}");
}
