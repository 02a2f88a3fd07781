//! A program that is talked to while it runs.

use std::{os::unix::net::UnixStream as StdStream, time::Duration};

use butler_sandbox::{Exit, SandboxError, shell};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// Starts a script; the way to talk to it, and how it will have ended.
fn serve(
    world: &World,
    script: &str,
    cancel: &CancellationToken,
) -> (UnixStream, JoinHandle<Result<Exit, SandboxError>>) {
    let (ours, theirs) = StdStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let (sandbox, profile) = (world.sandbox.clone(), world.profile.clone());
    let (command, cancel) = (shell(script, world.root()), cancel.clone());
    let running = tokio::spawn(async move {
        let serving = sandbox.serve(&command, &profile, &cancel, theirs.into());
        serving.await
    });
    (UnixStream::from_std(ours).unwrap(), running)
}

#[tokio::test]
async fn what_is_said_is_answered_and_the_end_of_the_talk_ends_the_program() {
    let world = World::new();
    let script = "echo started >&2; while read -r line; do echo \"<$line>\"; done; echo bye >&2";
    let (talk, running) = serve(&world, script, &CancellationToken::new());
    let (read, mut write) = talk.into_split();
    let mut lines = BufReader::new(read).lines();
    for word in ["one", "two"] {
        write
            .write_all(format!("{word}\n").as_bytes())
            .await
            .unwrap();
        let answer = lines.next_line().await.unwrap();
        assert_eq!(answer, Some(format!("<{word}>")));
    }
    drop(write);
    let exit = running.await.unwrap().unwrap();
    assert!(exit.success(), "{exit:?}");
    // Only what was said beside the talk.
    assert_eq!(exit.output, b"started\nbye\n");
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_program_that_ignores_the_end_of_the_talk_is_ended_with_its_children() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let script = "trap '' TERM HUP; (setsid sleep 1000 &); echo up; while :; do sleep 1000; done";
    let (mut talk, running) = serve(&world, script, &cancel);
    let mut up = [0; 3];
    talk.read_exact(&mut up).await.unwrap();
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(5), running).await;
    ended.unwrap().unwrap().unwrap();
    // The last holder of the other end is gone.
    assert_eq!(talk.read(&mut [0; 8]).await.unwrap(), 0);
}
