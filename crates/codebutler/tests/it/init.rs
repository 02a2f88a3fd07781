//! Setting up: in all kinds of folders, more than once, and never by halves.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    endpoint::{answering, listing, wanting},
    scratch::{Scratch, git, ran},
};

/// The checks and the preparation that init wrote.
fn written(scratch: &Scratch) -> (serde_json::Value, serde_json::Value) {
    let text = scratch.read(".codebutler/config.json");
    let json: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let config: serde_json::Value = serde_json::from_str(&json.join("\n")).unwrap();
    (config["checks"].clone(), config["prepare"].clone())
}

fn mode(scratch: &Scratch, name: &str) -> u32 {
    let file = scratch.home().join(name);
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_empty_repository_is_set_up_and_sound() {
    let scratch = Scratch::new();
    let init = scratch.run(&["init", "--yes"]);
    assert_eq!(init.code, 0, "{init:?}");
    assert!(
        scratch
            .read(".codebutler/config.json")
            .contains("codebutler-app")
    );
    for name in ["pm.md", "coder.md", "global.md", "policy.json"] {
        assert!(
            !scratch.read(&format!(".codebutler/{name}")).is_empty(),
            "{name}"
        );
    }
    for line in [
        "/.codebutler/threads/",
        "/.codebutler/branches/",
        "/.codebutler/images/",
    ] {
        assert!(scratch.read(".gitignore").contains(line), "{line}");
    }
    assert_eq!(
        (mode(&scratch, ""), mode(&scratch, "config.json")),
        (0o700, 0o600)
    );
    assert_eq!(scratch.run(&["validate"]).code, 0);
}

#[test]
fn each_language_gets_its_checks() {
    let cases = [
        (
            "Cargo.toml",
            "[package]\nname = \"x\"\n",
            "cargo test",
            "[]",
        ),
        (
            "package.json",
            r#"{"scripts": {"test": "node --test"}, "dependencies": {"x": "1"}}"#,
            "npm run test",
            r#"["npm install --no-package-lock"]"#,
        ),
        (
            "requirements.txt",
            "pytest\n",
            ".venv/bin/python -m pytest",
            r#"["python3 -m venv .venv",".venv/bin/pip install -r requirements.txt"]"#,
        ),
        ("go.mod", "module x\n", "go test ./...", "[]"),
    ];
    for (file, text, test, prepare) in cases {
        let scratch = Scratch::new();
        scratch.write(file, text);
        let init = scratch.run(&["init", "--yes"]);
        assert_eq!(init.code, 0, "{file}: {init:?}");
        let found = written(&scratch);
        assert_eq!(
            (found.0["test"].as_str(), found.1.to_string()),
            (Some(test), prepare.into())
        );
        assert!(
            init.out.contains(test),
            "{file}: the guess must be shown: {init:?}"
        );
    }
}

/// The person runs it, so what it writes itself is agreed to; what it finds is not.
#[test]
fn what_init_wrote_counts_as_agreed_and_what_came_with_the_clone_does_not() {
    let scratch = Scratch::new();
    scratch.write("requirements.txt", "pytest\n");
    let init = scratch.run(&["init", "--yes"]);
    assert!(init.err.contains("agreed to on this machine:"), "{init:?}");
    assert!(!scratch.run(&["policy"]).out.contains("not agreed to"));
    assert_eq!(scratch.run(&["validate"]).err, "");

    let clone = Scratch::new();
    let theirs = r#"{"prepare": ["sh theirs.sh"], "limits": {"maxCostPerDay": 900}}"#;
    clone.write(".codebutler/config.json", theirs);
    clone.write(".codebutler/policy.json", r#"{"planGate": false}"#);
    let init = clone.run(&["init", "--yes"]);
    assert_eq!(init.code, 0, "{init:?}");
    for said in [
        "sh theirs.sh",
        "$900.00",
        "approved plan",
        "codebutler policy accept",
    ] {
        assert!(init.err.contains(said), "{said}: {init:?}");
    }
    assert!(!init.err.contains("agreed to on this machine:"), "{init:?}");
    let shown = clone.run(&["policy"]).out;
    assert!(
        shown.contains("policy, not agreed to") && !shown.contains("policy, agreed to"),
        "{shown}"
    );
}

#[test]
fn a_subfolder_sets_up_the_whole_repository() {
    let scratch = Scratch::new();
    scratch.write("deep/down/x.txt", "");
    let mut command = scratch.codebutler(&["init", "--yes"]);
    let init = ran(command.current_dir(scratch.root().join("deep/down")));
    assert_eq!(init.code, 0, "{init:?}");
    assert!(scratch.root().join(".codebutler/config.json").exists());
    assert!(!scratch.root().join("deep/down/.codebutler").exists());
}

#[test]
fn a_linked_worktree_sets_up_the_main_one() {
    let scratch = Scratch::new();
    git(
        &scratch.root(),
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    git(
        &scratch.root(),
        &["worktree", "add", "--quiet", "../linked"],
    );
    let mut command = scratch.codebutler(&["init", "--yes"]);
    let init = ran(command.current_dir(scratch.root().join("../linked")));
    assert_eq!(init.code, 0, "{init:?}");
    assert!(scratch.root().join(".codebutler/config.json").exists());
}

#[test]
fn the_second_time_changes_nothing() {
    let scratch = Scratch::new();
    scratch.write(".gitignore", "/target");
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let first = scratch.files();
    let again = scratch.run(&["init", "--yes"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(
        again.out.contains("already set up; nothing was changed"),
        "{again:?}"
    );
    assert_eq!(scratch.files(), first);
}

#[test]
fn the_second_time_does_what_flags_ask_for_and_nothing_else() {
    let scratch = Scratch::new();
    let mine = "// mine\n{\n  \"checks\": { \"test\": \"make test\" },\n  // ours\n  \
                \"limits\": { \"reviewRounds\": 2 },\n  \"models\": {\n    \
                \"pm\": { \"pool\": { \"own\": \"x/own\" } },\n    \
                \"coder\": { \"simple\": \"x/simple\", \"profile\": \"small\" }\n  }\n}\n";
    scratch.write(".codebutler/config.json", mine);
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    assert_eq!(scratch.read(".codebutler/config.json"), mine);
    let before = scratch.files();

    let args = ["--channel", "newname", "--check", "lint=true"];
    let named = scratch.run(&[&["init", "--yes"], &args[..]].concat());
    assert_eq!(named.code, 0, "{named:?}");
    for said in ["wrote ", "newname", "lint = true"] {
        assert!(named.out.contains(said), "{said}: {named:?}");
    }
    assert!(!named.out.contains("already set up"), "{named:?}");
    let config = scratch.read(".codebutler/config.json");
    assert_eq!(
        written(&scratch).0.to_string(),
        r#"{"test":"make test","lint":"true"}"#
    );
    for kept in ["// mine", "// ours", "\"reviewRounds\": 2", "\"newname\""] {
        assert!(config.contains(kept), "{kept}: {config}");
    }

    let url = "http://127.0.0.1:9/v1";
    let model = scratch.run(&["init", "--yes", "--model-url", url, "--model", "bogus"]);
    assert_eq!(model.code, 0, "{model:?}");
    let config = scratch.read(".codebutler/config.json");
    // Thirteen names, and the size of plan that had one of its own.
    assert_eq!(config.matches("\"bogus\"").count(), 14, "{config}");
    for kept in ["x/own", "\"profile\": \"small\"", "\"newname\"", "// ours"] {
        assert!(config.contains(kept), "{kept}: {config}");
    }
    // The remedy that init itself names.
    assert_eq!(scratch.run(&["init", "--yes", "--model", "other"]).code, 0);
    assert!(!scratch.read(".codebutler/config.json").contains("bogus"));
    assert_eq!(scratch.run(&["validate"]).code, 0);
    let again = scratch.run(&["init", "--yes", "--model", "other", "--channel", "newname"]);
    assert!(again.out.contains("nothing was changed"), "{again:?}");
    let files = scratch.files();
    let changed = files.iter().filter(|(path, text)| before[*path] != **text);
    assert_eq!(changed.count(), 2, "the two files of settings");
}

#[test]
fn an_endpoint_keeps_its_key_unless_its_address_changes() {
    let scratch = Scratch::new();
    let machine = || fs::read_to_string(scratch.home().join("config.json")).unwrap();
    let url = "http://127.0.0.1:9/v1";
    scratch.machine(
        &serde_json::json!({"models": {"endpoints": {"gate": {
            "baseUrl": url, "apiKey": "${GATE_KEY}", "price": {"input": 1, "output": 2}}}}})
        .to_string(),
    );
    let run = |args: &[&str]| {
        let mut command = scratch.codebutler(&[&["init", "--yes"], args].concat());
        ran(command.env("GATE_KEY", "old-key").env("MINE", "new-key"))
    };
    let same = run(&["--model-url", url, "--model", "m"]);
    assert_eq!(same.code, 0, "{same:?}");
    assert!(
        machine().contains("${GATE_KEY}") && machine().contains("price"),
        "{}",
        machine()
    );
    let key = run(&["--model-key-env", "MINE"]);
    assert_eq!(key.code, 0, "{key:?}");
    assert!(
        machine().contains("new-key") && machine().contains("price"),
        "{}",
        machine()
    );
    let other = "http://127.0.0.1:10/v1";
    let moved = run(&["--model-url", other, "--model", "m"]);
    assert_eq!(moved.code, 0, "{moved:?}");
    let text = machine();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["models"]["default"], "main");
    assert!(value["models"]["endpoints"]["main"]["apiKey"].is_null());
    assert_eq!(value["models"]["endpoints"]["gate"]["apiKey"], "new-key");
}

#[test]
fn what_a_person_wrote_is_kept() {
    let scratch = Scratch::new();
    let mine = "{ \"checks\": { \"mine\": \"true\" } } // mine\n";
    scratch.write(".codebutler/config.json", mine);
    scratch.write(".codebutler/coder.md", "our own rules\n");
    scratch.write(".gitignore", "a\n\n.codebutler/threads\nb");
    scratch.machine("// also mine\n{}\n");
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    assert_eq!(scratch.read(".codebutler/config.json"), mine);
    assert_eq!(scratch.read(".codebutler/coder.md"), "our own rules\n");
    let ignored = scratch.read(".gitignore");
    assert!(
        ignored.starts_with("a\n\n.codebutler/threads\nb\n"),
        "{ignored}"
    );
    assert_eq!(ignored.matches("threads").count(), 1, "{ignored}");
    assert!(
        ignored.ends_with("/.codebutler/branches/\n/.codebutler/images/\n"),
        "{ignored}"
    );
    let machine = fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert_eq!(machine, "// also mine\n{}\n");
}

#[test]
fn a_part_that_was_deleted_comes_back_and_the_rest_stays() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let before = scratch.files();
    fs::remove_file(scratch.root().join(".codebutler/policy.json")).unwrap();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    assert_eq!(scratch.files(), before);
}

#[test]
fn outside_git_it_says_so_and_writes_nothing() {
    let scratch = Scratch::without_git();
    let before = scratch.files();
    let init = scratch.run(&["init", "--yes"]);
    assert_eq!(init.code, 4, "{init:?}");
    assert!(
        init.err.contains("git repository") && init.err.contains("git init"),
        "{init:?}"
    );
    assert_eq!(scratch.files(), before);
}

#[test]
fn a_bare_repository_is_told_from_none() {
    let scratch = Scratch::without_git();
    git(&scratch.root(), &["init", "--quiet", "--bare"]);
    let init = scratch.run(&["init", "--yes"]);
    assert_eq!(init.code, 4, "{init:?}");
    for part in ["bare repository", "working copy", "git clone"] {
        assert!(init.err.contains(part), "{part}: {init:?}");
    }
    assert!(!init.err.contains("git init"), "{init:?}");
    assert!(!scratch.root().join(".codebutler").exists());
    let doctor = scratch.run(&["doctor"]);
    assert!(doctor.out.contains("bare repository"), "{doctor:?}");
}

#[test]
fn without_a_terminal_it_does_not_hang_on_a_question() {
    let scratch = Scratch::new();
    let init = scratch.run(&["init"]);
    assert_eq!(init.code, 4, "{init:?}");
    assert!(init.err.contains("--yes"), "{init:?}");
    assert!(!scratch.root().join(".codebutler").exists());
}

#[test]
fn flags_answer_the_questions() {
    let scratch = Scratch::new();
    scratch.write("go.mod", "module x\n");
    let args = [
        "init",
        "--yes",
        "--channel",
        "team",
        "--check",
        "all=make all",
        "--check",
        "b=c",
    ];
    assert_eq!(scratch.run(&args).code, 0);
    assert!(scratch.read(".codebutler/config.json").contains("\"team\""));
    assert_eq!(
        written(&scratch).0.to_string(),
        r#"{"all":"make all","b":"c"}"#
    );
    let bad = Scratch::new().run(&["init", "--yes", "--channel", "Not Good"]);
    assert_eq!(bad.code, 4, "{bad:?}");
}

#[test]
fn a_key_goes_into_the_private_file_and_nowhere_else() {
    let scratch = Scratch::new();
    let key = ["sk-", "or-", "0123456789"].concat();
    let mut command = scratch.codebutler(&["init", "--yes"]);
    // Nothing leaves this machine: the key cannot be tried, which is told.
    command.env("HTTPS_PROXY", "http://127.0.0.1:1");
    let init = ran(command.env("OPENROUTER_API_KEY", &key));
    assert_eq!(init.code, 0, "{init:?}");
    assert!(init.err.contains("the team cannot work"), "{init:?}");
    assert!(!format!("{init:?}").contains(&key));
    let holders: Vec<_> = scratch
        .files()
        .into_iter()
        .filter(|(_, text)| text.contains(&key))
        .collect();
    assert_eq!(holders.len(), 1, "{holders:?}");
    assert_eq!(holders[0].0.file_name().unwrap(), "config.json");
    assert_eq!(mode(&scratch, "config.json"), 0o600);
}

#[test]
fn openrouters_key_is_not_sent_to_another_host() {
    let scratch = Scratch::new();
    let url = "http://127.0.0.1:11434/v1";
    let mut command = scratch.codebutler(&["init", "--yes", "--model-url", url]);
    let init = ran(command.env("OPENROUTER_API_KEY", "for-openrouter-only"));
    assert_eq!(init.code, 0, "{init:?}");
    let machine = fs::read_to_string(scratch.home().join("config.json")).unwrap();
    assert!(
        machine.contains(url) && !machine.contains("for-openrouter-only"),
        "{machine}"
    );
    let named = Scratch::new();
    let args = [
        "init",
        "--yes",
        "--model-url",
        url,
        "--model-key-env",
        "MINE",
    ];
    assert_eq!(named.run(&args).code, 4, "the variable is not set");
    let init = ran(named.codebutler(&args).env("MINE", "a-key"));
    assert_eq!(init.code, 0, "{init:?}");
    assert!(
        fs::read_to_string(named.home().join("config.json"))
            .unwrap()
            .contains("a-key")
    );
}

/// A refused key and a model that is not there are not written down.
#[test]
fn a_wrong_answer_by_flag_is_an_error_that_names_it_and_writes_nothing() {
    let key = ["good-", "key"].concat();
    let url = wanting(&key, &["smollm2", "qwen3:8b"]);
    let scratch = Scratch::new();
    let before = scratch.files();
    let run = |args: &[&str], key: &str| {
        let mut args = [&["init", "--yes", "--model-url", &url][..], args].concat();
        args.extend(["--model-key-env", "MINE"]);
        ran(scratch.codebutler(&args).env("MINE", key))
    };
    let refused = run(&[], "bad-key");
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("refuses the key"), "{refused:?}");
    assert_eq!(scratch.files(), before);
    // A provider answers to the names of its list and to no other.
    let paid = Scratch::new();
    let endpoint = serde_json::json!({"kind": "openai", "baseUrl": url, "apiKey": key});
    paid.machine(&serde_json::json!({"models": {"endpoints": {"main": endpoint}}}).to_string());
    let before = paid.files();
    let unknown = paid.run(&["init", "--yes", "--model", "smolm2"]);
    assert_eq!(unknown.code, 4, "{unknown:?}");
    assert!(unknown.err.contains("did you mean smollm2?"), "{unknown:?}");
    assert_eq!(paid.files(), before);
    // A server of one's own may answer to any.
    let own = run(&["--model", "smolm2"], &key);
    assert_eq!(own.code, 0, "{own:?}");
    assert!(own.err.contains("did you mean smollm2?"), "{own:?}");
    let right = run(&["--model", "smollm2"], &key);
    assert_eq!(right.code, 0, "{right:?}");
    assert!(right.out.contains("codebutler up"), "{right:?}");
    // A provider by name, with the key from its usual variable.
    let other = Scratch::new();
    let named = other.run(&["init", "--yes", "--provider", "openai"]);
    assert!(
        named.code == 4 && named.err.contains("OPENAI_API_KEY"),
        "{named:?}"
    );
    let mut ollama = other.codebutler(&["init", "--yes", "--provider", "ollama"]);
    let address = listing(&["only"]);
    let ollama = ran(ollama.env("OLLAMA_HOST", address.trim_end_matches("/v1")));
    assert_eq!(ollama.code, 0, "{ollama:?}");
    assert!(other.read(".codebutler/config.json").contains("\"only\""));
}

#[test]
fn a_bad_address_is_found_before_anything_is_written() {
    let scratch = Scratch::new();
    let before = scratch.files();
    for bad in ["localhost:11434", "notaurl", "ftp://x/v1"] {
        let init = scratch.run(&["init", "--yes", "--model-url", bad]);
        assert_eq!(init.code, 4, "{init:?}");
        for part in ["--model-url", bad, "http://127.0.0.1:11434/v1"] {
            assert!(init.err.contains(part), "{part}: {init:?}");
        }
    }
    let secret = "http://me:secret@127.0.0.1:9/v1";
    let init = scratch.run(&["init", "--yes", "--model-url", secret]);
    assert!(init.code == 4 && !init.err.contains("secret"), "{init:?}");
    assert_eq!(scratch.files(), before);
}

#[test]
fn a_server_that_cannot_be_asked_for_its_models_is_told() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}/v1", closed.local_addr().unwrap());
    drop(closed);
    let locked = answering("401 Unauthorized", "{\"error\": \"no key, no models\"}");
    for (url, reason) in [(&dead, "Connection refused"), (&locked, "no key")] {
        let scratch = Scratch::new();
        let init = scratch.run(&["init", "--yes", "--model-url", url]);
        assert_eq!(init.code, 0, "{init:?}");
        for part in ["warning:", url.as_str(), reason, "init --model NAME"] {
            assert!(init.err.contains(part), "{part}: {init:?}");
        }
    }
}

#[test]
fn an_endpoint_of_its_own_gets_models_that_it_has() {
    let only = listing(&["qwen3:8b"]);
    let two = listing(&["qwen3:8b", "smollm2"]);
    let cases = [
        (&only, None, Some("qwen3:8b")),
        (&two, Some("smollm2"), Some("smollm2")),
        // Nobody said which: the defaults stay, and init says what is to do.
        (&two, None, None),
    ];
    for (url, named, expected) in cases {
        let scratch = Scratch::new();
        let mut args = vec!["init", "--yes", "--model-url", url];
        args.extend(named.iter().flat_map(|name| ["--model", name]));
        let init = scratch.run(&args);
        assert_eq!(init.code, 0, "{init:?}");
        let config = scratch.read(".codebutler/config.json");
        match expected {
            Some(name) => assert_eq!(config.matches(name).count(), 13, "{config}"),
            None => {
                assert!(!config.contains("models"), "{config}");
                assert!(
                    init.err.contains("smollm2") && init.err.contains("init --model NAME"),
                    "{init:?}"
                );
            }
        }
        assert_eq!(scratch.run(&["validate"]).code, 0);
    }
}

#[test]
fn another_repository_on_a_machine_with_its_own_endpoint_gets_models_too() {
    let only = listing(&["qwen3:8b"]);
    let two = listing(&["qwen3:8b", "smollm2"]);
    for (url, expected) in [(&only, true), (&two, false)] {
        let scratch = Scratch::new();
        let first = scratch.run(&["init", "--yes", "--model-url", url, "--model", "qwen3:8b"]);
        assert_eq!(first.code, 0, "{first:?}");
        scratch.write("../second/x", "");
        let second = scratch.root().join("../second");
        git(&second, &["init", "--quiet"]);
        let run = |args: &[&str]| ran(scratch.codebutler(args).current_dir(&second));
        let init = run(&["init", "--yes"]);
        assert_eq!(init.code, 0, "{init:?}");
        let config = || scratch.read("../second/.codebutler/config.json");
        if !expected {
            assert!(!config().contains("models"), "{}", config());
            for part in ["qwen3:8b, smollm2", "codebutler init --model NAME"] {
                assert!(init.err.contains(part), "{part}: {init:?}");
            }
            assert_eq!(run(&["init", "--yes", "--model", "qwen3:8b"]).code, 0);
        }
        assert_eq!(config().matches("qwen3:8b").count(), 13, "{}", config());
    }
}
