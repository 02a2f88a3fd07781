//! Every command has a cell of its own, which was built before it came where that
//! was possible. A command is the second process in it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_sandbox::{Stdin, shell};

use crate::world::{World, text, until};

const NUMBER: &str = "echo $$";

async fn number(world: &World) -> u32 {
    world.ok(NUMBER).await.trim().parse().unwrap()
}

/// All that a command could find of another one.
const LOOK: &str = "ls -AlR --time-style=+ /tmp /dev/shm | grep -v ^total; \
    stat -c '%n %a %u %g %h' /tmp /tmp/home /dev/shm /dev/pts /dev/pts/ptmx; \
    lsattr -d /tmp /tmp/home /dev/shm 2>&1; \
    tail -n +2 /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg; \
    tail -n +3 /proc/net/dev; tail -n +2 /proc/net/tcp; cat /proc/net/sockstat | head -1; \
    ls -A /dev/pts; ls -d /proc/[0-9]*; umask; ulimit -a; nice; ionice; taskset -p $$; \
    python3 -c \"import os; print([(f, os.listxattr(f)) for f in ('/tmp', '/tmp/home', '/dev/shm')])\"";

#[tokio::test]
async fn nothing_of_one_command_is_there_for_the_next() {
    let world = World::new();
    let way = world.root().parent().unwrap().display().to_string();
    let python = |code: &str| format!("python3 -c \"{code}\"");
    // A default ACL: what is made in the folder is everybody's to write.
    let acl = "import os, struct; e = lambda t, p: struct.pack('<HHI', t, p, 0xffffffff); \
         os.setxattr('/tmp', 'system.posix_acl_default', \
         struct.pack('<I', 2) + e(1, 7) + e(4, 7) + e(32, 7))";
    let flags = "import fcntl, os, struct; fd = os.open('/tmp', os.O_RDONLY); \
         fcntl.ioctl(fd, 0x40086602, struct.pack('L', 0x80))";
    let queue = "import ctypes; ctypes.CDLL(None).mq_open(b'/q', 0o102, 0o600, None)";
    let talks = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 8080)); s.listen(); \
         c = socket.create_connection(('127.0.0.1', 8080)); s.accept()[0].close(); c.close()";
    // A socket in its own mail keeps itself, and the port, for a while.
    let keeps = "import array, socket; s = socket.socket(); s.bind(('127.0.0.1', 8080)); \
         s.listen(); a, b = socket.socketpair(); a.sendmsg([b'x'], [(socket.SOL_SOCKET, \
         socket.SCM_RIGHTS, array.array('i', [a.fileno(), b.fileno(), s.fileno()]))])";
    let before = world.ok(LOOK).await;
    for trace in [
        "echo x > /tmp/x; echo x > ~/.profile; mkdir /dev/shm/x; ln -s /etc /tmp/etc",
        "chmod 1700 /tmp; chmod 777 ~; chmod 700 /dev/shm",
        "rmdir ~; ln -s /usr ~",
        &format!("mv {way} /tmp/elsewhere"),
        "ipcmk -M 4096; ipcmk -S 1; ipcmk -Q",
        "(setsid sleep 1000 &); umask 0; ulimit -n 100",
        "ionice -c 3 -u $(id -u)",
        &python(acl),
        &python(flags),
        &python(queue),
        &python(talks),
        &python(keeps),
        &python("import os; os.setpriority(os.PRIO_USER, 0, 5)"),
        &python("import os; os.setxattr('/tmp', 'user.x', b'1')"),
        &python("import os; os.chmod('/dev/pts/ptmx', 0)"),
    ] {
        // Not every kernel and user may do all of these; what was done must not stay.
        world.sh(trace).await;
        assert_eq!(world.ok(LOOK).await, before, "{trace}");
    }
}

#[tokio::test]
async fn a_cell_is_never_used_for_a_second_command() {
    let world = World::new();
    for harmless in [
        "true",
        "exit 3",
        "kill -9 $$",
        "cd /; umask 0",
        "touch file",
    ] {
        world.sh(harmless).await;
        assert_eq!(number(&world).await, 2, "{harmless}");
    }
}

#[tokio::test]
async fn the_next_cell_is_built_before_its_command_comes() {
    let world = World::new();
    world.ok("true").await;
    let mut found = 0;
    for _ in 0..10 {
        // The one before may still be there.
        until("no cell waits", || first_processes().len() == 1).await;
        let waiting = first_processes();
        let its_command = async {
            for _ in 0..100 {
                let pids = waiting.iter().filter_map(|first| pid_of(first));
                if pids.into_iter().any(|pid| !children(pid).is_empty()) {
                    return true;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            false
        };
        let (_, is_there) = tokio::join!(world.ok("sleep 0.3"), its_command);
        found += u32::from(is_there);
    }
    assert!(
        found >= 5,
        "{found} of 10 commands ran in a cell that waited"
    );
}

#[tokio::test]
async fn the_first_process_cannot_be_changed() {
    let world = World::new();
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
async fn what_was_built_for_other_places_or_limits_is_not_used() {
    let mut world = World::new();
    let size = "df --output=size /tmp | tail -1";
    let all: u64 = world.ok(size).await.trim().parse().unwrap();
    world.profile.limits.memory_bytes /= 2;
    let half: u64 = world.ok(size).await.trim().parse().unwrap();
    assert_eq!(half, all / 2);
    world.write("secret", "x");
    world.profile.hidden = vec![world.root().join("secret")];
    assert!(!world.sh("cat secret").await.success());
    world.profile.limits.file_bytes = 1000;
    let exit = world.sh("head -c 2000 /dev/zero > large").await;
    assert!(!exit.success());
    world.profile.limits.file_bytes = 1 << 20;
    world.ok("head -c 2000 /dev/zero > large").await;
}

#[tokio::test]
async fn every_command_has_its_own_input_and_environment() {
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

/// The first processes of all cells that this process has.
fn first_processes() -> Vec<PathBuf> {
    let helpers = children(std::process::id()).into_iter();
    let helpers = helpers.filter_map(|helper| pid_of(&helper));
    helpers.flat_map(children).collect()
}

/// The folders of a process's children.
fn children(of: u32) -> Vec<PathBuf> {
    let parent = |process: &PathBuf| {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        let (_, about) = stat.rsplit_once(") ")?;
        about.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.map(|process| process.path());
    processes.filter(|one| parent(one) == Some(of)).collect()
}

fn pid_of(process: &Path) -> Option<u32> {
    process.file_name()?.to_str()?.parse().ok()
}

#[tokio::test]
async fn a_cell_that_died_meanwhile_is_replaced() {
    let world = World::new();
    let running = async {
        loop {
            let runs = |cell: &PathBuf| pid_of(cell).is_some_and(|pid| !children(pid).is_empty());
            if let Some(cell) = first_processes().into_iter().find(runs) {
                return cell;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let (_, before) = tokio::join!(world.ok("sleep 0.3"), running);
    // Not the one that is on its way out.
    until(
        "no cell waits",
        || matches!(first_processes().as_slice(), [one] if *one != before),
    )
    .await;
    for cell in first_processes() {
        let pid = cell.file_name().unwrap().to_owned();
        let kill = std::process::Command::new("kill")
            .arg("-9")
            .arg(pid)
            .status();
        assert!(kill.unwrap().success());
        while cell.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
    assert_eq!(number(&world).await, 2);
}

const SOCKETS: &str = "\
import socket
for make in (socket.socket, socket.socketpair, lambda: socket.socket(socket.AF_UNIX)):
    try:
        make()
        print('made')
    except PermissionError:
        print('refused')
";
/// What a command could change or find of a network, and what it may do.
const STATE: &str = "tail -n +3 /proc/net/dev; tail -n +2 /proc/net/unix; \
    head -1 /proc/net/sockstat; grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status";

async fn without_sockets(world: &World, script: &str) -> String {
    let mut command = shell(script, world.root());
    command.sockets = false;
    let exit = world.run(command).await;
    assert!(exit.success(), "{script}: {}", text(&exit));
    text(&exit)
}

/// Whoever comes after whom: a cell that waits was built for one like the last.
#[tokio::test]
async fn a_command_without_sockets_has_none_and_one_with_them_a_network_of_its_own() {
    let world = World::new();
    world.write("make.py", SOCKETS);
    let host = fs::read_link("/proc/self/ns/net").unwrap();
    let network = "readlink /proc/self/ns/net";
    let talks = "python3 -c \"import socket; s = socket.socket(); s.bind(('127.0.0.1', 8080)); \
         s.listen(); c = socket.create_connection(('127.0.0.1', 8080)); c.close()\"";
    let mut networks = Vec::new();
    without_sockets(&world, "true").await;
    for _ in 0..3 {
        // In a cell that was built without a network, and then in one with.
        for _ in 0..2 {
            world.ok(talks).await;
        }
        networks.push(world.ok(network).await);
        // New each time: nothing of what was said in the one before. Its number may come again.
        let heard = world.ok("grep lo: /proc/net/dev").await;
        assert!(heard.starts_with("    lo:       0       0"), "{heard}");
        let rights = world
            .ok("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status")
            .await;
        without_sockets(&world, "true").await;
        assert_eq!(
            without_sockets(&world, "python3 make.py").await,
            "refused\n".repeat(3)
        );
        let dead = without_sockets(&world, network).await;
        assert_ne!(dead.trim(), host.to_string_lossy());
        assert!(!networks.contains(&dead));
        let state = without_sockets(&world, STATE).await;
        assert!(state.starts_with("    lo:       0       0"), "{state}");
        assert!(
            state.ends_with(&format!("sockets: used 0\n{rights}")),
            "{state}"
        );
        // The one that was built for a command without sockets has all walls too.
        without_sockets(&world, "true").await;
        until("no cell waits", || first_processes().len() == 1).await;
        assert_eq!(
            world
                .ok("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status")
                .await,
            rights
        );
        assert!(rights.contains("CapEff:\t0000000000000000") && rights.contains("Seccomp:\t2"));
    }
}

const QUEUES: &str = "\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for make in (lambda: libc.shmget(0, 4096, 0o600), lambda: libc.semget(0, 1, 0o600),
             lambda: libc.msgget(0, 0o600), lambda: libc.mq_open(b'/q', os.O_CREAT, 0o600, None)):
    print('refused' if make() == -1 and ctypes.get_errno() == 1 else 'made')
try:
    os.openpty()
    print('made')
except OSError:
    print('none')
";

/// Whoever comes after whom, as above.
#[tokio::test]
async fn a_command_without_sockets_has_no_queues_and_no_terminals_and_one_with_them_its_own() {
    let world = World::new();
    world.write("make.py", QUEUES);
    let host = fs::read_link("/proc/self/ns/ipc").unwrap();
    let left = "tail -qn +2 /proc/sysvipc/*";
    let limit = "cat /proc/sys/kernel/shmall";
    let namespace = "readlink /proc/self/ns/ipc";
    without_sockets(&world, "true").await;
    for _ in 0..3 {
        // In a cell that was built without them, and then in ones with.
        let limited = world.ok(limit).await;
        for _ in 0..2 {
            assert_eq!(world.ok("python3 make.py").await, "made\n".repeat(5));
            assert_eq!(world.ok(left).await, "");
            assert_eq!(world.ok(limit).await, limited);
        }
        assert!(limited.len() < 10, "{limited}");
        let own = world.ok(namespace).await;
        without_sockets(&world, "true").await;
        let refused = "refused\n".repeat(4) + "none\n";
        assert_eq!(without_sockets(&world, "python3 make.py").await, refused);
        let dead = without_sockets(&world, namespace).await;
        assert_ne!(dead.trim(), host.to_string_lossy());
        assert_ne!(dead, own);
        assert_eq!(without_sockets(&world, left).await, "");
    }
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
