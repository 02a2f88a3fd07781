//! `policy explain` and `policy check`: how far a command reaches, by hand.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::json;

use crate::scratch::{Scratch, json_lines, ran};

#[test]
fn a_command_is_explained_also_where_nothing_is_set_up() {
    let scratch = Scratch::without_git();
    let harmless = scratch.run(&["policy", "explain", "ls -la src"]);
    assert!(
        harmless.code == 0 && harmless.out.starts_with("READ\n"),
        "{harmless:?}"
    );
    let heavy = scratch.run(&["policy", "explain", "echo hi && sudo rm -rf /var/lib"]);
    assert!(
        heavy.code == 0 && heavy.out.starts_with("DESTRUCTIVE\n"),
        "{heavy:?}"
    );
    assert!(
        heavy.out.contains("because of: sudo rm -rf /var/lib"),
        "{heavy:?}"
    );
    assert_eq!(
        scratch.run(&["policy", "explain", "--version"]).code,
        0,
        "a word with a dash"
    );
}

#[test]
fn the_line_of_the_table_that_decided_is_shown() {
    let scratch = Scratch::without_git();
    let run = scratch.run(&["policy", "explain", "ls && kubectl delete pod x"]);
    assert!(
        run.out.contains("  by the line: containers.txt:"),
        "{run:?}"
    );
    assert!(run.out.contains(": asks-online: "), "{run:?}");
    let run = scratch.run(&["policy", "explain", "kubectl get pods"]);
    assert!(run.out.contains(": looks-online get|"), "{run:?}");
    assert!(run.out.contains("  it needs the network"), "{run:?}");
    let run = scratch.run(&["policy", "explain", "ls"]);
    assert!(!run.out.contains("by the line"), "{run:?}");
    let asked = "{\"id\":1,\"command\":\"kubectl get pods\"}";
    let run = scratch.fed(&["policy", "check", "--jsonl"], asked);
    assert_eq!(json_lines(&run.out)[0]["network"], true, "{run:?}");
}

#[test]
fn lines_are_judged_one_by_one_and_a_bad_one_does_not_end_the_run() {
    let scratch = Scratch::new();
    let input = concat!(
        "{\"id\":1,\"command\":\"cat README.md\"}\n",
        "{\"id\":\"two\",\"command\":\"git push origin feature\"}\n",
        "nonsense\n",
        "\n",
        "{\"id\":4}\n",
        "{\"id\":5,\"command\":\"rm -rf /\"}",
    );
    let run = scratch.fed(&["policy", "check", "--jsonl"], input);
    assert!(run.code == 0 && run.err.is_empty(), "{run:?}");
    let lines = json_lines(&run.out);
    let tiers: Vec<_> = lines
        .iter()
        .map(|line| (&line["id"], line["tier"].as_str()))
        .collect();
    assert_eq!(
        tiers,
        [
            (&json!(1), Some("READ")),
            (&json!("two"), Some("WRITE_VISIBLE")),
            (&json!(null), None),
            (&json!(4), None),
            (&json!(5), Some("DESTRUCTIVE")),
        ]
    );
    for line in &lines {
        let said = line["reason"].as_str().or(line["error"].as_str());
        assert!(said.is_some_and(|text| !text.is_empty()), "{line}");
    }
    assert!(
        lines[3]["error"].as_str().unwrap().contains("`command`"),
        "{}",
        lines[3]
    );
    assert_eq!(scratch.run(&["policy", "check"]).code, 2);
}

#[test]
fn each_line_is_answered_before_the_next_is_written() {
    let scratch = Scratch::new();
    let mut command = scratch.codebutler(&["policy", "check", "--jsonl"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ask = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for id in 0..3 {
        writeln!(ask, "{}", json!({"id": id, "command": "true"})).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(json_lines(&answer)[0]["id"], id);
    }
    drop(ask);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_policy_of_the_repo_counts_in_it_and_a_broken_one_is_told() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["init", "--yes"]).code, 0);
    let asked = ["policy", "explain", "make migrate"];
    assert!(!scratch.run(&asked).out.starts_with("DESTRUCTIVE"));
    scratch.write(
        ".codebutler/policy.json",
        "{\"tool_overrides\": {\"bash\": {\"destructive\": [\"make migrate\"]}}}",
    );
    let run = scratch.run(&asked);
    assert!(run.out.starts_with("DESTRUCTIVE\n"), "{run:?}");
    scratch.write(".codebutler/policy.json", "{");
    assert_eq!(scratch.run(&asked).code, 3);
}

#[test]
fn the_home_of_the_person_is_never_inside_the_worktree() {
    let scratch = Scratch::without_git();
    // The folder above all: everything would be inside it.
    let in_root = |text: &str| {
        let mut command = scratch.codebutler(&["policy", "explain", text]);
        ran(command.current_dir("/").env("HOME", "/home/you"))
    };
    for text in ["echo key >> ~/.ssh/authorized_keys", "echo x > /etc/hosts"] {
        let run = in_root(text);
        assert!(run.out.starts_with("DESTRUCTIVE\n"), "{text}: {run:?}");
    }
    let run = in_root("echo x > notes.txt");
    assert!(run.out.starts_with("WRITE_LOCAL\n"), "{run:?}");
}
