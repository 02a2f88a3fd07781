//! Ways out of the root. Each is refused, and what lies outside stays as it was.

use std::{
    os::unix::{fs::symlink, net::UnixListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::fixture::Fixture;

const SECRET: &str = "canary-outside";

/// A root next to a secret, with every kind of link to it.
fn hostile() -> Fixture {
    let fixture = Fixture::new();
    fixture.outside("secret", &format!("{SECRET}\n"));
    fixture.outside("folder/secret", &format!("{SECRET}\n"));
    fixture.write("plain.txt", "inside\n");
    fixture.write("sub/file.txt", "inside\n");
    let link = |target: &str, name: &str| symlink(target, fixture.root.join(name)).unwrap();
    link("../secret", "rel");
    link("../folder", "reldir");
    let scratch = fixture.scratch.path().canonicalize().unwrap();
    symlink(scratch.join("secret"), fixture.root.join("abs")).unwrap();
    symlink(scratch.join("folder"), fixture.root.join("absdir")).unwrap();
    link("rel", "chain");
    link("sub/../../secret", "winding");
    link("..", "up");
    link("/proc/self/root", "procroot");
    link("/proc/self/cwd", "proccwd");
    link("/proc/self/fd/0", "fd");
    link("/proc/self/environ", "environ");
    link("/dev/zero", "zero");
    link("loop2", "loop1");
    link("loop1", "loop2");
    link(".git", "gitlink");
    fixture.write(".git/config", SECRET);
    fixture
}

fn ways_to_the_secret(fixture: &Fixture) -> Vec<String> {
    let scratch = fixture.scratch.path().canonicalize().unwrap();
    let mut ways: Vec<String> = [
        "../secret",
        "./../secret",
        "sub/../../secret",
        "rel",
        "reldir/secret",
        "abs",
        "absdir/secret",
        "chain",
        "winding",
        "up/secret",
        "up/folder/secret",
        "loop1",
        "environ",
        "procroot/etc/hostname",
        "proccwd/Cargo.toml",
        "fd",
        "zero",
        "/proc/self/environ",
        "/proc/self/root/etc/hostname",
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "~/.ssh/id_rsa",
        "gitlink/config",
        ".git/config",
        ".GIT/config",
        "sub/../.git/config",
        "plain.txt/../../secret",
    ]
    .map(str::to_owned)
    .to_vec();
    ways.push(scratch.join("secret").display().to_string());
    ways.push(format!("{}-evil/secret", fixture.root.display()));
    ways.push(format!("{}/../secret", fixture.root.display()));
    ways.push(format!("{}/rel", fixture.root.display()));
    ways
}

/// Every tool that takes a path.
fn every_use(way: &str) -> [(&'static str, Value); 5] {
    [
        ("Read", json!({"path": way})),
        ("Grep", json!({"pattern": "canary|root:", "path": way})),
        ("Glob", json!({"pattern": "**", "path": way})),
        ("Write", json!({"path": way, "content": "overwritten"})),
        (
            "Edit",
            json!({"path": way, "old": "canary", "new": "overwritten"}),
        ),
    ]
}

#[tokio::test]
async fn no_spelling_and_no_link_reads_or_writes_outside() {
    let fixture = hostile();
    for way in ways_to_the_secret(&fixture) {
        for (tool, arguments) in every_use(&way) {
            let outcome = fixture.call(tool, arguments).await;
            assert!(!outcome.ok, "{tool} {way}: {}", outcome.text);
            assert!(
                !outcome.text.contains(SECRET),
                "{tool} {way}: {}",
                outcome.text
            );
        }
    }
    let outside = |name: &str| std::fs::read_to_string(fixture.scratch.path().join(name)).unwrap();
    assert_eq!(outside("secret"), format!("{SECRET}\n"));
    assert_eq!(outside("folder/secret"), format!("{SECRET}\n"));
    assert_eq!(fixture.read(".git/config"), SECRET);
    let names: Vec<_> = std::fs::read_dir(fixture.scratch.path()).unwrap().collect();
    assert_eq!(names.len(), 3, "nothing new next to the root: {names:?}");
}

/// Spellings that some program somewhere takes for `..`, for another root or for
/// the repository's own folder. Those that are names of nothing may be written,
/// inside; none of them shows or changes what lies outside.
const SPELLINGS: &[&str] = &[
    "",
    ".",
    "..",
    "/",
    "//",
    "../",
    "../..",
    "./..",
    "sub/..",
    "sub/../..",
    "//etc/passwd",
    "///etc//passwd",
    "/./etc/passwd",
    "/../etc/passwd",
    "sub/./../../secret",
    "sub//..//..//secret",
    "sub/../sub/../../secret",
    "reldir/../secret",
    "absdir/../secret",
    "absdir/../folder/secret",
    "up/../secret",
    "up/sub/../secret",
    "chain/",
    "rel/.",
    "reldir/.",
    "reldir//secret",
    "reldir/./secret",
    "procroot/proc/self/root/etc/passwd",
    "/proc/self/cwd/../secret",
    "/proc/thread-self/root/etc/passwd",
    "/proc/1/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/self/mem",
    "/dev/fd/0",
    "/dev/tty",
    "/sys/kernel/notes",
    "....//secret",
    ".. /secret",
    " ../secret",
    "../secret ",
    "..\\secret",
    "..%2fsecret",
    "%2e%2e/secret",
    "\u{2024}\u{2024}/secret",
    "\u{ff0e}\u{ff0e}/secret",
    "..\u{2215}secret",
    "..\u{200b}/secret",
    "a\0/../../secret",
    "../secret\0.txt",
    "file:///etc/passwd",
    "file://../secret",
    "$HOME/.ssh/id_rsa",
    "${PWD}/../secret",
    "~root/.bashrc",
    "~/../etc/passwd",
    ".git",
    ".git/",
    "./.git/config",
    ".git//config",
    ".Git/config",
    ".giT/hooks/pre-commit",
    "sub/../.git/hooks/post-checkout",
    "gitlink",
    "gitlink/hooks/pre-commit",
    "gitlink/../.git/config",
    "plain.txt/..",
    "plain.txt/../plain.txt/../../secret",
];

#[tokio::test]
async fn no_spelling_that_some_program_takes_for_another_leads_out() {
    let fixture = hostile();
    let scratch = fixture.scratch.path().canonicalize().unwrap();
    let mut ways: Vec<String> = SPELLINGS.iter().map(|way| (*way).to_owned()).collect();
    let name = scratch.file_name().unwrap().to_string_lossy();
    ways.push(format!("up/../{name}/secret"));
    ways.push(format!("../../{name}/secret"));
    ways.push(format!("/proc/self/root{}/secret", scratch.display()));
    ways.push(format!("{}/sub/../../secret", fixture.root.display()));
    ways.push(format!("{}//..//secret", fixture.root.display()));
    ways.push("x/".repeat(3000) + "y");
    ways.push("../".repeat(300) + "etc/passwd");
    for way in &ways {
        for (tool, arguments) in every_use(way) {
            let outcome = fixture.call(tool, arguments).await;
            let shows = outcome.text.contains(SECRET) || outcome.text.contains("root:x:0");
            assert!(!shows, "{tool} {way:?}: {}", outcome.text);
        }
    }
    let outside = |name: &str| std::fs::read_to_string(scratch.join(name)).unwrap();
    assert_eq!(outside("secret"), format!("{SECRET}\n"));
    assert_eq!(outside("folder/secret"), format!("{SECRET}\n"));
    assert_eq!(fixture.read(".git/config"), SECRET);
    assert_eq!(fixture.read("plain.txt"), "inside\n");
    let hooks = fixture.root.join(".git").read_dir().unwrap().count();
    assert_eq!(hooks, 1, "nothing new in the repository's own folder");
    let names: Vec<_> = scratch.read_dir().unwrap().collect();
    assert_eq!(names.len(), 3, "nothing new next to the root: {names:?}");
}

#[tokio::test]
async fn searches_do_not_follow_links() {
    let fixture = hostile();
    let found = fixture.call("Grep", json!({"pattern": "canary"})).await;
    assert!(found.text.starts_with("no line matches"), "{}", found.text);
    let listed = fixture.call("Glob", json!({"pattern": "**/*"})).await;
    assert_eq!(listed.text, "2 files\nplain.txt\nsub/file.txt\n");
}

#[tokio::test]
async fn links_that_stay_inside_are_read_and_not_written_through() {
    let fixture = Fixture::new();
    fixture.write("AGENTS.md", "rules\n");
    fixture.write("docs/a.md", "text\n");
    symlink("AGENTS.md", fixture.root.join("CLAUDE.md")).unwrap();
    symlink("docs", fixture.root.join("manual")).unwrap();
    assert!(
        fixture
            .call("Read", json!({"path": "CLAUDE.md"}))
            .await
            .text
            .contains("rules")
    );
    assert!(
        fixture
            .call("Read", json!({"path": "manual/a.md"}))
            .await
            .text
            .contains("text")
    );
    let refused = fixture
        .call(
            "Edit",
            json!({"path": "CLAUDE.md", "old": "rules", "new": "x"}),
        )
        .await;
    assert!(
        refused
            .text
            .contains("symbolic link to `AGENTS.md`: name the real file"),
        "{}",
        refused.text
    );
    let refused = fixture
        .call("Write", json!({"path": "manual/b.md", "content": "x"}))
        .await;
    assert!(refused.text.contains("link to `docs`"), "{}", refused.text);
    assert!(fixture.root.join("CLAUDE.md").is_symlink());
}

#[tokio::test]
async fn pipes_devices_and_sockets_are_refused_without_waiting() {
    let fixture = Fixture::new();
    let make = |name: &str, kind: FileType| {
        rustix::fs::mknodat(
            CWD,
            fixture.root.join(name),
            kind,
            Mode::from_raw_mode(0o666),
            0,
        )
    };
    make("pipe", FileType::Fifo).unwrap();
    std::fs::create_dir(fixture.root.join("folder")).unwrap();
    rustix::fs::mknodat(
        CWD,
        fixture.root.join("folder/.gitignore"),
        FileType::Fifo,
        Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(fixture.root.join("socket")).unwrap();
    let mut names = vec!["pipe", "socket"];
    // Only root may make a device.
    let zero = rustix::fs::makedev(1, 5);
    if rustix::fs::mknodat(
        CWD,
        fixture.root.join("device"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o666),
        zero,
    )
    .is_ok()
    {
        names.push("device");
    }
    for name in names {
        for (tool, arguments) in [
            ("Read", json!({"path": name})),
            ("Write", json!({"path": name, "content": "x"})),
            ("Edit", json!({"path": name, "old": "a", "new": "b"})),
        ] {
            let refused = fixture.call(tool, arguments).await;
            assert!(!refused.ok, "{tool} {name}");
            assert!(!refused.text.starts_with("timed out"), "{tool} {name}");
        }
    }
    let found = fixture.call("Grep", json!({"pattern": "."})).await;
    assert!(found.text.starts_with("no line matches"), "{}", found.text);
}

#[tokio::test]
async fn hard_links_are_neither_read_nor_written_through() {
    let fixture = Fixture::new();
    let secret = fixture.outside("secret", &format!("{SECRET}\n"));
    std::fs::hard_link(&secret, fixture.root.join("hard")).unwrap();
    fixture.write("node_modules/x/index.js", "dependency\n");
    std::fs::hard_link(
        fixture.root.join("node_modules/x/index.js"),
        fixture.scratch.path().join("store"),
    )
    .unwrap();
    let read = fixture.call("Read", json!({"path": "hard"})).await;
    assert!(
        read.text.contains("2 hard links") && !read.text.contains(SECRET),
        "{}",
        read.text
    );
    let found = fixture.call("Grep", json!({"pattern": "canary"})).await;
    assert!(found.text.contains("1 files skipped"), "{}", found.text);
    let edit = fixture
        .call("Edit", json!({"path": "hard", "old": "canary", "new": "x"}))
        .await;
    assert!(!edit.ok, "{}", edit.text);
    let _ = fixture
        .call("Write", json!({"path": "hard", "content": "mine\n"}))
        .await;
    assert_eq!(
        std::fs::read_to_string(&secret).unwrap(),
        format!("{SECRET}\n")
    );
    // Package managers link files of their store; those stay readable.
    let read = fixture
        .call("Read", json!({"path": "node_modules/x/index.js"}))
        .await;
    assert!(read.ok, "{}", read.text);
}

#[tokio::test]
async fn odd_names_are_ordinary_files() {
    let fixture = Fixture::new();
    for name in [
        " leading",
        "trailing ",
        "tab\there",
        "new\nline",
        "-rf",
        "*",
        "a:b",
        "ünï",
        "u\u{308}",
        "名前",
        "..x",
        "x..",
        "...",
        "CON",
        "$(id)",
        "`id`",
        "a\\b",
        "\u{202e}gpj",
        "~tilde",
    ] {
        let path = format!("odd/{name}");
        let written = fixture
            .call(
                "Write",
                json!({"path": path, "content": format!("{name}\n")}),
            )
            .await;
        assert!(written.ok, "{name:?}: {}", written.text);
        assert_eq!(fixture.read(&path), format!("{name}\n"));
        assert!(
            fixture.call("Read", json!({"path": path})).await.ok,
            "{name:?}"
        );
    }
    // Case and normal form tell files apart, as the file system does.
    for name in ["File", "file", "é", "e\u{301}"] {
        assert!(
            fixture
                .call(
                    "Write",
                    json!({"path": format!("case/{name}"), "content": name})
                )
                .await
                .ok
        );
    }
    assert_eq!(
        std::fs::read_dir(fixture.root.join("case"))
            .unwrap()
            .count(),
        4
    );
    let long = "x".repeat(255);
    assert!(
        fixture
            .call("Write", json!({"path": long, "content": "x"}))
            .await
            .ok
    );
    let longer = "x".repeat(256);
    assert!(
        !fixture
            .call("Write", json!({"path": longer, "content": "x"}))
            .await
            .ok
    );
    let deep = "d/".repeat(60) + "f";
    assert!(
        fixture
            .call("Write", json!({"path": deep, "content": "x"}))
            .await
            .ok
    );
}

/// A thread swaps a folder, and a file, for links to the outside and back as
/// fast as it can, while tools use them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_racing_swap_never_leads_out() {
    let fixture = Fixture::new();
    fixture.outside("folder/file.txt", &format!("{SECRET}\n"));
    fixture.write("real/file.txt", "inside\n");
    let done = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (root, done) = (fixture.root.clone(), done.clone());
        move || {
            let (spot, link) = (root.join("spot"), root.join(".link"));
            symlink("../folder", &link).unwrap();
            std::fs::rename(root.join("real"), &spot).unwrap();
            let mut swaps = 0_u32;
            while !done.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &spot, CWD, &link, exchange).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let mut good = 0;
    for round in 0..150 {
        for (tool, arguments) in [
            ("Read", json!({"path": "spot/file.txt"})),
            ("Grep", json!({"pattern": "canary"})),
            ("Grep", json!({"pattern": "canary", "path": "spot"})),
            (
                "Write",
                json!({"path": "spot/file.txt", "content": format!("inside {round}\n")}),
            ),
            ("Write", json!({"path": "spot/new.txt", "content": "new\n"})),
            (
                "Edit",
                json!({"path": "spot/file.txt", "old": "inside", "new": "inside still"}),
            ),
        ] {
            let outcome = fixture.call(tool, arguments).await;
            assert!(!outcome.text.contains(SECRET), "{tool}: {}", outcome.text);
            good += u32::from(outcome.ok && tool != "Grep");
        }
    }
    done.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(swaps > 100, "the race was not run: {swaps}");
    assert!(good > 0, "no call hit the folder while it was there");
    let folder = fixture.scratch.path().join("folder");
    assert_eq!(
        std::fs::read_to_string(folder.join("file.txt")).unwrap(),
        format!("{SECRET}\n")
    );
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        1,
        "nothing was made outside"
    );
}
