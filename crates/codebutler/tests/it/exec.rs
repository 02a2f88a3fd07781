//! `exec`: one agent, one task, no hub; also killed, resumed, refused and broke.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use butler_rehearsal::{Rehearsal, Scenario};
use tokio_util::sync::CancellationToken;

use crate::{
    endpoint,
    scratch::{Ran, Scratch, json_lines},
};

/// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const PATIENCE: Duration = Duration::from_secs(60);

struct Alone {
    scratch: Scratch,
    model: Rehearsal,
}

impl Alone {
    async fn with(scenario: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let any = ([127, 0, 0, 1], 0).into();
        let scenario = Scenario::parse(scenario).unwrap();
        let model = Rehearsal::start(any, scenario, true, CancellationToken::new())
            .await
            .unwrap();
        Self {
            scratch: Scratch::without_git(),
            model,
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("codebutler"));
        command
            .current_dir(self.scratch.root())
            .env("CODEBUTLER_HOME", self.scratch.home())
            .env("NO_COLOR", "1")
            .args(["exec", "--model-url", &self.model.base_url()])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !args.contains(&"--model") {
            command.args(["--model", "rehearsal/coder"]);
        }
        command
    }

    fn exec(&self, args: &[&str]) -> Ran {
        ended(self.command(args).spawn().unwrap())
    }

    /// The one log of the one session.
    fn log(&self) -> String {
        fs::read_to_string(find(&self.scratch.home().join("exec"), ".jsonl").unwrap()).unwrap()
    }
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn find(folder: &Path, ending: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            find(&path, ending)
        } else {
            path.to_string_lossy().ends_with(ending).then_some(path)
        }
    })
}

fn until(what: &str, mut enough: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !enough() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const GREETING: &str = r#"
title: a file is written and looked at
roles:
  coder:
    - expect: { first_user_contains: "say hello in hello.txt" }
      say: First the file.
      call:
        - { tool: Write, with: { path: hello.txt, content: "hello\n" } }
    - call:
        - { tool: Bash, with: { command: "cat hello.txt" } }
    - expect: { tool_result_contains: "hello" }
      say: Done. hello.txt says hello.
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_task_is_done_in_this_folder_and_the_output_is_the_answer_alone() {
    let alone = Alone::with(GREETING).await;
    let ran = alone.exec(&["say hello in hello.txt"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out, "Done. hello.txt says hello.\n");
    assert!(ran.err.contains("First the file."), "{ran:?}");
    assert!(ran.err.contains("Bash cat hello.txt"), "{ran:?}");
    assert_eq!(alone.scratch.read("hello.txt"), "hello\n");
    assert!(alone.log().contains("tool_intent"));
    // The only thing in the folder is what the task is about.
    let files = fs::read_dir(alone.scratch.root()).unwrap().count();
    assert_eq!(files, 1);
    assert!(alone.model.left_over().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_read_one_event_per_line() {
    let alone = Alone::with(GREETING).await;
    let ran = alone.exec(&["--json", "say hello in hello.txt"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let events = json_lines(&ran.out);
    let names: Vec<_> = events
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .collect();
    let expected = [
        "started", "turn", "call", "result", "turn", "call", "result", "turn", "answer", "ended",
    ];
    assert_eq!(names, expected);
    assert_eq!(events[2]["tool"], "Write");
    assert_eq!(events[6]["ok"], true);
    let end = events.last().unwrap();
    assert_eq!(end["how"], "done");
    assert_eq!(end["exit"], 0);
    assert_eq!(end["turns"], 3);
    assert_eq!(end["session"], events[0]["session"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_need_a_click_is_refused_unless_the_person_named_it() {
    let scenario = r#"
title: a folder goes
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "rm -rf drafts" } }]
    - id: refused
      when: { tool_result_contains: "refused: DESTRUCTIVE" }
      say: I was not allowed to remove drafts/.
    - when: { not_played: refused }
      say: drafts/ is gone.
"#;
    let alone = Alone::with(scenario).await;
    alone.scratch.write("drafts/old", "x");
    let ran = alone.exec(&["clean up"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I was not allowed to remove drafts/.\n"),
        "{ran:?}"
    );
    assert!(alone.scratch.root().join("drafts/old").exists());
    let other = alone.exec(&["--allow", "rm -rf other", "clean up"]);
    assert!(other.out.starts_with("I was not"), "{other:?}");
    let allowed = alone.exec(&["--allow", "rm -rf drafts", "clean up"]);
    assert_eq!(allowed.out, "drafts/ is gone.\n", "{allowed:?}");
    assert!(!alone.scratch.root().join("drafts").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_removed_or_changed_comes_back_with_undo() {
    let scenario = r#"
title: files go
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "rm -f notes.txt; mv plan.md /tmp; : > kept.bin" } }]
    - call: [{ tool: Write, with: { path: new.txt, content: "new" } }]
    - say: Done.
"#;
    let alone = Alone::with(scenario).await;
    let root = alone.scratch.root();
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&root)
        .status();
    assert!(git.unwrap().success());
    let files: [(&str, &[u8]); 3] = [
        ("notes.txt", b"never committed\r\n"),
        ("plan.md", b"a plan\n"),
        ("kept.bin", &[0, 159, 146, 150]),
    ];
    for (name, content) in files {
        fs::write(root.join(name), content).unwrap();
    }
    let ran = alone.exec(&["make a mess"]);
    assert_eq!(ran.out, "Done.\n", "{ran:?}");
    assert!(!root.join("notes.txt").exists() && root.join("new.txt").exists());
    let undo = |args: &[&str]| {
        let mut command = Command::new(cargo_bin!("codebutler"));
        let command = command.current_dir(&root).arg("undo").args(args);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        ended(
            command
                .env("CODEBUTLER_HOME", alone.scratch.home())
                .spawn()
                .unwrap(),
        )
    };
    let listed = undo(&[]);
    assert!(
        listed.out.contains("exec/1") && listed.out.contains("before Bash rm -f notes.txt"),
        "{listed:?}"
    );
    let unknown = undo(&["exec/99"]);
    assert_ne!(unknown.code, 0, "{unknown:?}");
    let back = undo(&["exec/1"]);
    assert_eq!(back.code, 0, "{back:?}");
    for (name, content) in files {
        assert_eq!(fs::read(root.join(name)).unwrap(), content, "{name}");
    }
    assert!(!root.join("new.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_has_its_own_tools_here_too() {
    let scenario = r#"
title: a reviewer tries to write
roles:
  reviewer:
    - call: [{ tool: Write, with: { path: x.txt, content: "x" } }]
    - expect: { tool_result_contains: "no tool `Write`" }
      say: I only read.
"#;
    let alone = Alone::with(scenario).await;
    let ran = alone.exec(&[
        "--role",
        "reviewer",
        "--model",
        "rehearsal/reviewer",
        "look",
    ]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I only read.\n"),
        "{ran:?}"
    );
    assert!(!alone.scratch.root().join("x.txt").exists());
}

/// Three commands, each counted, then the end.
const COUNTED: &str = r#"
title: three steps
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "echo one >> count" } }]
    - call: [{ tool: Bash, with: { command: "echo two >> count" } }]
    - call: [{ tool: Bash, with: { command: "echo three >> count" } }]
    - say: All three are done.
"#;

#[tokio::test(flavor = "multi_thread")]
async fn used_up_turns_have_an_exit_code_and_a_word_goes_on() {
    let alone = Alone::with(COUNTED).await;
    let ran = alone.exec(&["--max-turns", "2", "count"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(
        ran.out.is_empty() && ran.err.contains("--resume="),
        "{ran:?}"
    );
    assert_eq!(alone.scratch.read("count"), "one\ntwo\n");
    let at = ran.err.find("--resume=").unwrap();
    let id = ran.err[at..].split_whitespace().next().unwrap().to_owned();
    let more = alone.exec(&[&id]);
    assert_eq!(
        (more.code, more.out.as_str()),
        (0, "All three are done.\n"),
        "{more:?}"
    );
    assert_eq!(alone.scratch.read("count"), "one\ntwo\nthree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_budget_ends_the_run_and_a_higher_cap_goes_on() {
    let alone = Alone::with(COUNTED).await;
    // Not even one short answer at the price of a dear model.
    let ran = alone.exec(&["--price", "15/75", "--cap", "0.10", "count"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.err.contains(" --cap=0.2"), "a higher one: {ran:?}");
    assert!(ran.err.contains("$0.10"), "{ran:?}");
    assert!(!alone.scratch.root().join("count").exists());
    let more = alone.exec(&["--resume", "--cap", "20"]);
    assert_eq!(
        (more.code, more.out.as_str()),
        (0, "All three are done.\n"),
        "{more:?}"
    );
    assert_eq!(alone.scratch.read("count"), "one\ntwo\nthree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_has_an_exit_code() {
    let scenario = r#"
title: a bad key
roles:
  coder:
    - fault: { kind: auth }
      repeat: forever
"#;
    let alone = Alone::with(scenario).await;
    let ran = alone.exec(&["anything"]);
    assert_eq!(ran.code, 9, "{ran:?}");
    assert!(ran.out.is_empty(), "{ran:?}");
    for part in ["no key was given", &alone.model.base_url(), "--key-env"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    // Said once, by us; the log does not repeat it.
    assert_eq!(ran.err.matches("no key was given").count(), 1, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_this_machine_is_free_unless_a_price_is_named() {
    // The least cap pays for as many free calls as it takes, and for none at a price.
    let alone = Alone::with(COUNTED).await;
    let ran = alone.exec(&["--cap", "0.01", "count"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("no known cost"), "{ran:?}");
    let alone = Alone::with(COUNTED).await;
    let ran = alone.exec(&["--cap", "0.01", "--price", "15/75", "count"]);
    assert_eq!(ran.code, 7, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_that_goes_on_can_be_pasted() {
    let alone = Alone::with(COUNTED).await;
    let secret = ["sk", "not", "to", "be", "shown"].join("-");
    let flags = [
        "--max-turns=2",
        "--key-env=OUR_KEY",
        "--price=0/0",
        "--window=64000",
        "--allow=rm -rf it's",
        "count",
    ];
    let ran = ended(
        alone
            .command(&flags)
            .env("OUR_KEY", &secret)
            .spawn()
            .unwrap(),
    );
    assert_eq!(ran.code, 6, "{ran:?}");
    let line = ran
        .err
        .lines()
        .find_map(|line| line.strip_prefix("to go on: "));
    let line = line.unwrap().strip_prefix("codebutler ").unwrap();
    assert!(!line.contains(&secret), "{line}");
    assert!(line.contains(r"'--allow=rm -rf it'\''s'"), "{line}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("\"$PROGRAM\" {line}")])
        .env("PROGRAM", cargo_bin!("codebutler"))
        .env("CODEBUTLER_HOME", alone.scratch.home())
        .env("OUR_KEY", &secret)
        .current_dir(alone.scratch.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let more = ended(shell.spawn().unwrap());
    assert_eq!(
        (more.code, more.out.as_str()),
        (0, "All three are done.\n"),
        "{more:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_a_command_it_goes_on_and_runs_nothing_twice() {
    let scenario = r#"
title: killed in the middle
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "echo started >> count; exec sleep 600" } }]
    - expect: { interrupted: true }
      call: [{ tool: Bash, with: { command: "echo after >> count" } }]
    - say: I looked before I went on.
"#;
    let alone = Alone::with(scenario).await;
    let mut child = alone.command(&["count"]).spawn().unwrap();
    let count = alone.scratch.root().join("count");
    until("the first command", || {
        fs::read_to_string(&count).is_ok_and(|text| text == "started\n")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = alone.exec(&["--resume"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "I looked before I went on.\n"),
        "{ran:?}"
    );
    assert_eq!(alone.scratch.read("count"), "started\nafter\n", "{ran:?}");
    let again = alone.exec(&["--resume"]);
    assert_eq!(again.code, 4, "{again:?}");
    assert!(again.err.contains("no unfinished session"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_command_and_the_session_can_be_taken_up() {
    let scenario = r#"
title: stopped by Ctrl-C
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "echo started >> count; exec sleep 543" } }]
    - expect: { tool_result_contains: "stopped" }
      say: That was stopped.
"#;
    let alone = Alone::with(scenario).await;
    let child = alone.command(&["count"]).spawn().unwrap();
    let count = alone.scratch.root().join("count");
    until("the command", || count.exists() && sleeps("543"));
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let ran = ended(child);
    assert_eq!(ran.code, 130, "{ran:?}");
    until("the end of the command", || !sleeps("543"));
    let more = alone.exec(&["--resume"]);
    assert_eq!(
        (more.code, more.out.as_str()),
        (0, "That was stopped.\n"),
        "{more:?}"
    );
}

/// Whether a process `sleep <seconds>` exists.
fn sleeps(seconds: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let wanted = format!("sleep\0{seconds}\0");
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_reach_the_output() {
    let key = ["sk", "quite", "ordinary", "words"].join("-");
    let scenario = r#"
title: a key in a file
roles:
  coder:
    - call: [{ tool: Bash, with: { command: "cat notes.txt" } }]
    - say: The key is KEY.
"#;
    let alone = Alone::with(&scenario.replace("KEY", &key)).await;
    alone.scratch.write("notes.txt", &key);
    for form in [&["--json"][..], &[]] {
        let mut command =
            alone.command(&[form, &["--key-env", "OUR_KEY", "read notes.txt"]].concat());
        let ran = ended(command.env("OUR_KEY", &key).spawn().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains("The key is"), "{ran:?}");
        assert!(
            !ran.out.contains(&key) && !ran.err.contains(&key),
            "{ran:?}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    let scratch = Scratch::without_git();
    let nothing = scratch.run(&["exec", "do something"]);
    assert_eq!(nothing.code, 4, "{nothing:?}");
    assert!(nothing.err.contains("--model-url"), "{nothing:?}");
    assert!(
        !scratch.home().join("exec").exists(),
        "nothing to go on with is left behind"
    );
    let odd = scratch.run(&["exec", "--model-url", "nonsense", "--model", "m", "x"]);
    assert_eq!(odd.code, 4, "{odd:?}");
    for part in ["--model-url nonsense", "http://127.0.0.1:11434/v1"] {
        assert!(odd.err.contains(part), "{part}: {odd:?}");
    }
    let url = "http://127.0.0.1:9/v1";
    let model = scratch.run(&["exec", "--model-url", url, "x"]);
    assert!(
        model.code == 4 && model.err.contains("--model"),
        "{model:?}"
    );
    let key = [
        "exec",
        "--model-url",
        url,
        "--model",
        "m",
        "--key-env",
        "NO_SUCH_KEY",
        "x",
    ];
    let key = scratch.run(&key);
    assert!(
        key.code == 4 && key.err.contains("NO_SUCH_KEY is not set"),
        "{key:?}"
    );
}

#[test]
fn figures_that_make_no_sense_are_refused_with_a_reason() {
    let scratch = Scratch::without_git();
    for (flag, reason) in [
        ("--cap=-1", "above 0"),
        ("--cap=0", "above 0"),
        ("--max-turns=0", "at least 1"),
        ("--window=10", "at least 2048"),
    ] {
        let ran = scratch.run(&["exec", flag, "x"]);
        assert!(ran.code == 2 && ran.err.contains(reason), "{flag}: {ran:?}");
    }
}

/// What lies in the folder is told before the task, once, also where there is no git.
#[tokio::test(flavor = "multi_thread")]
async fn the_place_is_told_before_the_task() {
    let scenario = r#"
title: the place
roles:
  coder:
    - expect: { any_user_contains: ["This folder, on ", "top level: src/ Makefile", "languages: Python (1 file", "manifests: Makefile", "what is this?"] }
      say: A Python project.
    - expect: { last_user_contains: "and now?" }
      say: Still one.
"#;
    let alone = Alone::with(scenario).await;
    fs::create_dir(alone.scratch.root().join("src")).unwrap();
    fs::write(alone.scratch.root().join("src/a.py"), "print()\n").unwrap();
    fs::write(alone.scratch.root().join("Makefile"), "all:\n").unwrap();
    let ran = alone.exec(&["what is this?"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "A Python project.\n"),
        "{ran:?}"
    );
    let id = fs::read_dir(alone.scratch.home().join("exec")).unwrap();
    let folder = id.flatten().next().unwrap().path();
    let session = fs::read_dir(folder).unwrap().flatten().next().unwrap();
    let session = session.file_name().to_string_lossy().into_owned();
    let ran = alone.exec(&[&format!("--resume={session}"), "and now?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Still one.\n"), "{ran:?}");
    assert_eq!(alone.log().matches("This folder, on ").count(), 1);
}

/// A clone may hold links in the place of its instructions; what they lead to is the
/// person's, and never ends.
#[tokio::test(flavor = "multi_thread")]
async fn instructions_from_outside_of_the_folder_reach_no_model() {
    let (url, heard) = endpoint::hearing();
    let scratch = Scratch::without_git();
    fs::create_dir_all(scratch.home()).unwrap();
    let notes = scratch.home().join("notes");
    fs::write(&notes, "what the person keeps to themselves\n").unwrap();
    let root = scratch.root();
    symlink(&notes, root.join("AGENTS.md")).unwrap();
    scratch.write("docs/rules.md", "tabs, please\n");
    symlink("docs/rules.md", root.join("CLAUDE.md")).unwrap();
    let mut command = Command::new(cargo_bin!("codebutler"));
    command
        .current_dir(&root)
        .env("CODEBUTLER_HOME", scratch.home())
        .env("NO_COLOR", "1")
        .args([
            "exec",
            "--model-url",
            &url,
            "--model",
            "m",
            "count the files",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = ended(command.spawn().unwrap());
    let heard = heard.lock().unwrap();
    assert!(heard.contains("count the files"), "{ran:?}");
    assert!(!heard.contains("keeps to themselves"), "{heard}");
    assert!(heard.contains("tabs, please"), "{heard}");
    assert!(ran.err.contains("AGENTS.md"), "{ran:?}");
}
