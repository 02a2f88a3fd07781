//! A backup is taken while the team works, and its threads go on elsewhere. A
//! backup of every release is kept: threads in flight survive an upgrade.

use std::{
    fs,
    path::{Path, PathBuf},
};

use butler_testkit::Postgres;
use serde_json::Value;

use crate::{
    scratch::{Scratch, pushed},
    story::{REQUEST, SCENARIO, assert_remote, assert_story, merged},
    team::{Team, button, command},
};

/// Where backups of releases are.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/releases")
}

/// Our binary in a repo of [`Team`].
fn run(root: &Path, words: &[&str]) -> (i32, String) {
    let home = root.parent().unwrap().join("machine");
    let output = command(root, &home).args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    (output.status.code().unwrap(), said)
}

/// A team whose plan waits for a person.
async fn with_a_plan() -> (Team, String) {
    let team = Team::start(SCENARIO).await;
    let root = team.say(REQUEST).await;
    let planned = |thread: &Value| button(thread, ":approve").is_some();
    team.until(&root, "the plan", planned).await;
    (team, root)
}

/// Restores a backup on a fresh machine, in a fresh clone, and carries its one
/// thread to the end.
async fn goes_on(backup: &Path) {
    let (team, root) = restored(backup, None).await;
    to_the_end(&team, &root).await;
}

/// A team on a fresh machine with what a backup holds, in a file or a database; and its one
/// thread.
async fn restored(backup: &Path, database: Option<&str>) -> (Team, String) {
    let restore = |root: &Path| {
        if let Some(address) = database {
            let file = root.parent().unwrap().join("machine/config.json");
            let machine = fs::read_to_string(&file).unwrap();
            let mut machine: Value = serde_json::from_str(&machine).unwrap();
            machine["hub"]["database"] = address.into();
            butler_config::write_private(&file, &machine.to_string()).unwrap();
        }
        let (code, said) = run(root, &["restore", backup.to_str().unwrap()]);
        assert_eq!(code, 0, "{}: {said}", backup.display());
    };
    let team = Team::start_with(SCENARIO, restore).await;
    let page = team
        .page(&format!("v1/channels/{}/messages", team.channel))
        .await;
    let page: Value = serde_json::from_str(&page).unwrap();
    let root = page["messages"][0]["ts"].as_str().unwrap().to_owned();
    (team, root)
}

async fn to_the_end(team: &Team, root: &str) {
    team.press(root, "approve").await;
    team.press(root, "merge").await;
    let thread = team.until(root, "the merge", merged).await;
    assert_story(&thread);
    assert_remote(team);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_team_at_work_goes_on_on_another_machine() {
    let (team, root) = with_a_plan().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.backup");
    let file_name = file.to_str().unwrap();
    let (code, said) = run(team.scratch.root(), &["backup", file_name]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("keys and tokens are not in it"), "{said}");
    // Whoever reads along gets no way in.
    let store = unpacked(&file, folder.path());
    let tokens: i64 = store
        .query_row("SELECT count(*) FROM tokens", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tokens, 0);

    let (code, said) = run(team.scratch.root(), &["backup", file_name]);
    assert_eq!(code, 4, "{said}");
    let (code, said) = run(team.scratch.root(), &["restore", file_name]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("runs on this machine"), "{said}");
    // The team has noticed nothing.
    team.press(&root, "approve").await;
    backups_belong_together(&team, &root, folder.path()).await;
    team.press(&root, "merge").await;
    team.until(&root, "the merge", merged).await;
    drop(team);
    goes_on(&file).await;
}

/// Whatever moment a backup is of: what a role has written down as answered by the hub
/// is in the store, so nobody goes on from something that never happened.
async fn backups_belong_together(team: &Team, root: &str, folder: &Path) {
    for number in 0..60 {
        let thread = team.thread(root).await;
        if thread.is_some_and(|thread| button(&thread, ":merge").is_some()) {
            return;
        }
        let file = folder.join(format!("{number}.backup"));
        let (code, said) = run(team.scratch.root(), &["backup", file.to_str().unwrap()]);
        assert_eq!(code, 0, "{said}");
        let place = folder.join(number.to_string());
        let store = unpacked(&file, &place);
        let sql = "SELECT EXISTS (SELECT 1 FROM reservations WHERE id = ?1)";
        let granted = granted(&place.join("threads"));
        assert!(!granted.is_empty());
        for id in granted {
            let there: bool = store.query_row(sql, [&id], |row| row.get(0)).unwrap();
            assert!(
                there,
                "{id} of backup {number} is in a log and not in the store"
            );
        }
    }
}

fn unpacked(file: &Path, into: &Path) -> rusqlite::Connection {
    fs::create_dir_all(into).unwrap();
    let tar = std::process::Command::new("tar")
        .args(["-xzf", file.to_str().unwrap(), "-C", into.to_str().unwrap()])
        .status();
    assert!(tar.unwrap().success());
    rusqlite::Connection::open(into.join("hub.sqlite3")).unwrap()
}

/// The same backup with a store that a later build has written.
fn newer_than_this_build(file: &Path) -> PathBuf {
    let folder = file.with_extension("unpacked");
    let store = unpacked(file, &folder);
    store.pragma_update(None, "user_version", 999).unwrap();
    drop(store);
    let newer = file.with_extension("newer");
    let tar = std::process::Command::new("tar")
        .args(["-czf", newer.to_str().unwrap(), "-C"])
        .args([folder.to_str().unwrap(), "backup.json", "hub.sqlite3"])
        .args(["threads", "machine"])
        .status();
    assert!(tar.unwrap().success());
    newer
}

/// The money that logs say the hub has granted.
fn granted(threads: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for item in fs::read_dir(threads).into_iter().flatten().flatten() {
        if item.path().is_dir() {
            found.extend(granted(&item.path()));
        } else if item.path().extension().is_some_and(|end| end == "jsonl") {
            let text = fs::read_to_string(item.path()).unwrap();
            let lines = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok());
            found.extend(lines.filter_map(|line: Value| {
                let record = &line["entry"]["record"];
                (record["t"] == "reserved").then(|| record["reserve"].as_str().unwrap().to_owned())
            }));
        }
    }
    found
}

/// `UPDATE_FIXTURES=1` writes the one of this version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_of_every_release_go_on() {
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let (team, _) = with_a_plan().await;
        fs::create_dir_all(fixtures()).unwrap();
        let file = fixtures().join(concat!(env!("CARGO_PKG_VERSION"), ".backup"));
        let words = ["backup", "--force", file.to_str().unwrap()];
        assert_eq!(run(team.scratch.root(), &words).0, 0);
    }
    let releases: Vec<_> = fs::read_dir(fixtures()).unwrap().flatten().collect();
    assert!(!releases.is_empty());
    for release in releases {
        goes_on(&release.path()).await;
    }
}

#[test]
fn what_is_here_is_moved_aside_only_when_asked_for_and_secrets_only_when_wanted() {
    let scratch = Scratch::new();
    pushed(&scratch.root());
    let url = crate::endpoint::listing(&["qwen3:8b"]);
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    assert_eq!(scratch.run(&["hub", "tokens"]).code, 0);
    let file = scratch.root().join("../all.backup");
    let file = file.to_str().unwrap();
    let saved = scratch.run(&["backup", "--with-secrets", file]);
    assert_eq!(saved.code, 0, "{saved:?}");
    assert!(
        saved.err.contains("keys and tokens of this machine"),
        "{saved:?}"
    );
    let tokens = scratch.run(&["hub", "tokens"]).out;

    let refused = scratch.run(&["restore", file]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("--replace"), "{refused:?}");
    fs::remove_file(scratch.home().join("config.json")).unwrap();
    let restored = scratch.run(&["restore", "--replace", file]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(
        restored.err.contains("what was here is now"),
        "{restored:?}"
    );
    assert_eq!(scratch.run(&["hub", "tokens"]).out, tokens);
    assert!(scratch.home().join("config.json").exists());
    let strange = scratch.run(&["restore", "--replace", "README"]);
    assert_eq!(strange.code, 4, "{strange:?}");
    // One that cannot be used leaves what is here where it is.
    let newer = newer_than_this_build(Path::new(file));
    let refused = scratch.run(&["restore", "--replace", newer.to_str().unwrap()]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.err.contains("newer codebutler"), "{refused:?}");
    assert_eq!(scratch.run(&["hub", "tokens"]).out, tokens);

    // A backup without the conversations must not look like one with them.
    let other = scratch.root().join("../other.backup");
    fs::rename(scratch.home().join("hub"), scratch.home().join("away")).unwrap();
    let refused = scratch.run(&["backup", other.to_str().unwrap()]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("no conversations"), "{refused:?}");
    assert!(!other.exists());
    let config = scratch.home().join("config.json");
    let machine = serde_json::json!({"hub": {"database": "postgres://nobody@127.0.0.1:9/none"}});
    fs::write(&config, machine.to_string()).unwrap();
    let refused = scratch.run(&["backup", other.to_str().unwrap()]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.err.contains("127.0.0.1"), "{refused:?}");
    assert!(!other.exists());
}

/// A thread of the last release goes on in a database, is saved from there while the team
/// works, and goes on in a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_of_every_release_go_on_in_a_database_and_back_in_a_file() {
    let Some(server) = Postgres::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let releases = fs::read_dir(fixtures()).unwrap().flatten();
    for (number, release) in releases.enumerate() {
        let database = format!("{}?schema=release_{number}", server.address());
        let (team, root) = restored(&release.path(), Some(&database)).await;
        let file = folder.path().join(format!("{number}.backup"));
        let words = ["backup", file.to_str().unwrap()];
        let (code, said) = run(team.scratch.root(), &words);
        assert_eq!(code, 0, "{said}");
        let store = unpacked(&file, &folder.path().join(number.to_string()));
        let tokens = "SELECT count(*) FROM tokens";
        let tokens: i64 = store.query_row(tokens, [], |row| row.get(0)).unwrap();
        assert_eq!(tokens, 0);
        // What is there is not written over, not even by the same.
        let (code, said) = run(team.scratch.root(), &["restore", file.to_str().unwrap()]);
        assert_eq!(code, 4, "{said}");
        to_the_end(&team, &root).await;
        drop(team);
        goes_on(&file).await;
    }
}
