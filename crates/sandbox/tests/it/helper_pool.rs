//! One helper builds the cells of many commands: it is the same one where that is
//! safe, another one where it is not.

use std::{fs, path::PathBuf};

use butler_sandbox::{Profile, shell};
use tokio_util::sync::CancellationToken;

use crate::world::{World, helper, until};

/// Which network a command is in: each helper has one of its own.
const NETWORK: &str = "readlink /proc/self/ns/net";

/// A world whose worktree is not below the folder for temporary files, so that
/// its mount point is a part of the base root; also its folder, to be kept.
fn world_elsewhere() -> (World, tempfile::TempDir) {
    // A clone below /tmp has its build folder there too.
    let homes = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", "/"];
    let scratch = ["/tmp", "/dev/shm"];
    let mut folders = homes.iter().filter_map(|home| {
        let home = fs::canonicalize(home).ok()?;
        let elsewhere = !scratch.iter().any(|scratch| home.starts_with(scratch));
        let made = elsewhere.then(|| tempfile::Builder::new().prefix("sandbox-").tempdir_in(home));
        made?.ok()
    });
    let folder = folders.next().expect("a folder that is not below /tmp");
    let mut world = World::new();
    let root = folder.path().join("worktree");
    fs::create_dir(&root).unwrap();
    world.profile = Profile::new(root);
    (world, folder)
}

#[tokio::test]
async fn the_next_command_has_the_same_helper() {
    let own = std::process::id();
    let (elsewhere, _folder) = world_elsewhere();
    for world in [World::new(), elsewhere] {
        butler_sandbox::end_helpers();
        world.ok("exit 0; ignored").await;
        let first = helpers_of(own);
        assert_eq!(first.len(), 1);
        for _ in 0..3 {
            world.ok("true").await;
            assert!(!world.sh("exit 3").await.success());
            assert_eq!(helpers_of(own), first, "a failed command is no harm");
        }
    }
}

#[tokio::test]
async fn two_commands_at_once_have_a_network_each() {
    let (world, _folder) = world_elsewhere();
    world.ok("mkfifo one two").await;
    let first = format!("{NETWORK}; echo > one; read line < two");
    let second = format!("{NETWORK}; read line < one; echo > two");
    let (first, second) = tokio::join!(world.ok(&first), world.ok(&second));
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_worktree_sees_nothing_of_another_one() {
    let (one, folder) = world_elsewhere();
    one.ok("true").await;
    let mut other = World::new();
    let root = folder.path().join("other");
    fs::create_dir(&root).unwrap();
    other.profile = Profile::new(root);
    assert_eq!(other.ok("ls ..").await, "other\n");
    assert_eq!(one.ok("ls ..").await, "worktree\n");
}

/// The helpers that `parent` has started and that live.
fn helpers_of(parent: u32) -> Vec<PathBuf> {
    let parent = parent.to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let helpers = processes.filter(|entry| {
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let (line, stat) = (read("cmdline"), read("stat"));
        let stat = String::from_utf8_lossy(&stat);
        let mut about = stat
            .rsplit_once(") ")
            .map_or("", |(_, rest)| rest)
            .split(' ');
        about.next() != Some("Z")
            && about.next() == Some(&parent)
            && String::from_utf8_lossy(&line).contains("helper-pool")
    });
    helpers.map(|entry| entry.path()).collect()
}

fn kill(process: &std::path::Path) {
    let pid = process.file_name().unwrap();
    let killed = std::process::Command::new("kill")
        .arg("-9")
        .arg(pid)
        .status();
    assert!(killed.unwrap().success());
}

#[tokio::test]
async fn a_helper_that_died_while_it_waited_is_replaced() {
    let (world, _folder) = world_elsewhere();
    let first = world.ok(NETWORK).await;
    let own = std::process::id();
    until("no helper waits", || helpers_of(own).len() == 1).await;
    let helpers = helpers_of(own);
    helpers.iter().for_each(|helper| kill(helper));
    // Dead to its last descriptor: waited for, or ready to be.
    let dead = |helper: &PathBuf| {
        let stat = fs::read_to_string(helper.join("stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    until("it lives", || helpers.iter().all(dead)).await;
    assert_ne!(world.ok(NETWORK).await, first);
}

#[tokio::test]
async fn helpers_that_wait_can_be_sent_away() {
    let (world, _folder) = world_elsewhere();
    let first = world.ok(NETWORK).await;
    butler_sandbox::end_helpers();
    assert!(helpers_of(std::process::id()).is_empty());
    assert_ne!(world.ok(NETWORK).await, first);
}

#[tokio::test]
async fn what_was_started_to_find_out_runs_the_first_command_where_that_is_wanted() {
    let own = std::process::id();
    let (mut world, _folder) = world_elsewhere();
    assert!(matches!(
        world.sandbox.strength(),
        butler_sandbox::Strength::Namespaces
    ));
    assert!(helpers_of(own).is_empty(), "nobody asked for one");
    world.sandbox = butler_sandbox::Sandbox::new_in_use(helper()).unwrap();
    until("it has one process", || helpers_of(own).len() == 1).await;
    let waiting = helpers_of(own);
    world.write("file", "x");
    assert_eq!(world.ok("ls; echo y > /tmp/y").await, "file\n");
    assert_eq!(helpers_of(own), waiting);
    // It moves once: another worktree gets a helper of its own. Below the folder for
    // temporary files, which is new in every cell, all have the same base root.
    let (mut other, _other) = world_elsewhere();
    other.sandbox = world.sandbox.clone();
    assert_eq!(other.ok("ls").await, "");
    let grounds = if other.root().starts_with(butler_sandbox::TMP) {
        1
    } else {
        2
    };
    assert_eq!(helpers_of(own).len(), grounds);
}

#[tokio::test]
async fn kill_9_of_the_caller_ends_the_helper_that_waits() {
    let world = World::new();
    let mut caller = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "helper_pool::the_caller_whose_helper_waits",
            "--nocapture",
            "--ignored",
        ])
        .env("JAIL_TEST_ROOT", world.root())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let up = world.root().join("up");
    until("it did not come up", || up.exists()).await;
    let id = caller.id().unwrap();
    until("no helper waits", || !helpers_of(id).is_empty()).await;
    let helpers = helpers_of(id);
    caller.kill().await.unwrap();
    until("a helper is left", || {
        helpers.iter().all(|helper| !helper.exists())
    })
    .await;
}

/// Not a test by itself: plays the caller above.
#[tokio::test]
#[ignore = "run by kill_9_of_the_caller_ends_the_helper_that_waits"]
async fn the_caller_whose_helper_waits() {
    let Ok(root) = std::env::var("JAIL_TEST_ROOT") else {
        return;
    };
    let sandbox = butler_sandbox::Sandbox::new(helper()).unwrap();
    let command = shell("echo > up", &root);
    let exit = sandbox
        .run(
            &command,
            &Profile::new(&root),
            &CancellationToken::new(),
            None,
        )
        .await;
    assert!(exit.unwrap().success());
    std::future::pending::<()>().await;
}
