//! Too much of everything: processes, memory, disk, output. Each is contained,
//! also for root, and the next command works.

use std::{fs, time::Duration};

use butler_sandbox::{Ended, shell};

use crate::world::{World, text};

#[tokio::test]
async fn a_fork_bomb_is_contained() {
    let mut world = World::new();
    world.profile.limits.processes = 40;
    world.profile.limits.wall = Duration::from_secs(2);
    let exit = world
        .sh("bomb() { bomb | bomb & }; bomb; wait; sleep 60")
        .await;
    // The kernel gives no more processes and the bomb starves until its time is
    // over; a kernel that cannot count them leaves that to the watch.
    assert!(
        matches!(exit.ended, Ended::TimedOut | Ended::TooManyProcesses),
        "{exit:?}"
    );
    world.profile.limits.processes = 1024;
    assert_eq!(world.ok("echo fine").await, "fine\n");
}

#[tokio::test]
async fn more_processes_than_allowed_are_not_given() {
    let mut world = World::new();
    world.profile.limits.processes = 20;
    let mut command = shell("", world.root());
    // Not bash, which waits and tries again when it gets no process.
    let script = "for i in $(seq 1 1000); do sleep 60 & echo $i; done";
    command.argv = vec!["/bin/sh".into(), "-c".into(), script.into()];
    let exit = world.run(command).await;
    let given = text(&exit)
        .lines()
        .filter_map(|line| line.parse::<u32>().ok())
        .max();
    let given = given.unwrap_or(0);
    assert!(given >= 10, "{}", text(&exit));
    assert!(
        exit.ended == Ended::TooManyProcesses || given < 20 + 300,
        "{given}"
    );
}

#[tokio::test]
async fn memory_over_all_processes_is_contained() {
    let mut world = World::new();
    world.profile.limits.memory_bytes = 256 << 20;
    world.profile.limits.wall = Duration::from_secs(60);
    // Four processes of 100 MB each: none too large alone.
    let script = "for i in 1 2 3 4; do \
        head -c 100000000 /dev/zero | tail -c 99000000 | (sleep 50; cat) >/dev/null & done; wait";
    let exit = world.sh(script).await;
    assert_eq!(exit.ended, Ended::OutOfMemory, "{}", text(&exit));
}

#[tokio::test]
async fn memory_in_tmp_counts_and_is_bounded() {
    let mut world = World::new();
    world.profile.limits.memory_bytes = 64 << 20;
    let exit = world
        .sh("head -c 200000000 /dev/zero > /tmp/big; echo $?")
        .await;
    assert_eq!(text(&exit).lines().last(), Some("1"), "{}", text(&exit));
}

#[tokio::test]
async fn a_single_file_cannot_be_larger_than_allowed() {
    let mut world = World::new();
    world.profile.limits.file_bytes = 1 << 20;
    let exit = world.sh("head -c 5000000 /dev/zero > big; echo").await;
    assert!(exit.code.is_some());
    assert_eq!(
        fs::metadata(world.root().join("big")).unwrap().len(),
        1 << 20
    );
}

#[tokio::test]
async fn filling_the_disk_with_many_files_is_contained() {
    let mut world = World::new();
    world.profile.limits.disk_bytes = 100 << 20;
    world.profile.limits.wall = Duration::from_secs(60);
    let exit = world
        .sh("for i in $(seq 1 100000); do head -c 10000000 /dev/urandom > f$i; done")
        .await;
    assert_eq!(exit.ended, Ended::DiskFull, "{}", text(&exit));
}

#[tokio::test]
async fn an_output_flood_is_cut_and_then_stopped() {
    let mut world = World::new();
    world.profile.limits.output_bytes = 64 << 10;
    world.profile.limits.wall = Duration::from_secs(60);
    let exit = world.sh("yes").await;
    assert_eq!(exit.ended, Ended::OutputFlood);
    assert_eq!(exit.output.len(), 64 << 10);
    assert!(exit.cut > 60 << 20, "{}", exit.cut);
}

/// Files that are deleted while they are open have no name by which they could be found.
#[tokio::test]
async fn filling_the_disk_with_deleted_files_is_contained() {
    let mut world = World::new();
    world.profile.limits.disk_bytes = 100 << 20;
    world.profile.limits.wall = Duration::from_secs(60);
    let script = "for i in $(seq 10 99); do eval \"exec $i>f\"; rm f; \
        head -c 10000000 /dev/urandom >&$i; done; sleep 60";
    let exit = world.sh(script).await;
    assert_eq!(exit.ended, Ended::DiskFull, "{}", text(&exit));
}

/// The same through a mapping alone: the descriptor is closed.
#[tokio::test]
async fn filling_the_disk_with_files_that_are_only_mapped_is_contained() {
    let mut world = World::new();
    world.profile.limits.disk_bytes = 100 << 20;
    world.profile.limits.file_bytes = 20 << 20;
    world.profile.limits.wall = Duration::from_secs(60);
    let script = "import mmap, os, time\nkept = []\nfor i in range(60):\n    f = open('f', 'wb+')\n    \
        os.unlink('f')\n    f.write(os.urandom(10_000_000))\n    f.flush()\n    \
        kept.append(mmap.mmap(f.fileno(), 4096))\n    f.close()\ntime.sleep(60)\n";
    if !has_python() {
        return;
    }
    world.write("fill.py", script);
    let exit = world.sh("python3 fill.py").await;
    assert_eq!(exit.ended, Ended::DiskFull, "{}", text(&exit));
}

/// What waits in a socket belongs to no process.
#[tokio::test]
async fn memory_in_the_buffers_of_sockets_is_contained() {
    let mut world = World::new();
    world.profile.limits.memory_bytes = 512 << 20;
    world.profile.limits.wall = Duration::from_secs(60);
    if !has_python() {
        return;
    }
    let script = "import socket, time\nkept = []\nwhile len(kept) < 6000:\n    \
        a, b = socket.socketpair()\n    a.setblocking(False)\n    kept.append((a, b))\n    \
        try:\n        while True: a.send(b'x' * 65536)\n    except BlockingIOError: pass\n\
        time.sleep(60)\n";
    world.write("fill.py", script);
    let exit = world.sh("python3 fill.py").await;
    assert_eq!(exit.ended, Ended::OutOfMemory, "{}", text(&exit));
    // A few hundred are nothing.
    let few = "import socket\nkept = [socket.socketpair() for _ in range(300)]\nprint(len(kept))\n";
    world.write("few.py", few);
    assert_eq!(world.ok("python3 few.py").await, "300\n");
}

#[tokio::test]
async fn deleted_files_in_tmp_count_and_are_bounded() {
    let mut world = World::new();
    world.profile.limits.memory_bytes = 64 << 20;
    let script = "exec 9>/tmp/big; rm /tmp/big; head -c 200000000 /dev/zero >&9; echo $?";
    let exit = world.sh(script).await;
    assert_eq!(text(&exit).lines().last(), Some("1"), "{}", text(&exit));
}

#[expect(
    clippy::print_stdout,
    reason = "a skipped test must not look like a passed one"
)]
fn has_python() -> bool {
    let found = std::path::Path::new("/usr/bin/python3").exists();
    if !found {
        println!("SKIPPED: no python3 here");
    }
    found
}
