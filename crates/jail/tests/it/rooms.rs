//! Commands follow each other in one room while each leaves it as it was. The
//! number of a command tells: the first in a room has 2, behind the first process.

use std::{fs, path::PathBuf};

use butler_jail::{Stdin, shell};

use crate::world::{World, text};

const NUMBER: &str = "echo $$";

async fn number(world: &World) -> u32 {
    world.ok(NUMBER).await.trim().parse().unwrap()
}

#[tokio::test]
async fn a_room_is_used_again_when_nothing_is_left_in_it() {
    let world = World::new();
    assert_eq!(number(&world).await, 2);
    for harmless in [
        "true",
        "exit 3",
        "kill -9 $$",
        "touch file; mkdir -p a/b; rm -r a",
        "f=$(mktemp); d=$(mktemp -d); rm -r $f $d; cat <<< text",
        "echo x > ~/x; rm ~/x; echo x > /dev/shm/x; rm /dev/shm/x",
        "(setsid sleep 1000 > /dev/null 2>&1 &); (sleep 1000 &); true",
        "kill -9 1; kill -TERM 1; kill -STOP 1; kill -9 -1; true",
        "ulimit -n 64; umask 0; cd /; nice -n 5 true; set -o pipefail",
        "m=$(ipcmk -M 4096); ipcrm -m ${m##* }",
    ] {
        world.sh(harmless).await;
        assert_ne!(number(&world).await, 2, "{harmless}");
    }
    assert_eq!(world.ok("ulimit -n; umask; pwd; nice").await, {
        let fresh = World::new();
        let said = fresh.ok("ulimit -n; umask; pwd; nice").await;
        said.replace(
            &fresh.root().display().to_string(),
            &world.root().display().to_string(),
        )
    });
}

#[tokio::test]
async fn a_room_in_which_something_is_left_is_not_used_again() {
    let world = World::new();
    let way = world.root().parent().unwrap().display().to_string();
    let python = |code: &str| format!("python3 -c \"{code}\"");
    // Landlock lets nobody open it, and the kernel has made it by then.
    let queue = "import ctypes; ctypes.CDLL(None).mq_open(b'/q', 0o102, 0o600, None)";
    let attribute = "import os; os.setxattr('/tmp', 'user.x', b'1')";
    for trace in [
        "echo x > /tmp/x",
        "echo x > ~/.profile",
        "mkdir /dev/shm/x",
        "ln -s /etc /tmp/etc",
        "chmod 1700 /tmp",
        "chmod 777 ~",
        "chmod 700 /dev/shm",
        "rmdir ~; mkdir ~",
        "rmdir ~; ln -s /usr ~",
        &format!("mv {way} /tmp/elsewhere"),
        "ipcmk -M 4096",
        "ipcmk -S 1",
        "ipcmk -Q",
        &python(queue),
        &python(attribute),
        &python("import os; os.setpriority(os.PRIO_USER, 0, 5)"),
        "ionice -c 3 -u $(id -u)",
        &python("import os; os.chmod('/dev/pts/ptmx', 0)"),
        &python("import os; os.chmod('/dev/pts', 0)"),
    ] {
        number(&world).await;
        let exit = world.sh(trace).await;
        if !exit.success() && (trace.contains("setxattr") || trace.contains("/dev/pts")) {
            // Not every kernel keeps such attributes in memory, and who is not root
            // does not own the terminals.
            continue;
        }
        assert!(exit.success(), "{trace}: {}", text(&exit));
        assert_eq!(number(&world).await, 2, "{trace}");
        assert_ne!(number(&world).await, 2, "{trace}");
    }
}

#[tokio::test]
async fn the_first_process_cannot_be_changed() {
    let world = World::new();
    number(&world).await;
    for change in [
        "prlimit --pid 1 --nofile=0:100",
        "prlimit --pid 1 --cpu=0",
        "renice -n 5 -p 1",
        "renice -n 5 -g 1",
        "taskset -p 1 1",
        "chrt --idle -p 0 1",
        "ionice -c 3 -p 1",
    ] {
        let exit = world.sh(change).await;
        assert!(!exit.success(), "{change}: {}", text(&exit));
        assert_ne!(number(&world).await, 2, "{change}");
    }
    world
        .ok("prlimit --pid $$ --nofile=100:100; nice true")
        .await;
}

#[tokio::test]
async fn no_file_that_runs_as_somebody_else_can_be_made() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let script = "\
import os
for mode in (0o2644, 0o4755, 0o6777):
    try:
        fd = os.open('.', os.O_TMPFILE | os.O_RDWR, mode)
        os.link(f'/proc/self/fd/{fd}', f'made{mode}', follow_symlinks=True)
    except OSError as error:
        print(error.errno)
os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)
";
    world.write("make.py", script);
    assert_eq!(world.ok("python3 make.py").await, "1\n1\n1\n");
    for entry in fs::read_dir(world.root()).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{entry:?}");
    }
}

#[tokio::test]
async fn a_command_that_shuts_everybody_out_of_its_folder_is_not_the_last_one() {
    let world = World::new();
    let shut = "import os; os.chmod('.', 0)";
    world.ok(&format!("python3 -c \"{shut}\"")).await;
    world.ok("touch file && ls").await;
}

#[tokio::test]
async fn when_a_folder_was_used_is_not_told() {
    let world = World::new();
    let times = "stat -c '%n %X %Y' /tmp /tmp/home /dev/shm";
    let before = world.ok(times).await;
    let uses = "sleep 1.1; touch ~/x /dev/shm/x; rm ~/x /dev/shm/x; touch -d 2001-01-01 /tmp";
    world.ok(uses).await;
    assert_eq!(world.ok(times).await, before);
    assert_ne!(number(&world).await, 2);
}

#[tokio::test]
async fn a_flow_label_does_not_outlive_its_socket() {
    let world = World::new();
    let script = "\
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there = socket.inet_pton(socket.AF_INET6, '::1')
label = struct.pack('!I', 0x12345) + struct.pack('BBHHHI', 0, 1, 1, 100, 100, 0)
s.setsockopt(41, 32, there + label)
";
    world.write("label.py", script);
    let exit = world.sh("python3 label.py").await;
    assert!(
        text(&exit).contains("Operation not permitted"),
        "{}",
        text(&exit)
    );
}

#[tokio::test]
async fn a_file_that_was_replaced_meanwhile_is_protected_as_it_is_then() {
    let mut world = World::new();
    let config = world.write(".git/config", "0");
    world.write(".git/refs", "");
    world.profile.protected = vec![config.clone()];
    assert_eq!(world.ok("cat .git/config").await, "0");
    // Twice in between, so that the number of the first file is free again.
    for round in 1..20 {
        for text in ["other".to_owned(), round.to_string()] {
            let lock = world.write(".git/config.lock", &text);
            fs::rename(lock, &config).unwrap();
        }
        let script = "cat .git/config; echo evil > .git/config";
        let exit = world.sh(script).await;
        assert!(!exit.success());
        assert!(
            text(&exit).starts_with(&round.to_string()),
            "{}",
            text(&exit)
        );
        assert_eq!(fs::read_to_string(&config).unwrap(), round.to_string());
    }
}

#[tokio::test]
async fn a_worktree_that_was_replaced_meanwhile_is_the_new_one() {
    let world = World::new();
    world.ok("echo old > file").await;
    fs::rename(world.root(), world.outside("old")).unwrap();
    fs::create_dir(world.root()).unwrap();
    world.ok("test ! -e file && echo new > file").await;
    assert_eq!(
        fs::read_to_string(world.root().join("file")).unwrap(),
        "new\n"
    );
    assert_eq!(
        fs::read_to_string(world.outside("old/file")).unwrap(),
        "old\n"
    );
}

#[tokio::test]
async fn other_places_or_limits_are_another_room() {
    let mut world = World::new();
    number(&world).await;
    world.profile.limits.memory_bytes /= 2;
    assert_eq!(number(&world).await, 2);
    world.write("secret", "x");
    world.profile.hidden = vec![world.root().join("secret")];
    assert_eq!(number(&world).await, 2);
    world.profile.limits.file_bytes = 1000;
    assert_ne!(number(&world).await, 2, "kept for each command");
    let exit = world.sh("head -c 2000 /dev/zero > large").await;
    assert!(!exit.success());
    world.profile.limits.file_bytes = 1 << 20;
    world.ok("head -c 2000 /dev/zero > large").await;
}

#[tokio::test]
async fn every_command_in_a_room_has_its_own_input_and_environment() {
    let world = World::new();
    for round in 0..3 {
        let mut command = shell("cat; echo \"$ROUND $0\"; env | wc -l", world.root());
        command.stdin = Stdin::Bytes(format!("input {round}\n").into());
        command.env.insert("ROUND".into(), round.to_string().into());
        let exit = world.run(command).await;
        let said = text(&exit);
        assert!(
            said.starts_with(&format!("input {round}\n{round} ")),
            "{said}"
        );
        assert_eq!(world.ok("cat; echo $ROUND").await, "\n");
    }
}

/// The first processes of all rooms that this process has.
fn first_processes() -> Vec<PathBuf> {
    let parent = |process: &fs::DirEntry| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let (_, about) = stat.rsplit_once(") ")?;
        about.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let children = |of: u32| -> Vec<fs::DirEntry> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes.filter(|one| parent(one) == Some(of)).collect()
    };
    let helpers = children(std::process::id()).into_iter();
    let helpers = helpers.filter_map(|one| one.file_name().to_str()?.parse().ok());
    helpers.flat_map(children).map(|one| one.path()).collect()
}

#[tokio::test]
async fn a_room_does_not_grow_with_its_commands() {
    let world = World::new();
    let memory = || {
        let [first] = &first_processes()[..] else {
            panic!("one room: {:?}", first_processes());
        };
        let status = fs::read_to_string(first.join("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
        kilobytes.parse::<u64>().unwrap()
    };
    let mut command = shell("exit 0", world.root());
    command.env.insert("LONG".into(), "x".repeat(20_000).into());
    for _ in 0..20 {
        world.run(command.clone()).await;
    }
    let before = memory();
    for _ in 0..100 {
        world.run(command.clone()).await;
    }
    assert!(number(&world).await > 100, "all in one room");
    assert!(memory() < before + 500, "{before} and {} kB", memory());
}

#[tokio::test]
async fn a_room_that_died_meanwhile_is_replaced() {
    let world = World::new();
    number(&world).await;
    let rooms = first_processes();
    assert_eq!(rooms.len(), 1);
    for room in rooms {
        let pid = room.file_name().unwrap().to_owned();
        let kill = std::process::Command::new("kill")
            .arg("-9")
            .arg(pid)
            .status();
        assert!(kill.unwrap().success());
        while room.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
    assert_eq!(number(&world).await, 2);
}

#[tokio::test]
async fn devices_of_the_host_stay_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = || fs::metadata("/dev/full").unwrap().permissions().mode();
    let before = mode();
    for change in [
        "os.chmod('/dev/full', 0o600)",
        "os.utime('/dev/full', (1, 1))",
    ] {
        let exit = world
            .sh(&format!("python3 -c \"import os; {change}\""))
            .await;
        assert!(!exit.success(), "{change}: {}", text(&exit));
    }
    assert_eq!(mode(), before);
    world
        .ok("echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom > r")
        .await;
}
