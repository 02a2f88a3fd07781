//! Bash in the real sandbox.

use std::{os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use butler_policy::Judgement;
use butler_protocol::Role;
use butler_repo::Undo;
use butler_testkit::ScratchRepo;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, call};

#[tokio::test]
async fn a_command_runs_in_the_root_and_says_how_it_ended() {
    let fixture = Fixture::with_sandbox(Vec::new());
    fixture.write("a.txt", "hello\n");
    let shown = fixture
        .call("Bash", json!({"command": "cat a.txt && echo made > b.txt"}))
        .await;
    assert!(shown.ok, "{}", shown.text);
    assert!(
        shown.text.starts_with("exit 0 after ") && shown.text.ends_with("s\nhello\n"),
        "{}",
        shown.text
    );
    assert_eq!(fixture.read("b.txt"), "made\n");
    let failed = fixture
        .call("Bash", json!({"cmd": "echo no >&2; exit 3"}))
        .await;
    assert!(
        !failed.ok && failed.text.starts_with("exit 3 after"),
        "{}",
        failed.text
    );
    assert!(failed.text.ends_with("\nno\n"), "{}", failed.text);
    let silent = fixture.call("Bash", json!({"command": "true"})).await;
    assert!(silent.text.ends_with("(no output)"), "{}", silent.text);
    let empty = fixture.call("Bash", json!({"command": " "})).await;
    assert!(!empty.ok, "{}", empty.text);
}

#[tokio::test]
async fn git_and_rules_are_read_only_and_secrets_are_not_there() {
    let fixture = Fixture::with_sandbox(Vec::new());
    fixture.write(".git/config", "[core]\n");
    fixture.write("src/a", "a\n");
    fixture.outside("person/.ssh/id", "canary\n");
    let secret = fixture.scratch.path().join("person/.ssh/id");
    for command in [
        "echo x > .git/config".to_owned(),
        "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit".to_owned(),
        "echo x > .codebutler/policy.json".to_owned(),
        "mkdir .codebutler".to_owned(),
        format!("cat {}", secret.display()),
    ] {
        let outcome = fixture.call("Bash", json!({"command": command})).await;
        assert!(!outcome.ok, "{command}: {}", outcome.text);
        assert!(
            !outcome.text.contains("canary"),
            "{command}: {}",
            outcome.text
        );
    }
    assert_eq!(fixture.read(".git/config"), "[core]\n");
    assert!(!fixture.root.join(".codebutler").exists());
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_colours_go() {
    let fixture = Fixture::with_sandbox(Vec::new());
    let shown = fixture
        .call(
            "Bash",
            json!({"command": "printf '\\033[31mfirst\\033[0m\\n'; seq 1 40000; echo last"}),
        )
        .await;
    assert!(
        shown.text.contains("\nfirst\n1\n2\n"),
        "{}",
        &shown.text[..60]
    );
    assert!(shown.text.ends_with("39999\n40000\nlast\n"));
    assert!(shown.text.contains("left out"), "no mark");
    assert!(shown.text.len() < 52_000, "{}", shown.text.len());
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed() {
    let fixture = Fixture::with_sandbox(Vec::new());
    let slow = fixture
        .call(
            "Bash",
            json!({"command": "echo begun; sleep 600", "timeout_seconds": 1}),
        )
        .await;
    assert!(
        !slow.ok && slow.text.starts_with("timed out after"),
        "{}",
        slow.text
    );
    assert!(
        slow.text.contains("begun"),
        "what it wrote is kept: {}",
        slow.text
    );
}

#[tokio::test]
async fn stopping_ends_a_command_and_keeps_its_output() {
    let fixture = Fixture::with_sandbox(Vec::new());
    let bash = call(
        "Bash",
        json!({"command": "echo begun; touch here; sleep 600"}),
    );
    let run = fixture
        .executor
        .run(&bash, fixture.permit(Role::Coder, &bash), &fixture.context);
    let stop = async {
        while !fixture.root.join("here").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fixture.context.cancel().cancel();
    };
    let (outcome, ()) = tokio::join!(run, stop);
    assert!(
        !outcome.ok && outcome.text.contains("stopped"),
        "{}",
        outcome.text
    );
    assert!(outcome.text.contains("begun"), "{}", outcome.text);
}

#[tokio::test]
async fn background_jobs_are_watched_and_stopped() {
    let fixture = Fixture::with_sandbox(Vec::new());
    let started = fixture
        .call("Bash", json!({"command": "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exec sleep 600", "background": true}))
        .await;
    assert!(
        started.text.starts_with("started as job 1;"),
        "{}",
        started.text
    );
    let until = async |word: &str| loop {
        let seen = fixture
            .call("Bash", json!({"command": "job output 1"}))
            .await;
        assert!(seen.ok, "{}", seen.text);
        if seen.text.contains(word) {
            return seen.text;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(until("one").await.starts_with("job 1: running\n"));
    fixture.write("go", "");
    let second = until("two").await;
    assert!(!second.contains("one"), "only what is new: {second}");
    let listed = fixture.call("Bash", json!({"command": "job list"})).await;
    assert!(
        listed.text.starts_with("job 1: running: echo one"),
        "{}",
        listed.text
    );
    assert!(
        fixture
            .call("Bash", json!({"command": "job stop 1"}))
            .await
            .ok
    );
    assert!(
        until("stopped after")
            .await
            .starts_with("job 1: stopped after")
    );
    let unknown = fixture
        .call("Bash", json!({"command": "job output 7"}))
        .await;
    assert_eq!(unknown.text, "refused: there is no job 7; there are 1");
}

#[tokio::test]
async fn jobs_end_with_their_context() {
    let fixture = Fixture::with_sandbox(Vec::new());
    fixture
        .call(
            "Bash",
            json!({"command": "touch up; sleep 600; touch late", "background": true}),
        )
        .await;
    while !fixture.root.join("up").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.context.jobs().stop_all().await;
    let listed = fixture.call("Bash", json!({"command": "job list"})).await;
    assert!(
        listed.text.contains("job 1: stopped after"),
        "{}",
        listed.text
    );
    assert!(!fixture.root.join("late").exists());
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let fixture = Fixture::new();
    for background in [false, true] {
        let refused = fixture
            .call(
                "Bash",
                json!({"command": "touch x", "background": background}),
            )
            .await;
        assert!(
            !refused.ok && refused.text.contains("cannot be confined"),
            "{}",
            refused.text
        );
    }
    assert!(!fixture.root.join("x").exists());
}

#[tokio::test]
async fn an_interrupted_command_is_never_repeated() {
    let fixture = Fixture::with_sandbox(Vec::new());
    let bash = call("Bash", json!({"command": "echo x >> log"}));
    let told = fixture
        .executor
        .recover(
            &bash,
            fixture.permit(Role::Coder, &bash),
            None,
            &fixture.context,
        )
        .await;
    assert!(
        !told.ok && told.text.contains("was not repeated"),
        "{}",
        told.text
    );
    assert!(!fixture.root.join("log").exists());
}

#[test]
fn a_destructive_command_asks_and_names_the_scripts_it_runs() {
    let fixture = Fixture::new();
    fixture.write("scripts/deploy.sh", "echo one\n");
    let asked = |fixture: &Fixture| match fixture.judge(
        Role::Coder,
        &call("Bash", json!({"command": "sudo ./scripts/deploy.sh"})),
    ) {
        Judgement::Ask(question) => question,
        other => panic!("{other:?}"),
    };
    let first = asked(&fixture);
    assert!(
        first
            .subject
            .scripts
            .iter()
            .any(|one| one.path.contains("scripts/deploy.sh")),
        "{:?}",
        first.subject
    );
    fixture.write("scripts/deploy.sh", "echo two\n");
    assert_ne!(
        asked(&fixture).subject.sha256(),
        first.subject.sha256(),
        "another script is another question"
    );
}

#[tokio::test]
async fn where_the_sandbox_is_not_whole_every_command_asks_and_then_runs() {
    type Weaken = fn(butler_sandbox::Sandbox) -> butler_sandbox::Sandbox;
    let kernels: [(&str, Weaken); 2] = [
        ("no user namespaces", |sandbox| {
            sandbox.without_namespaces("asked for").unwrap()
        }),
        ("nothing", |sandbox| sandbox.without_sandbox("asked for")),
    ];
    for (kernel, weaken) in kernels {
        let fixture = Fixture::with_weaker_sandbox(weaken);
        for command in ["ls", "cargo test", "echo x > file"] {
            let call = call("Bash", json!({"command": command}));
            let Judgement::Ask(question) = fixture.judge(Role::Coder, &call) else {
                panic!("{kernel}: `{command}` does not ask");
            };
            assert!(question.reason.contains("cannot confine"), "{kernel}");
        }
        let ran = fixture
            .call("Bash", json!({"command": "echo x > file; cat file"}))
            .await;
        assert!(
            ran.ok && ran.text.ends_with("x\n"),
            "{kernel}: {}",
            ran.text
        );
        assert_eq!(fixture.read("file"), "x\n");
        let job = json!({"command": "echo y > job", "background": true});
        let started = fixture.call("Bash", job).await;
        assert!(started.ok, "{kernel}: {}", started.text);
        let made = async {
            while !fixture.root.join("job").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), made)
            .await
            .unwrap_or_else(|_| panic!("{kernel}: the job did not run"));
    }
}

/// A program that asks a server of this machine, under the name of one that the
/// table knows to need the network.
#[tokio::test]
async fn what_needs_the_network_asks_for_it_and_then_has_it() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut asked, _) = server.accept().unwrap();
        std::io::Write::write_all(&mut asked, b"two pods\n").unwrap();
    });
    let fixture = Fixture::with_sandbox(Vec::new());
    fixture.write(
        "asks",
        format!("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3\n"),
    );
    fixture.write("kubectl", fixture.read("asks"));
    // Under a name that nobody knows it runs at once, and reaches nobody.
    let alone = fixture
        .call("Bash", json!({"command": "bash ./asks"}))
        .await;
    assert!(
        !alone.ok && alone.text.contains("refused"),
        "{}",
        alone.text
    );
    let command = json!({"command": "chmod +x kubectl; ./kubectl get pods"});
    let Judgement::Ask(question) = fixture.judge(Role::Coder, &call("Bash", command.clone()))
    else {
        panic!("it does not ask");
    };
    assert_eq!(question.part.as_deref(), Some("./kubectl get pods"));
    assert!(
        question.reason.contains("needs the network"),
        "{}",
        question.reason
    );
    let ran = fixture.call("Bash", command).await;
    assert!(ran.ok && ran.text.ends_with("two pods\n"), "{}", ran.text);
    answering.join().unwrap();
}

#[tokio::test]
async fn an_approval_is_void_when_a_file_changed_since() {
    let fixture = Fixture::with_sandbox(Vec::new());
    fixture.write(".gitignore", "build/\n");
    fixture.write("scripts/a b.sh", "echo one\n");
    fixture.write("lib.sh", "echo sourced\n");
    fixture.write("large.sh", vec![b'#'; 5 << 20]);
    fixture.write("build/out", "ignored\n");
    let call = call("Bash", json!({"command": "sudo bash scripts/*.sh"}));
    let hash = || match fixture.judge(Role::Coder, &call) {
        Judgement::Ask(question) => question.subject.sha256(),
        other => panic!("{other:?}"),
    };
    let before = hash();
    assert_eq!(hash(), before);
    fixture.write("build/out", "made again\n");
    assert_eq!(
        hash(),
        before,
        "what is ignored and not named plays no part"
    );
    for (file, content) in [
        ("scripts/a b.sh", b"echo two\n".to_vec()),
        ("lib.sh", b"echo evil\n".to_vec()),
        ("large.sh", vec![b' '; 5 << 20]),
        ("new.sh", b"echo new\n".to_vec()),
    ] {
        let before = hash();
        fixture.write(file, content);
        assert_ne!(hash(), before, "{file}");
    }
}

/// No list of programs and flags is complete: what is judged to look only may write all the
/// same, and then it can be undone too.
#[tokio::test]
async fn what_a_command_that_only_looks_changes_can_be_undone() {
    let scratch = ScratchRepo::new();
    let root = scratch.root().canonicalize().unwrap();
    let mut fixture = Fixture::at(&root);
    let sandbox = butler_sandbox::Sandbox::new(env!("CARGO_BIN_EXE_butler-tools-sandbox").into());
    let undo = Arc::new(Undo::of(&root, "x").unwrap());
    let context = fixture.context.with_sandbox(Arc::new(sandbox.unwrap()));
    fixture.context = context.with_undo(Arc::clone(&undo));
    fixture.write("script.sed", "w notes.md\n");
    fixture.write("bin/ls", "#!/bin/sh\necho lost > notes.md\n");
    let runs = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(root.join("bin/ls"), runs).unwrap();
    for command in [
        "PATH=bin ls",
        "GIT_TRACE=$PWD/notes.md git status",
        "history -w notes.md",
        "git diff --no-index --outp=notes.md script.sed bin/ls",
        "sed -f script.sed script.sed",
    ] {
        fixture.write("notes.md", format!("for {command}\n"));
        let judged = fixture.judge(Role::Coder, &call("Bash", json!({"command": command})));
        assert!(matches!(judged, Judgement::Run(_)), "{command}: {judged:?}");
        fixture.call("Bash", json!({"command": command})).await;
        let cancel = CancellationToken::new();
        let saved = undo.list(&cancel).await.unwrap();
        let first = saved.first().unwrap_or_else(|| panic!("{command}"));
        undo.restore(first, &cancel).await.unwrap();
        assert_eq!(fixture.read("notes.md"), format!("for {command}\n"));
    }
}
