//! Limits that the kernel keeps, with a real control group around real commands. They
//! need a machine that has the second version of control groups with memory and
//! processes in it, and a test that may make one: elsewhere they say so.

use std::{fs, path::PathBuf, process::Command};

use butler_sandbox::{Ended, kernel_keeps_limits};

use crate::world::{World, text};

/// Set where the test runs inside a group that was made for it.
const INSIDE: &str = "BUTLER_TEST_CGROUP";

/// Where groups can be made that hand both controllers down, or why not.
fn made() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let top = mounts.lines().find_map(|line| {
        let (about, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ")
            .then(|| about.split(' ').nth(4))?
    });
    let top = PathBuf::from(top.ok_or("no control groups of the second version here")?);
    let has = fs::read_to_string(top.join("cgroup.controllers")).unwrap_or_default();
    for controller in ["memory", "pids"] {
        if !has.split_whitespace().any(|one| one == controller) {
            let at = top.display();
            return Err(format!(
                "{at} has no `{controller}` (it has `{}`)",
                has.trim()
            ));
        }
    }
    let hand_down = |folder: &PathBuf| {
        fs::write(folder.join("cgroup.subtree_control"), "+memory +pids")
            .map_err(|error| format!("{} hands nothing down: {error}", folder.display()))
    };
    hand_down(&top)?;
    let parent = top.join(format!("butler-test-{}", std::process::id()));
    fs::create_dir_all(parent.join("self")).map_err(|error| error.to_string())?;
    hand_down(&parent)?;
    Ok(parent)
}

#[test]
fn a_control_group_keeps_what_the_watch_cannot_count() {
    let parent = match made() {
        Ok(parent) => parent,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let inside = "cgroups::inside_a_group_of_our_own";
    let output = Command::new("sh")
        .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
        .arg(parent.join("self/cgroup.procs"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", inside, "--nocapture"])
        .env(INSIDE, &parent)
        .output()
        .unwrap();
    for group in [parent.join("self"), parent] {
        let _ = fs::remove_dir(group);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("1 passed"), "{said}");
}

/// Few sockets, and much in their buffers: no process holds it, no file does.
const FILLS: &str = "\
import socket
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(100)
held, sent = [], 0
for _ in range(120):
    one = socket.create_connection(listener.getsockname())
    other = listener.accept()[0]
    held.append(other)
    one.setblocking(False)
    try:
        while True:
            sent += one.send(b'x' * 65536)
    except BlockingIOError:
        held.append(one)
print(sent >> 20)
";

#[tokio::test]
async fn inside_a_group_of_our_own() {
    let Some(parent) = std::env::var_os(INSIDE).map(PathBuf::from) else {
        return;
    };
    assert_eq!(kernel_keeps_limits(), Ok(()));
    let mut world = World::new();
    world.write("fills.py", FILLS);
    world.profile.limits.memory_bytes = 2 << 30;
    let sent: u64 = world.ok("python3 fills.py").await.trim().parse().unwrap();
    assert!(sent > 100, "it would be too much for less: {sent} MiB");
    // And 128 MiB besides: less than the kernel needs for what was sent.
    world.profile.limits.memory_bytes = 40 << 20;
    let exit = world.sh("python3 fills.py").await;
    assert!(!exit.success(), "{}", text(&exit));
    world.profile.limits.memory_bytes = 2 << 30;
    // More than the group lets, all at once: before anybody looks.
    world.profile.limits.processes = 20;
    let exit = world
        .sh("for i in $(seq 600); do sleep 5 & done; wait")
        .await;
    let refused = text(&exit).contains("Resource temporarily unavailable");
    let stopped = exit.ended == Ended::TooManyProcesses;
    assert!(refused || stopped, "{exit:?}");
    let groups = || fs::read_dir(&parent).unwrap().flatten();
    let group = groups().find(|one| one.file_name().to_string_lossy().starts_with("codebutler-"));
    let limit = fs::read_to_string(group.unwrap().path().join("pids.max")).unwrap();
    assert_eq!(limit.trim(), "340");
    world.profile.limits.processes = 1024;
    world.ok("true").await;
    butler_sandbox::end_helpers();
    assert!(!groups().any(|one| one.file_name().to_string_lossy().starts_with("codebutler-")));
}
