//! `doctor` looks, says how to fix, and tells scripts by its exit code.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::{
    endpoint::{answering, listing},
    scratch::{Scratch, git, pushed, ran},
};

fn level(json: &str, name: &str) -> String {
    let findings: Vec<serde_json::Value> = serde_json::from_str(json).unwrap();
    let found = findings.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {json}"))["level"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_repo_that_is_not_set_up_fails_with_the_fix() {
    let run = Scratch::new().run(&["doctor"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.out.contains("failed   configuration") && run.out.contains("codebutler init"),
        "{run:?}"
    );
    let outside = Scratch::without_git().run(&["doctor"]);
    assert_eq!(outside.code, 5, "{outside:?}");
    assert!(outside.out.contains("git init"), "{outside:?}");
}

#[test]
fn a_repo_in_order_passes() {
    let scratch = Scratch::new();
    scratch.write("Makefile", "test:\n\ttrue\n");
    git(&scratch.root(), &["add", "."]);
    git(&scratch.root(), &["commit", "--quiet", "-m", "first"]);
    git(
        &scratch.root(),
        &["init", "--quiet", "--bare", "../bare.git"],
    );
    git(&scratch.root(), &["remote", "add", "origin", "../bare.git"]);
    git(&scratch.root(), &["push", "--quiet", "origin", "main"]);
    let url = listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    for name in [
        "git",
        "remote",
        "default branch",
        "configuration",
        "checks",
        "model endpoint",
        "models",
        "clock",
    ] {
        assert_eq!(level(&run.out, name), "ok", "{name}: {run:?}");
    }
    assert!(run.out.contains("`make test` passed"), "{run:?}");
    let quick = scratch.run(&["doctor", "--quick"]);
    assert!(quick.out.contains("checks: test, not run"), "{quick:?}");
}

/// The repo's own commands are run, so what cannot work is found before a thread is.
#[test]
fn commands_that_cannot_work_are_found_with_their_fix() {
    let url = listing(&["qwen3:8b"]);
    for (config, name, expected, words) in [
        (
            json!({"checks": {"lint": "no-such-linter ."}}),
            "checks",
            "failed",
            "no-such-linter",
        ),
        (
            json!({"checks": {"test": "echo 3 wrong; exit 1"}}),
            "checks",
            "warning",
            "3 wrong",
        ),
        (
            json!({"checks": {"test": "true"}, "prepare": ["exit 3"]}),
            "prepare",
            "failed",
            "exit 3",
        ),
    ] {
        let scratch = Scratch::new();
        pushed(&scratch.root());
        let args = ["init", "--yes", "--model-url", &url, "--model", "qwen3:8b"];
        assert_eq!(scratch.run(&args).code, 0);
        let models = scratch.read(".codebutler/config.json");
        let models = models.lines().filter(|line| !line.starts_with("//"));
        let mut written: serde_json::Value =
            serde_json::from_str(&models.collect::<String>()).unwrap();
        for (key, value) in config.as_object().unwrap() {
            written[key] = value.clone();
        }
        scratch.write(".codebutler/config.json", &written.to_string());
        let shown = scratch.run(&["policy"]).out;
        if let Some(hash) = shown.strip_prefix("policy, not agreed to, ") {
            let hash = hash.split_whitespace().next().unwrap();
            let agreed = scratch.run(&["policy", "accept", "--hash", hash]);
            assert_eq!(agreed.code, 0, "{agreed:?}");
        }
        let run = scratch.run(&["doctor", "--json"]);
        assert_eq!(level(&run.out, name), expected, "{run:?}");
        assert!(run.out.contains(words), "{words}: {run:?}");
        assert_eq!(run.code == 5, expected == "failed", "{run:?}");
    }
}

/// What the team's git does otherwise than the person's is said before somebody wonders.
#[test]
fn a_fork_and_signed_commits_are_spoken_of() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let plain = scratch.run(&["doctor", "--quick", "--json"]);
    assert!(!plain.out.contains("\"signing\""), "{plain:?}");
    let upstream = ["remote", "add", "upstream", "/nowhere/original.git"];
    git(&scratch.root(), &upstream);
    git(&scratch.root(), &["config", "commit.gpgsign", "true"]);
    let run = scratch.run(&["doctor", "--quick", "--json"]);
    assert_eq!(level(&run.out, "fork"), "warning");
    assert_eq!(level(&run.out, "signing"), "warning");
    assert!(run.out.contains("made and merged in `origin`"), "{run:?}");
}

/// Nobody would be answered: no model is chosen, it is misspelt, a page talks.
#[test]
fn models_that_would_not_answer_fail_and_those_nobody_chose_are_not_spoken_of() {
    let two = listing(&["qwen3:8b", "smollm2"]);
    let page = answering("200 OK", "<html><body>It works!</body></html>");
    let scratch = Scratch::new();
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &two]).code, 0);
    let run = scratch.run(&["doctor", "--quick"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.out
            .contains("nobody has chosen a model of it yet; it has qwen3:8b, smollm2")
    );
    assert_eq!(
        run.out.matches("models:").count(),
        1,
        "once for all roles: {run:?}"
    );
    let args = ["init", "--yes", "--untried", "--model", "smolm2"];
    assert_eq!(scratch.run(&args).code, 0);
    let run = scratch.run(&["doctor", "--quick"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.out.contains("did you mean smollm2?"), "{run:?}");
    assert_eq!(
        scratch.run(&["init", "--yes", "--model", "smollm2"]).code,
        0
    );
    let run = scratch.run(&["doctor", "--quick"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        !run.out.contains("anthropic/") && !run.out.contains("openai/"),
        "{run:?}"
    );
    let run = doctor_with(&endpoint("generic", &page, ""));
    assert_eq!(
        (run.code, &*level(&run.out, "models")),
        (5, "failed"),
        "{run:?}"
    );
    assert!(run.out.contains("web page"), "{run:?}");
}

#[test]
fn what_is_safe_is_fixed_when_asked_for() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let file = scratch.home().join("config.json");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(scratch.home(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let run = scratch.run(&["doctor", "--quick"]);
    assert_eq!(
        (run.code, mode(&file)),
        (5, 0o644),
        "looking changes nothing: {run:?}"
    );
    assert!(run.out.contains("chmod 600"), "{run:?}");
    let run = scratch.run(&["doctor", "--quick", "--fix"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!((mode(&scratch.home()), mode(&file)), (0o700, 0o600));
}

#[test]
fn problems_of_the_configuration_are_findings_with_their_place() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    scratch.write(".codebutler/config.json", "{\n\"journal\": 1}");
    let run = scratch.run(&["doctor"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.out.contains("config.json:2: journal"), "{run:?}");
}

#[test]
fn an_open_machine_folder_is_a_warning() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    fs::set_permissions(scratch.home(), fs::Permissions::from_mode(0o755)).unwrap();
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(
        (run.code, level(&run.out, "machine folder").as_str()),
        (0, "warning"),
        "{run:?}"
    );
}

/// Set up, with a machine that has these models and nothing else.
fn doctor_with(models: &serde_json::Value) -> crate::scratch::Ran {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    scratch.machine(&models.to_string());
    scratch.run(&["doctor", "--json"])
}

fn endpoint(kind: &str, url: &str, key: &str) -> serde_json::Value {
    let endpoint = json!({"kind": kind, "baseUrl": url, "apiKey": key});
    json!({"models": {"endpoints": {"main": endpoint}}})
}

#[test]
fn a_machine_without_a_model_fails() {
    let lists = listing(&["qwen3:8b"]);
    let one_role = json!({"kind": "generic", "baseUrl": lists, "roles": ["pm"]});
    for (models, words) in [
        (json!({}), "none for pm, coder"),
        (json!({"openrouter": {"apiKey": ""}}), "none for pm, coder"),
        (endpoint("openrouter", &lists, ""), "main has no key"),
        (endpoint("openai", &lists, " "), "main has no key"),
        (
            json!({"models": {"endpoints": {"main": one_role}}}),
            "none for coder, reviewer",
        ),
    ] {
        let run = doctor_with(&models);
        assert_eq!(run.code, 5, "{models}: {run:?}");
        assert_eq!(level(&run.out, "model endpoint"), "failed", "{run:?}");
        assert!(run.out.contains(words), "{models}: {run:?}");
    }
}

#[test]
fn an_endpoint_that_does_not_answer_or_refuses_us_fails_and_one_without_a_list_does_not() {
    let down = "http://127.0.0.1:1/v1".to_owned();
    let refuses = answering("401 Unauthorized", "{}");
    let listless = answering("404 Not Found", "{}");
    let busy = answering("503 Service Unavailable", "{}");
    for (url, code, expected) in [
        (&down, 5, "failed"),
        (&refuses, 5, "failed"),
        (&listless, 0, "warning"),
        (&busy, 0, "warning"),
    ] {
        let run = doctor_with(&endpoint("generic", url, ""));
        assert_eq!(run.code, code, "{url}: {run:?}");
        assert_eq!(level(&run.out, "models"), expected, "{url}: {run:?}");
        assert!(run.out.contains("main"), "{url}: {run:?}");
    }
}

#[test]
fn a_github_remote_needs_gh_and_proxies_are_shown_without_their_password() {
    let scratch = Scratch::new();
    git(
        &scratch.root(),
        &["remote", "add", "origin", "git@github.com:you/app.git"],
    );
    // Known, so that nobody is asked.
    let head = "refs/remotes/origin/HEAD";
    git(
        &scratch.root(),
        &["symbolic-ref", head, "refs/remotes/origin/main"],
    );
    let mut command = scratch.codebutler(&["doctor", "--json"]);
    // A folder with git alone, so that no gh of the tester's machine is found.
    let tools = scratch.home();
    fs::create_dir_all(&tools).unwrap();
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .find(|dir| dir.join("git").exists());
    std::os::unix::fs::symlink(found.unwrap().join("git"), tools.join("git")).unwrap();
    command
        .env("PATH", &tools)
        .env("HTTPS_PROXY", "http://you:hidden@proxy:3128");
    let run = ran(&mut command);
    assert_eq!(level(&run.out, "gh"), "failed", "{run:?}");
    assert_eq!(level(&run.out, "git"), "ok", "{run:?}");
    assert!(
        run.out.contains("proxy:3128") && !run.out.contains("hidden"),
        "{run:?}"
    );
}

#[test]
fn the_sandbox_attacks_itself_and_says_how_it_went() {
    let run = Scratch::new().run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "sandbox"), "ok", "{run:?}");
    assert!(run.out.contains("attacks refused"), "{run:?}");
    assert_eq!(level(&run.out, "limits"), "ok", "{run:?}");
    let told = ["in a control group", "the kernel keeps none: "];
    assert!(told.iter().any(|words| run.out.contains(words)), "{run:?}");
}

/// What agents cannot start without is asked the way they ask it.
#[test]
fn a_remote_without_a_default_branch_is_found_before_the_agents_find_it() {
    let scratch = Scratch::new();
    let root = scratch.root();
    git(
        &root,
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    git(&root, &["init", "--quiet", "--bare", "../bare.git"]);
    git(&root, &["remote", "add", "origin", "../bare.git"]);
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "default branch"), "failed", "{run:?}");
    let words = scratch.run(&["doctor"]).out;
    assert!(words.contains("agents cannot start without it"), "{words}");
    // Two that are not usual: nobody can tell which.
    git(
        &root,
        &["push", "--quiet", "origin", "main:one", "main:two"],
    );
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "default branch"), "failed", "{run:?}");
    git(&root, &["push", "--quiet", "origin", "main:trunk"]);
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "default branch"), "ok", "{run:?}");
    assert!(run.out.contains("\"trunk\""), "{run:?}");
}

#[test]
fn a_store_of_a_newer_build_and_a_port_that_is_taken_are_found() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    scratch.machine(&json!({"hub": {"listen": listen}}).to_string());
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "port"), "warning", "{run:?}");
    assert!(
        !run.out.contains("\"store\""),
        "nothing is made by looking: {run:?}"
    );
    assert_eq!(scratch.run(&["hub", "tokens"]).code, 0);
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "store"), "ok", "{run:?}");
    let store = rusqlite::Connection::open(scratch.home().join("hub/hub.sqlite3")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    let run = scratch.run(&["doctor", "--json"]);
    assert_eq!(level(&run.out, "store"), "failed", "{run:?}");
    assert!(run.out.contains("newer codebutler"), "{run:?}");
}
