//! Setting up: in all kinds of folders, more than once, and never by halves.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    endpoint::listing,
    scratch::{Scratch, git, ran},
};

/// The checks and the preparation that init wrote.
fn written(scratch: &Scratch) -> (serde_json::Value, serde_json::Value) {
    let text = scratch.read(".codebutler/config.json");
    let json: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("//"))
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
    for name in ["pm.md", "coder.md", "global.md", "policy.json", "mcp.json"] {
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
            r#"["npm install"]"#,
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
    let again = scratch.run(&["init", "--yes", "--channel", "other"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.out.contains("already set up"), "{again:?}");
    assert_eq!(scratch.files(), first);
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
    let init = ran(command.env("OPENROUTER_API_KEY", &key));
    assert_eq!(init.code, 0, "{init:?}");
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

#[test]
fn a_bad_address_is_found_before_anything_is_written() {
    let scratch = Scratch::new();
    let before = scratch.files();
    let init = scratch.run(&["init", "--yes", "--model-url", "localhost:11434"]);
    assert_eq!(init.code, 3, "{init:?}");
    assert_eq!(scratch.files(), before);
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
                assert!(init.out.contains("--model"), "{init:?}");
            }
        }
        assert_eq!(scratch.run(&["validate"]).code, 0);
    }
}
