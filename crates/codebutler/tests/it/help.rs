//! What the binary says about itself.

use std::process::Stdio;

use crate::scratch::Scratch;

#[test]
fn the_version_has_a_number_and_a_commit() {
    let run = Scratch::without_git().run(&["--version"]);
    assert_eq!(run.code, 0);
    let words: Vec<&str> = run.out.split_whitespace().collect();
    assert_eq!(words[..2], ["codebutler", env!("CARGO_PKG_VERSION")]);
    // Without git at build time there is no commit, and that is fine.
    if let [_, _, label, commit] = words[..] {
        assert_eq!(label, "(commit");
        let commit = commit.trim_end_matches(')');
        assert!(
            commit.len() >= 7 && commit.bytes().all(|b| b.is_ascii_hexdigit()),
            "{run:?}"
        );
    }
}

#[test]
fn help_shows_the_commands_in_groups() {
    let run = Scratch::without_git().run(&["-h"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!(run.out);
}

/// Short help is for a look: it fits a terminal of the usual size.
#[test]
fn short_help_fits_a_screen() {
    let scratch = Scratch::without_git();
    let root = scratch.run(&["-h"]).out;
    let listed = root.lines().filter_map(|line| line.strip_prefix("  "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| !name.starts_with('-')).collect();
    assert!(names.contains(&"init") && names.len() > 20, "{names:?}");
    for name in names {
        let help = scratch.run(&[name, "-h"]).out;
        assert!(help.lines().count() <= 24, "{name}:\n{help}");
        assert!(!help.contains("--log-format"), "{name}:\n{help}");
        let wide = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{name}:\n{help}");
    }
    assert!(root.lines().count() <= 56, "{root}");
}

#[test]
fn a_command_can_be_run_for_another_folder() {
    let scratch = Scratch::new();
    let root = scratch.root();
    let root = root.to_str().unwrap();
    let elsewhere = |args: &[&str]| {
        let mut command = scratch.codebutler(args);
        crate::scratch::ran(command.current_dir("/"))
    };
    assert_eq!(elsewhere(&["init", "--yes"]).code, 4);
    assert_eq!(elsewhere(&["-C", root, "init", "--yes"]).code, 0);
    assert_eq!(elsewhere(&["validate", "-C", root]).code, 0);
    let nowhere = elsewhere(&["-C", "/no/such/folder", "validate"]);
    assert!(
        nowhere.code == 4 && nowhere.err.contains("/no/such/folder"),
        "{nowhere:?}"
    );
}

#[test]
fn every_command_has_help_and_an_unknown_one_is_a_usage_error() {
    let scratch = Scratch::without_git();
    let names = "init configure start stop restart status uninstall backup restore doctor validate slack link threads pr skill roles prompt roadmap policy redact tool model rehearsal schema completions";
    for name in names.split(' ') {
        let run = scratch.run(&[name, "--help"]);
        assert!(
            run.code == 0 && run.out.contains("Usage:"),
            "{name}: {run:?}"
        );
        assert_eq!(scratch.run(&["help", name]).out, run.out);
    }
    let run = scratch.run(&["inti"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains("init"),
        "the nearest command is named: {run:?}"
    );
    assert_eq!(scratch.run(&[]).code, 2);
}

#[test]
fn schemas_are_json_and_completions_name_our_commands() {
    let scratch = Scratch::without_git();
    for name in ["machine", "repo", "policy"] {
        let run = scratch.run(&["schema", name]);
        let schema: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert!(schema["properties"].is_object(), "{name}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let run = scratch.run(&["completions", shell]);
        assert!(run.code == 0 && run.out.contains("validate"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::without_git();
    let mut command = scratch.codebutler(&["schema", "repo"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_option_of_every_command_may_stand_before_it() {
    let scratch = Scratch::without_git();
    for args in [
        ["--log-format", "json", "schema", "repo"],
        ["schema", "repo", "--log-format", "json"],
    ] {
        let run = scratch.run(&args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
    }
    let nothing = scratch.run(&["--log-format", "json"]);
    assert!(
        nothing.code == 2 && nothing.err.contains("no command"),
        "{nothing:?}"
    );
    let both = scratch.run(&["--role", "coder", "schema", "repo"]);
    assert!(both.code == 2 && both.err.contains("--role"), "{both:?}");
}

#[test]
fn roles_are_completed_and_a_wrong_one_shows_them() {
    let scratch = Scratch::without_git();
    let bash = scratch.run(&["completions", "bash"]).out;
    let exec = &bash[bash
        .find("codebutler__exec)")
        .or(bash.find("codebutler__subcmd__exec)"))
        .unwrap()..];
    let role = &exec[exec.find("--role)").unwrap()..];
    let role = &role[..role.find(";;").unwrap()];
    assert!(role.contains("pm coder reviewer"), "{role}");
    for args in [&["--role", "codre"][..], &["exec", "--role", "codre", "x"]] {
        let run = scratch.run(args);
        assert!(run.code == 2 && run.err.contains("reviewer"), "{run:?}");
    }
    let shouted = scratch.run(&["exec", "--role", "CODER", "x"]);
    assert_eq!(shouted.code, 4, "only the model is missing: {shouted:?}");
}
