//! Ordinary work inside: the toolchains of this machine build and test small
//! projects, also ones that listen on the loopback. A toolchain that is not
//! installed is skipped, and says so; in CI nothing is skipped.

use std::{process::Command, time::Duration};

use crate::world::{World, text};

#[expect(
    clippy::print_stdout,
    reason = "a skipped test must not look like a passed one"
)]
fn installed(program: &str) -> bool {
    let asks = if program == "go" {
        "version"
    } else {
        "--version"
    };
    let found = Command::new(program).arg(asks).output().is_ok();
    assert!(
        found || std::env::var_os("CI").is_none(),
        "{program} is required here: cargo xtask setup"
    );
    if !found {
        println!("SKIPPED: no {program} here; `cargo xtask setup` installs what is missing");
    }
    found
}

async fn builds(world: &mut World, script: &str) -> String {
    world.profile.limits.wall = Duration::from_secs(100);
    let exit = world.sh(script).await;
    assert!(
        exit.success(),
        "{script}\n{:?} {:?}\n{}",
        exit.ended,
        exit.code,
        text(&exit)
    );
    text(&exit)
}

#[tokio::test]
async fn a_rust_project_builds_and_its_test_listens_on_the_loopback() {
    if !installed("cargo") {
        return;
    }
    let mut world = World::new();
    world.write(
        "Cargo.toml",
        "[package]\nname = \"mini\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    world.write(
        "src/lib.rs",
        r#"
        #[test]
        fn listens() {
            use std::{io::{Read, Write}, net::{TcpListener, TcpStream}, thread};
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let client = thread::spawn(move || TcpStream::connect(address).unwrap().write_all(b"hi").unwrap());
            let mut text = String::new();
            listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
            client.join().unwrap();
            assert_eq!(text, "hi");
            let dir = std::env::temp_dir().join("made");
            std::fs::write(&dir, "x").unwrap();
        }
        "#,
    );
    let said = builds(&mut world, "cargo test --offline 2>&1").await;
    assert!(said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn a_node_project_tests_a_server_on_the_loopback() {
    if !installed("node") {
        return;
    }
    let mut world = World::new();
    world.write(
        "server.test.js",
        r#"
        const test = require('node:test');
        const assert = require('node:assert');
        const http = require('node:http');
        const { execFileSync } = require('node:child_process');
        test('answers', async () => {
            const server = http.createServer((_, answer) => answer.end('hi'));
            await new Promise(done => server.listen(0, '127.0.0.1', done));
            const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
            assert.equal(await reply.text(), 'hi');
            server.close();
        });
        test('starts a child', () => assert.equal(execFileSync('echo', ['x']).toString(), 'x\n'));
        "#,
    );
    let said = builds(&mut world, "node --test 2>&1").await;
    assert!(said.contains("pass 2"), "{said}");
}

#[tokio::test]
async fn a_python_project_tests_processes_pools_and_sockets() {
    if !installed("python3") {
        return;
    }
    let mut world = World::new();
    world.write(
        "test_mini.py",
        r#"
import multiprocessing, socket, subprocess, tempfile, threading, unittest

def double(x):
    return 2 * x

class Mini(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(double, range(3)), [0, 2, 4])

    def test_socket(self):
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
        threading.Thread(target=lambda: server.accept()[0].sendall(b"hi")).start()
        client = socket.create_connection(server.getsockname()[:2])
        self.assertEqual(client.recv(2), b"hi")

    def test_unix_socket_and_pty(self):
        import os, pty
        with tempfile.TemporaryDirectory() as folder:
            server = socket.socket(socket.AF_UNIX)
            server.bind(folder + "/socket")
        self.assertEqual(len(pty.openpty()), 2)

    def test_child(self):
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
"#,
    );
    let said = builds(&mut world, "python3 -m unittest -v 2>&1").await;
    assert!(said.contains("OK"), "{said}");
}

#[tokio::test]
async fn a_make_project_compiles_c() {
    if !installed("make") || !installed("cc") {
        return;
    }
    let mut world = World::new();
    world.write(
        "hello.c",
        "#include <stdio.h>\nint main(void) { puts(\"hi\"); return 0; }\n",
    );
    world.write(
        "Makefile",
        "test: hello\n\t./hello\nhello: hello.c\n\t$(CC) -O1 -pthread -o $@ $<\n",
    );
    let said = builds(&mut world, "make -j2 test").await;
    assert!(said.ends_with("hi\n"), "{said}");
}

#[tokio::test]
async fn a_go_project_tests() {
    if !installed("go") {
        return;
    }
    let mut world = World::new();
    world.write("go.mod", "module mini\n");
    world.write(
        "mini_test.go",
        "package mini\nimport (\"net\"; \"testing\")\nfunc TestListen(t *testing.T) {\n l, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n if err != nil { t.Fatal(err) }\n l.Close()\n}\n",
    );
    let said = builds(&mut world, "go test ./... 2>&1").await;
    assert!(said.contains("ok"), "{said}");
}

#[tokio::test]
async fn git_reads_a_linked_worktree_and_cannot_write_it() {
    let mut world = World::new();
    let main = world.outside("main");
    let root = world.root().to_owned();
    std::fs::remove_dir(&root).unwrap();
    let script = format!(
        "git init -q {main} && cd {main} && git -c user.name=you -c user.email=you@example.com commit -q --allow-empty -m first && git worktree add -q {root} -b work",
        main = main.display(),
        root = root.display()
    );
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    world.profile.protected = vec![root.join(".git"), main.join(".git")];
    world.write("new.txt", "x\n");
    assert_eq!(
        world
            .ok("git log --format=%s && git status --porcelain")
            .await,
        "first\n?? new.txt\n"
    );
    let exit = world
        .sh("git add new.txt; git config user.name evil; git commit -m x --allow-empty")
        .await;
    assert_ne!(exit.code, Some(0), "{}", text(&exit));
    assert!(
        !std::fs::read_to_string(main.join(".git/config"))
            .unwrap()
            .contains("evil")
    );
}
