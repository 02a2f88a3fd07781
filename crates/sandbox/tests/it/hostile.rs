//! The hostile command: everything the attacker knows, and what a shell adds.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    process::{Command, Stdio},
};

use butler_sandbox::Network;

use crate::world::{World, canary, helper, text};

#[tokio::test]
async fn every_attack_of_the_self_test_is_refused() {
    let world = World::new();
    let test = world.sandbox.self_test().await;
    let got_through: Vec<_> = test.probes.iter().filter(|probe| !probe.refused).collect();
    assert!(got_through.is_empty(), "{got_through:#?}");
    let names: BTreeSet<_> = test.probes.iter().map(|probe| &probe.name).collect();
    assert_eq!(names.len(), test.probes.len(), "two attacks with one name");
    assert!(names.len() >= 70, "only {} attacks", names.len());
    assert!(test.holds());
}

/// Attacks that do no harm outside and stay on this machine.
const BENIGN: &[&str] = &[
    "read a secret outside",
    "read a secret through a link",
    "hard link a secret into the worktree",
    "see the folder around the worktree",
    "learn the size of a secret",
    "write outside",
    "create a file outside",
    "read the person's home",
    "read a hidden file",
    "move a hidden file",
    "change a protected file",
    "replace a protected file",
    "move a protected folder away",
    "create a missing protected path",
    "link a missing protected path",
    "make a set-uid file by chmod",
    "make a set-uid file by open",
    "signal the caller",
    "see processes of the host",
    "read another process's memory",
    "clone with unreadable flags",
    "make a file without a name",
    "escape the memory killer",
    "reach the host's loopback",
    "reach a Unix socket of the host",
    "reach an abstract socket of the host",
    "listen where the host can hear",
];

/// The same attacks where there is no wall: they would notice a missing one.
#[test]
fn outside_the_sandbox_the_attacks_succeed() {
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let socket = world.outside("socket");
    let _unix = UnixListener::bind(&socket).unwrap();
    let name = format!("sandbox-test-{port}");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _named = UnixListener::bind_addr(&address).unwrap();
    let request = format!(
        r#"{{"attack":{{"secret":{secret:?},"outside":{outside:?},"worktree":{root:?},"hidden":{hidden:?},
        "protected":{protected:?},"missing":{missing:?},"home":{outside:?},"caller":{caller},"port":{port},
        "socket":{socket:?},"abstract_name":"{name}","only":{BENIGN:?}}}}}"#,
        secret = world.outside("secret"),
        outside = world.outside("").canonicalize().unwrap(),
        root = world.root(),
        hidden = world.write("hidden", "x"),
        protected = world.write("rules/policy", "x"),
        missing = world.root().join("missing"),
        caller = std::process::id(),
    );
    let mut child = Command::new(helper())
        .arg("__sandbox")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = request.replace('\n', " ") + "\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for attack in BENIGN {
        let through = format!(r#"{{"name":"{attack}","refused":false"#);
        assert!(text.contains(&through), "{attack} was refused\n{text}");
    }
}

/// What must be refused or come to nothing when a script tries it: a name, the
/// script, and what it prints when it got through.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "open TCP with bash",
        "exec 3<>/dev/tcp/192.0.2.1/80 && echo THROUGH",
    ),
    (
        "open UDP with bash",
        "echo x > /dev/udp/192.0.2.1/53 && echo THROUGH",
    ),
    ("resolve a name", "getent hosts example.com && echo THROUGH"),
    (
        "kill the first process",
        "kill -9 1; sleep 0.05; kill -STOP 1; kill -0 1 || echo THROUGH",
    ),
    (
        "kill everything",
        "(trap '' TERM; kill -TERM -1); echo still here | grep -q here || echo THROUGH",
    ),
    ("become root by sudo", "sudo -n id && echo THROUGH"),
    ("become root by su", "su -c id </dev/null && echo THROUGH"),
    (
        "run a set-uid program",
        "test -u /usr/bin/passwd && grep -q 'NoNewPrivs:.1' /proc/self/status || echo THROUGH",
    ),
    (
        "keep capabilities",
        "grep -E 'Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000 && echo THROUGH",
    ),
    (
        "make a namespace with unshare",
        "unshare -r true && echo THROUGH",
    ),
    (
        "mount over a cover",
        "mount -t tmpfs none .git && echo THROUGH",
    ),
    ("unmount a cover", "umount .git .vscode && echo THROUGH"),
    ("write to a device", "echo x > /dev/kmsg && echo THROUGH"),
    ("make a device", "mknod disk b 254 0 && echo THROUGH"),
    (
        "find a descriptor of the caller",
        "ls /proc/self/fd | grep -vE '^[0123]$' && echo THROUGH",
    ),
    (
        "find the caller's environment",
        "cat /proc/*/environ | tr '\\0' '\\n' | grep -E '^(CARGO_MANIFEST_DIR|LOGNAME|SSH_)' && echo THROUGH",
    ),
    (
        "see other processes",
        "test $(ls -d /proc/[0-9]* | wc -l) -le 6 || echo THROUGH",
    ),
    (
        "see the host's name",
        "test \"$(uname -n)\" = codebutler || echo THROUGH",
    ),
    (
        "write to /proc/sys",
        "echo 1 > /proc/sys/kernel/panic && echo THROUGH",
    ),
    (
        "change its own limits",
        "ulimit -f unlimited && echo THROUGH",
    ),
    (
        "find docker",
        "ls /var/run/docker.sock /run/docker.sock && echo THROUGH",
    ),
    (
        "find an ssh agent",
        "test -z \"$SSH_AUTH_SOCK\" || echo THROUGH",
    ),
    (
        "write a start-up file of the person",
        "echo x >> ~/.bashrc; grep -q x /root/.bashrc /home/*/.bashrc && echo THROUGH",
    ),
    (
        "remove the worktree",
        "rm -rf \"$PWD\"; test -d . && test -e .git || echo THROUGH",
    ),
    (
        "remove everything",
        "rm -rf --no-preserve-root / 2>/dev/null; test -x /usr/bin/env && test -e .git || echo THROUGH",
    ),
    (
        "write into the system",
        "for d in / /usr /usr/bin /etc /lib /opt /var /run /proc; do touch $d/x && echo THROUGH; done",
    ),
    (
        "replace the interpreter",
        "cp /bin/true /usr/local/bin/git && echo THROUGH",
    ),
    ("read kernel memory", "head -c1 /proc/kcore && echo THROUGH"),
    (
        "read cargo's login",
        "cat ${CARGO_HOME:-/x}/credentials.toml ${CARGO_HOME:-/x}/credentials && echo THROUGH",
    ),
    (
        "hold on to a terminal",
        "test -t 0 || test -t 1 || : < /dev/tty && echo THROUGH",
    ),
];

#[tokio::test]
async fn every_hostile_script_comes_to_nothing() {
    let mut world = World::new();
    world.write(".git", "gitdir: elsewhere\n");
    world.profile.protected = vec![world.root().join(".git"), world.root().join(".vscode")];
    for (name, script) in SCRIPTS {
        let exit = world.sh(script).await;
        assert!(!text(&exit).contains("THROUGH"), "{name}: {}", text(&exit));
        assert!(!text(&exit).contains(&canary()), "{name}");
    }
    assert_eq!(
        fs::read_to_string(world.outside("secret")).unwrap(),
        canary()
    );
    assert_eq!(
        fs::read_to_string(world.root().join(".git")).unwrap(),
        "gitdir: elsewhere\n"
    );
}

#[tokio::test]
async fn an_approved_command_reaches_the_network_and_still_no_sockets_of_the_host() {
    let mut world = World::new();
    world.profile.network = Network::Host;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    world
        .ok(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"))
        .await;
    // Still no way to a socket that is a name: not by path, not abstract.
    let name = format!("sandbox-host-{port}");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _named = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "command -v perl >/dev/null || exit 9; perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 2; \
         connect(S, pack(\"S a*\", AF_UNIX, \"\\0{name}\")) or exit 3;'"
    );
    let exit = world.sh(&script).await;
    assert!(
        matches!(exit.code, Some(2 | 3)),
        "{:?} {}",
        exit.code,
        text(&exit)
    );
}
