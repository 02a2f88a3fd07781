//! `tool`: tools by hand, with the checks of an activation.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::scratch::{Scratch, json_lines};

#[test]
fn one_call_runs_in_the_current_folder() {
    let scratch = Scratch::without_git();
    scratch.write("hello.txt", "good morning\n");
    let read = scratch.run(&["tool", "Read", r#"{"path": "hello.txt"}"#]);
    assert!(
        read.code == 0 && read.out.contains("good morning"),
        "{read:?}"
    );
    let written = scratch.run(&["tool", "Write", r#"{"path": "new.txt", "content": "x\n"}"#]);
    assert!(
        written.code == 0 && scratch.read("new.txt") == "x\n",
        "{written:?}"
    );
    let shell = scratch.run(&[
        "tool",
        "Bash",
        r#"{"command": "cat hello.txt | tr a-z A-Z"}"#,
    ]);
    assert!(
        shell.code == 0 && shell.out.contains("GOOD MORNING"),
        "{shell:?}"
    );
    let missing = scratch.run(&["tool", "Read", r#"{"path": "nowhere.txt"}"#]);
    assert!(
        missing.code == 5 && missing.out.contains("nowhere.txt"),
        "{missing:?}"
    );
}

#[test]
fn rights_risk_and_sandbox_are_those_of_an_agent() {
    let scratch = Scratch::without_git();
    scratch.write("keep/me.txt", "still here\n");
    let write = r#"{"path": "new.txt", "content": "x"}"#;
    let reviewer = scratch.run(&["tool", "Write", write, "--role", "reviewer"]);
    assert!(
        reviewer.code == 5 && reviewer.out.contains("Reviewer may not use Write"),
        "{reviewer:?}"
    );
    let destructive = scratch.run(&["tool", "Bash", r#"{"command": "rm -rf keep"}"#]);
    assert_eq!(destructive.code, 5, "{destructive:?}");
    assert!(
        destructive.out.starts_with("refused: DESTRUCTIVE: "),
        "{destructive:?}"
    );
    assert!(
        destructive.out.contains("(`rm -rf keep`)"),
        "{destructive:?}"
    );
    assert_eq!(scratch.read("keep/me.txt"), "still here\n");
    let outside = scratch.run(&["tool", "Read", r#"{"path": "../home/config.json"}"#]);
    assert_eq!(outside.code, 5, "{outside:?}");
    scratch.machine("{\"approvers\": []}");
    let peek = json!({"command": format!("cat {}/config.json", scratch.home().display())});
    let hidden = scratch.run(&["tool", "Bash", &peek.to_string()]);
    assert!(!hidden.out.contains("approvers\": []"), "{hidden:?}");
    assert!(!scratch.root().join("new.txt").exists());
}

#[test]
fn what_cannot_run_here_says_so() {
    let scratch = Scratch::without_git();
    let unknown = scratch.run(&["tool", "Raed"]);
    assert!(
        unknown.code == 5 && unknown.out.contains("did you mean Read"),
        "{unknown:?}"
    );
    let chat = scratch.run(&["tool", "SendMessage", r#"{"message": "hi"}"#]);
    assert!(
        chat.code == 5 && chat.out.contains("needs a thread"),
        "{chat:?}"
    );
    let bad = scratch.run(&["tool", "Read", "{path: x}"]);
    assert!(bad.code == 4 && bad.err.contains("not JSON"), "{bad:?}");
    assert_eq!(scratch.run(&["tool"]).code, 2);
    assert_eq!(scratch.run(&["tool", "Read", "--jsonl"]).code, 2);
}

#[test]
fn checks_and_policy_of_the_repo_are_in_force() {
    let scratch = Scratch::new();
    scratch.write(
        ".codebutler/config.json",
        "{\"checks\": {\"test\": \"echo 3 passed\"}}",
    );
    let before = scratch.run(&["tool", "Bash", r#"{"command": "make migrate"}"#]);
    assert!(!before.out.contains("refused"), "{before:?}");
    scratch.write(
        ".codebutler/policy.json",
        "{\"tool_overrides\": {\"bash\": {\"destructive\": [\"make migrate\"]}}}",
    );
    let after = scratch.run(&["tool", "Bash", r#"{"command": "make migrate"}"#]);
    assert!(after.out.starts_with("refused: DESTRUCTIVE"), "{after:?}");
    let checks = scratch.run(&["tool", "RunChecks"]);
    assert!(
        checks.code == 0 && checks.out.contains("ok test: exit 0"),
        "{checks:?}"
    );
    scratch.write(".codebutler/policy.json", "{");
    assert_eq!(
        scratch.run(&["tool", "Glob", r#"{"pattern": "*"}"#]).code,
        3
    );
}

/// The long-lived form, one question at a time.
struct Lines {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Lines {
    fn start(scratch: &Scratch) -> Self {
        let mut command = scratch.codebutler(&["tool", "--jsonl"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            ask: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.ask.as_mut().unwrap(), "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer = json_lines(&answer).remove(0);
        assert_eq!(answer["id"], question["id"], "{answer}");
        answer
    }

    fn end(mut self) {
        drop(self.ask.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn one_process_serves_many_folders_and_roles() {
    let scratch = Scratch::without_git();
    scratch.write("one/a.txt", "first\n");
    scratch.write("two/a.txt", "second\n");
    let (one, two) = (scratch.root().join("one"), scratch.root().join("two"));
    let read = json!({"path": "a.txt"});
    let mut lines = Lines::start(&scratch);
    let first =
        lines.ask(&json!({"id": 1, "root": one, "role": "coder", "tool": "Read", "input": read}));
    assert!(
        first["ok"] == true && first["output"].as_str().unwrap().contains("first"),
        "{first}"
    );
    let second =
        lines.ask(&json!({"id": 2, "root": two, "role": "pm", "tool": "Read", "input": read}));
    assert!(
        second["output"].as_str().unwrap().contains("second"),
        "{second}"
    );
    let input = json!({"path": "../two/a.txt", "content": "x"});
    let escape =
        lines.ask(&json!({"id": 3, "root": one, "role": "coder", "tool": "Write", "input": input}));
    assert_eq!(escape["ok"], false, "{escape}");
    let nowhere = scratch.root().join("three");
    let none = lines
        .ask(&json!({"id": 4, "root": nowhere, "role": "coder", "tool": "Read", "input": read}));
    assert!(
        none["ok"] == false && none["output"].as_str().unwrap().contains("three"),
        "{none}"
    );
    let boss =
        lines.ask(&json!({"id": 5, "root": one, "role": "boss", "tool": "Read", "input": read}));
    assert!(
        boss["ok"] == false && boss["output"].as_str().unwrap().contains("boss"),
        "{boss}"
    );

    // What was started in a folder is known there, and nowhere else.
    let job = json!({"command": "echo started; sleep 600", "background": true});
    let started = lines.ask(&json!({"id": 6, "root": one, "tool": "Bash", "input": job}));
    assert_eq!(started["ok"], true, "{started}");
    let list = json!({"command": "job list"});
    let here = lines.ask(&json!({"id": 7, "root": one, "tool": "Bash", "input": list}));
    assert!(
        here["output"].as_str().unwrap().contains("sleep 600"),
        "{here}"
    );
    let there = lines.ask(&json!({"id": 8, "root": two, "tool": "Bash", "input": list}));
    assert!(
        !there["output"].as_str().unwrap().contains("sleep 600"),
        "{there}"
    );

    // A folder that was replaced by another of its name.
    fs::rename(&one, scratch.root().join("old")).unwrap();
    scratch.write("one/a.txt", "anew\n");
    let anew = lines.ask(&json!({"id": 9, "root": one, "tool": "Read", "input": read}));
    assert!(anew["output"].as_str().unwrap().contains("anew"), "{anew}");
    lines.end();
}

#[test]
fn a_process_that_sees_many_folders_keeps_few_open() {
    let scratch = Scratch::without_git();
    let mut lines = Lines::start(&scratch);
    let open = |lines: &Lines| {
        let descriptors = format!("/proc/{}/fd", lines.child.id());
        fs::read_dir(descriptors).unwrap().count()
    };
    let mut before = 0;
    for id in 0..200 {
        scratch.write(&format!("{id}/a.txt"), "text\n");
        let root = scratch.root().join(id.to_string());
        let input = json!({"pattern": "*.txt"});
        let answer = lines.ask(&json!({"id": id, "root": root, "tool": "Glob", "input": input}));
        assert_eq!(answer["ok"], true, "{answer}");
        if id == 99 {
            before = open(&lines);
        }
    }
    // A few of the runtime's own come and go.
    assert!(
        open(&lines) < before + 50,
        "{} after {before}",
        open(&lines)
    );
    lines.end();
}

#[test]
fn a_bad_line_is_answered_and_the_next_one_runs() {
    let scratch = Scratch::without_git();
    scratch.write("a.txt", "text\n");
    let input = concat!(
        "nonsense\n",
        "{\"id\": 2, \"root\": \".\"}\n",
        "{\"id\": 3, \"tool\": \"Read\", \"input\": \"a.txt\"}\n",
        "{\"id\": 4, \"tool\": \"Bash\", \"input\": {\"command\": \"sudo ls\"}}\n",
        "{\"id\": 5, \"tool\": \"Read\", \"input\": {\"path\": \"a.txt\"}}",
    );
    let run = scratch.fed(&["tool", "--jsonl"], input);
    assert_eq!(run.code, 0, "{run:?}");
    let lines = json_lines(&run.out);
    let outcomes: Vec<_> = lines
        .iter()
        .map(|line| (&line["id"], &line["ok"]))
        .collect();
    let no = json!(false);
    assert_eq!(
        outcomes,
        [
            (&Value::Null, &no),
            (&json!(2), &no),
            (&json!(3), &no),
            (&json!(4), &no),
            (&json!(5), &json!(true)),
        ],
        "{run:?}"
    );
    assert!(
        lines.iter().all(|line| line["output"].is_string()),
        "{run:?}"
    );
}
