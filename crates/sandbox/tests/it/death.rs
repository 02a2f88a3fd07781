//! Nothing survives: not the caller's death, not a dropped future, not a thread.

use std::{fs, path::Path, time::Duration};

use butler_sandbox::{Command, Stdin, shell};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::world::{World, helper, text};

/// Processes on this machine whose command line holds `mark`.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}

/// Waits until no process with `mark` is left; the test's own deadline otherwise.
async fn until_gone(mark: &str) {
    let gone = async {
        while alive(mark) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone)
        .await
        .unwrap_or_else(|_| panic!("{} still there", alive(mark)));
}

/// Waits until all three processes of [`stubborn`] have their command lines: a
/// child that was just forked still carries its parent's.
async fn until_up(mark: &str) {
    let up = async {
        while alive(mark) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), up)
        .await
        .unwrap_or_else(|_| panic!("only {} came up", alive(mark)));
}

/// A script that starts children which leave its group and ignore signals, and
/// says so; every process carries `mark` in its command line.
fn stubborn(mark: &str) -> String {
    format!(
        "trap '' TERM HUP INT; \
         setsid sh -c 'trap \"\" TERM HUP; : {mark}; sleep 1000; :' & \
         (setsid sh -c ': {mark}; sleep 1000; :' &) ; \
         : {mark}; echo up; sleep 1000; :"
    )
}

#[tokio::test]
async fn kill_9_of_the_caller_leaves_no_process() {
    let world = World::new();
    let mark = format!("mark-caller-{}", std::process::id());
    // This test binary again, as the caller that will be killed.
    let mut caller = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "death::the_caller_that_is_killed",
            "--nocapture",
            "--ignored",
        ])
        .env("JAIL_TEST_ROOT", world.root())
        .env("JAIL_TEST_SCRIPT", stubborn(&mark))
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let up = world.root().join("up");
    let started = async {
        while !up.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), started)
        .await
        .unwrap();
    until_up(&mark).await;
    caller.kill().await.unwrap();
    until_gone(&mark).await;
}

/// Not a test by itself: plays the caller above.
#[tokio::test]
#[ignore = "run by kill_9_of_the_caller_leaves_no_process"]
async fn the_caller_that_is_killed() {
    let (Ok(root), Ok(script)) = (
        std::env::var("JAIL_TEST_ROOT"),
        std::env::var("JAIL_TEST_SCRIPT"),
    ) else {
        return;
    };
    let sandbox = butler_sandbox::Sandbox::new(helper()).unwrap();
    let profile = butler_sandbox::Profile::new(&root);
    let (sender, mut receiver) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let command = shell(&script, &root);
    let run = sandbox.run(&command, &profile, &cancel, Some(sender));
    let tell = async {
        receiver.recv().await.unwrap();
        fs::write(Path::new(&root).join("up"), "").unwrap();
    };
    let _ = tokio::join!(run, tell);
}

#[tokio::test]
async fn a_dropped_future_leaves_no_process_and_no_placeholder() {
    let mut world = World::new();
    world.profile.protected = vec![world.root().join("missing/file")];
    let mark = format!("mark-drop-{}", std::process::id());
    let (sender, mut receiver) = mpsc::channel(1);
    let command = shell(&stubborn(&mark), world.root());
    let cancel = CancellationToken::new();
    {
        let run = world
            .sandbox
            .run(&command, &world.profile, &cancel, Some(sender));
        tokio::pin!(run);
        tokio::select! {
            _ = &mut run => panic!("it must not end"),
            line = receiver.recv() => assert_eq!(line.unwrap(), b"up\n"),
        }
        until_up(&mark).await;
        assert!(world.root().join("missing").exists());
    }
    until_gone(&mark).await;
    let tidy = async {
        while world.root().join("missing").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), tidy)
        .await
        .unwrap();
}

#[tokio::test]
async fn after_cancel_nothing_is_left_when_run_returns() {
    let world = World::new();
    let mark = format!("mark-cancel-{}", std::process::id());
    let cancel = CancellationToken::new();
    let (sender, mut receiver) = mpsc::channel(1);
    let command = shell(&stubborn(&mark), world.root());
    let run = world
        .sandbox
        .run(&command, &world.profile, &cancel, Some(sender));
    let stop = async {
        receiver.recv().await.unwrap();
        cancel.cancel();
    };
    let (exit, ()) = tokio::join!(run, stop);
    assert_eq!(alive(&mark), 0, "{:?}", exit.unwrap());
}

#[test]
fn a_command_outlives_the_thread_that_asked_for_it() {
    // A child dies with the thread that made it, so it must not be this one.
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (sandbox, profile) = (world.sandbox.clone(), world.profile.clone());
    let command = Command {
        argv: vec![
            "/bin/sh".into(),
            "-c".into(),
            "read line < go; echo lived".into(),
        ],
        cwd: world.root().to_owned(),
        env: Default::default(),
        stdin: Stdin::Null,
        direct: Vec::new(),
        sockets: true,
    };
    runtime.block_on(world.ok("mkfifo go"));
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let handle = runtime.handle().clone();
    std::thread::spawn(move || {
        let mut run = Box::pin(async move {
            sandbox
                .run(&command, &profile, &CancellationToken::new(), None)
                .await
        });
        // Polled once here, so that it starts here; then it moves to the runtime.
        handle.block_on(async {
            tokio::select! {
                biased;
                _ = &mut run => panic!("too early"),
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
        });
        handle.spawn(async move {
            let _ = sender.send(run.await);
        });
    })
    .join()
    .unwrap();
    let exit = runtime.block_on(async {
        tokio::fs::write(world.root().join("go"), "\n")
            .await
            .unwrap();
        receiver.await.unwrap().unwrap()
    });
    assert_eq!(text(&exit), "lived\n");
}
