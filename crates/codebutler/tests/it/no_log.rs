//! A log that cannot be written: the thread and the process's own log say so
//! with the remedy, nothing is done that is not written down, and the work goes
//! on by itself once it can. Mounts in a namespace of our own, so root and an
//! ordinary user see the same.

use std::{fs, path::Path, process::Command};

use crate::{
    activation::model,
    activation_world::{NAMESPACE, Outcome, World},
};

const FULL: &str = "mkdir -p .codebutler/threads \
    && mount -t tmpfs -o size=1024k tmpfs .codebutler/threads";
const READ_ONLY: &str = "mkdir -p .codebutler/threads \
    && mount --bind .codebutler/threads .codebutler/threads \
    && mount -o remount,bind,ro .codebutler/threads";

/// Whether this machine lets us mount; loud where it does not, fatal in CI.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn can_mount() -> bool {
    let probe = [&NAMESPACE[1..], &["mount", "-t", "tmpfs", "tmpfs", "/mnt"]].concat();
    let possible = Command::new(NAMESPACE[0]).args(probe).output();
    let possible = possible.is_ok_and(|output| output.status.success());
    assert!(
        possible || std::env::var_os("CI").is_none(),
        "no mounts in a namespace on this machine"
    );
    if !possible {
        println!("SKIPPED: no mounts in a namespace on this machine");
    }
    possible
}

/// Without what was said about the trouble.
fn without_trouble(mut outcome: Outcome) -> Outcome {
    outcome
        .messages
        .retain(|message| !message.contains("I had to stop"));
    outcome
}

/// Nothing has begun that the log does not know of.
fn assert_recorded(world: &World, log: &Path) {
    let text = fs::read_to_string(log).unwrap_or_default();
    let begun = world.worktree().join("starts.log").exists();
    assert!(!begun || text.contains("\"Bash\""), "{text}");
    let written = world.worktree().join("docs/new.md").exists();
    assert!(!written || text.contains("\"Write\""), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_the_work_goes_on_when_there_is_space() {
    if !can_mount() {
        return;
    }
    let model = model().await;
    let mut undisturbed = World::start(&model.base_url(), None).await;
    let root = undisturbed.begin(|_| ()).await.unwrap();
    let expected = undisturbed.finish(&root).await.unwrap();
    let length = fs::metadata(undisturbed.conversation(&root)).unwrap().len();
    drop(undisturbed);
    // No room at all, and room for about half of it.
    for room in [0, length / 2] {
        let filler = 1_020 * 1024 - room;
        let script = format!("{FULL} && head -c {filler} /dev/zero > .codebutler/threads/filler");
        let mut world = World::start_in(&model.base_url(), None, Some(&script)).await;
        let root = world.begin(|_| ()).await.unwrap();
        // The person answers meanwhile, wherever the work stopped.
        let freed = async {
            world
                .until_said(&root, "Free some space on that disk")
                .await;
            assert!(world.logs().contains("No space left on device"));
            assert_recorded(&world, &world.conversation(&root));
            fs::remove_file(world.threads().join("filler")).unwrap();
        };
        let (outcome, ()) = tokio::join!(world.finish(&root), freed);
        let outcome = outcome.unwrap_or_else(|problem| panic!("{problem}\n{}", world.logs()));
        assert_eq!(without_trouble(outcome), expected, "room for {room}");
        assert_eq!(world.starts(), [1, 1]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_log_folder_is_told_and_nothing_is_done() {
    if !can_mount() {
        return;
    }
    let model = model().await;
    let steps = model.left_over().len();
    let mut world = World::start_in(&model.base_url(), None, Some(READ_ONLY)).await;
    let root = world.begin(|_| ()).await.unwrap();
    let thread = world.until_said(&root, "Make the folder writable").await;
    assert!(world.logs().contains("Read-only file system"));
    assert!(!world.worktree().join("docs/new.md").exists());
    assert_eq!(thread["cost"]["calls"].as_array().map(Vec::len), Some(0));
    assert_eq!(model.left_over().len(), steps, "no step was asked for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_of_another_process_is_left_alone_until_it_is_free() {
    let model = model().await;
    let mut world = World::start(&model.base_url(), None).await;
    let mut owner = None;
    let taken = |log: &Path| {
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let file = fs::File::create(log).unwrap();
        file.lock().unwrap();
        owner = Some(file);
    };
    let root = world.begin(taken).await.unwrap();
    world.until_said(&root, "Stop the other CodeButler").await;
    assert!(world.logs().contains("belongs to another process"));
    let log = world.conversation(&root);
    assert_eq!(fs::read_to_string(&log).unwrap(), "", "it was left alone");
    assert_recorded(&world, &log);
    drop(owner);
    let outcome = world.finish(&root).await;
    outcome.unwrap_or_else(|problem| panic!("{problem}\n{}", world.logs()));
    assert_eq!(world.starts(), [1, 1]);
}
