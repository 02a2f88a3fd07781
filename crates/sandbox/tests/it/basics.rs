//! Ordinary commands: output, input, environment, endings.

use std::{collections::BTreeMap, fs, time::Duration};

use butler_sandbox::{Command, Ended, SandboxError, Stdin, Strength, shell};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::world::{World, text};

#[tokio::test]
async fn a_command_writes_in_the_worktree_and_says_how_it_ended() {
    let world = World::new();
    assert_eq!(world.sandbox.strength(), Strength::Namespaces);
    let exit = world
        .sh("echo out; echo err >&2; echo kept > file; exit 3")
        .await;
    assert_eq!(text(&exit), "out\nerr\n");
    assert_eq!(
        (exit.code, exit.signal, exit.ended),
        (Some(3), None, Ended::Itself)
    );
    assert_eq!((exit.cut, exit.cut_at), (0, 8));
    assert_eq!(
        fs::read_to_string(world.root().join("file")).unwrap(),
        "kept\n"
    );
}

#[tokio::test]
async fn a_signal_from_inside_is_told_apart_from_an_exit_code() {
    let world = World::new();
    let exit = world.sh("kill -SEGV $$").await;
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
    assert_eq!(exit.ended, Ended::Itself);
}

#[tokio::test]
async fn a_command_reads_its_bytes_and_then_the_end() {
    let world = World::new();
    let mut command = shell("wc -c", world.root());
    assert_eq!(text(&world.run(command.clone()).await), "0\n");
    command.stdin = Stdin::Bytes(b"a\nb\0c".repeat(50_000));
    assert_eq!(text(&world.run(command).await), "250000\n");
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nothing_else() {
    let world = World::new();
    let command = Command {
        argv: vec!["/usr/bin/env".into()],
        cwd: world.root().to_owned(),
        env: BTreeMap::from([("A".into(), "1".into())]),
        stdin: Stdin::Null,
        direct: Vec::new(),
        sockets: true,
    };
    assert_eq!(text(&world.run(command).await), "A=1\n");
}

/// A shell counts its level; who is started without one has none.
#[tokio::test]
async fn a_plain_command_is_started_without_a_shell() {
    let world = World::new();
    let env = world.ok("env").await;
    assert!(!env.contains("SHLVL="), "{env}");
    let here = format!("PWD={}\n", world.root().display());
    assert!(env.contains(&here), "{env}");
    assert!(world.ok("env | cat").await.contains("SHLVL="));
    // What is not there the shell says in its own words.
    let exit = world.run(shell("no-such-program -x", world.root())).await;
    assert_eq!(exit.code, Some(127));
    assert!(text(&exit).contains("no-such-program: command not found"));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error_that_names_it() {
    let world = World::new();
    let mut command = shell("", world.root());
    command.argv = vec!["no-such-program".into()];
    let cancel = CancellationToken::new();
    let result = world
        .sandbox
        .run(&command, &world.profile, &cancel, None)
        .await;
    let error = result.unwrap_err();
    assert!(
        matches!(&error, SandboxError::Program { program, .. } if program == "no-such-program"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_worktree_that_does_not_exist_is_an_error_that_names_it() {
    let mut world = World::new();
    world.profile.root = world.outside("missing");
    let command = shell("true", world.root());
    let cancel = CancellationToken::new();
    let error = world
        .sandbox
        .run(&command, &world.profile, &cancel, None)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}

#[tokio::test]
async fn output_streams_while_the_command_runs() {
    let world = World::new();
    let (sender, mut receiver) = mpsc::channel(1);
    let command = shell("echo one; read line < pipe; echo $line", world.root());
    world.ok("mkfifo pipe").await;
    let cancel = CancellationToken::new();
    let run = world
        .sandbox
        .run(&command, &world.profile, &cancel, Some(sender));
    let answer = async {
        assert_eq!(receiver.recv().await.unwrap(), b"one\n");
        // Only now can the command go on: it is running while we read.
        tokio::fs::write(world.root().join("pipe"), "two\n")
            .await
            .unwrap();
        receiver.recv().await.unwrap()
    };
    let (exit, second) = tokio::join!(run, answer);
    assert_eq!(second, b"two\n");
    assert_eq!(text(&exit.unwrap()), "one\ntwo\n");
}

#[tokio::test]
async fn of_long_output_head_and_tail_are_kept_and_counted() {
    let mut world = World::new();
    world.profile.limits.output_bytes = 20;
    let (sender, mut receiver) = mpsc::channel(100);
    let command = shell("seq 1 1000", world.root());
    let cancel = CancellationToken::new();
    let run = world
        .sandbox
        .run(&command, &world.profile, &cancel, Some(sender));
    let exit = run.await.unwrap();
    assert_eq!(text(&exit), "1\n2\n3\n4\n5\n\n999\n1000\n");
    assert_eq!((exit.cut, exit.cut_at), (3893 - 20, 10));
    let mut streamed = Vec::new();
    while let Some(piece) = receiver.recv().await {
        streamed.extend(piece);
    }
    assert_eq!(streamed.len(), 20);
}

#[tokio::test]
async fn a_timeout_ends_every_process_also_those_that_ignore_signals() {
    let mut world = World::new();
    world.profile.limits.wall = Duration::from_millis(300);
    let script = "trap '' TERM INT HUP; (setsid sh -c 'while :; do sleep 0.01; date +%s%N > alive; done' &) ; echo up; while :; do sleep 1; done";
    let exit = world.sh(script).await;
    assert_eq!(exit.ended, Ended::TimedOut);
    assert_eq!(text(&exit), "up\n");
    // Everything is dead when run returns, so the file can no longer change.
    fs::write(world.root().join("alive"), "over").unwrap();
    world.profile.limits.wall = Duration::from_secs(60);
    world.ok("sleep 0.1").await;
    assert_eq!(
        fs::read_to_string(world.root().join("alive")).unwrap(),
        "over"
    );
}

#[tokio::test]
async fn cancel_ends_a_running_command() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let (sender, mut receiver) = mpsc::channel(1);
    let command = shell("echo up; sleep 1000", world.root());
    let run = world
        .sandbox
        .run(&command, &world.profile, &cancel, Some(sender));
    let stop = async {
        receiver.recv().await.unwrap();
        cancel.cancel();
    };
    let (exit, ()) = tokio::join!(run, stop);
    assert_eq!(exit.unwrap().ended, Ended::Cancelled);
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let world = World::new();
    let exit = world.sh("sleep 1000 & echo started").await;
    assert_eq!(text(&exit), "started\n");
    assert!(exit.success());
}

#[tokio::test]
async fn what_let_go_of_its_output_is_gone_too_when_run_returns() {
    let world = World::new();
    let mark = format!("mark-quiet-{}", std::process::id());
    let script = format!(
        "for i in 1 2 3 4; do setsid sh -c ': {mark}; sleep 1000; :' </dev/null >/dev/null 2>&1 & done; echo started"
    );
    for _ in 0..10 {
        let exit = world.sh(&script).await;
        assert_eq!(text(&exit), "started\n");
        let left = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|entry| {
                let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(&mark)
            });
        assert_eq!(left.count(), 0);
    }
}

#[tokio::test]
async fn text_is_utf_8_and_the_shell_is_named() {
    let world = World::new();
    assert_eq!(
        world.ok("word=é; echo ${#word} $SHELL").await,
        "1 /bin/bash\n"
    );
}

#[tokio::test]
async fn a_command_starts_with_no_signal_blocked_or_ignored() {
    let world = World::new();
    let said = world
        .ok("grep -hoP 'Sig(Blk|Ign):\\t\\K.*' /proc/self/status")
        .await;
    // The C library keeps two numbers for itself.
    const OWN: u64 = 0b11 << 31;
    let sets: Vec<_> = said
        .lines()
        .map(|set| u64::from_str_radix(set, 16).unwrap() & !OWN)
        .collect();
    assert_eq!(sets, [0, 0], "{said}");
}
