//! Protected, hidden and writable places, against somebody who tries.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use butler_sandbox::{Profile, shell};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::world::{World, canary, text};

/// A worktree with a `.git` pointer, a policy and sources.
fn repo() -> World {
    let mut world = World::new();
    world.write(".git", "gitdir: elsewhere\n");
    world.write(".codebutler/policy.json", "{}\n");
    world.write("src/main.rs", "fn main() {}\n");
    world.profile.protected = [
        ".git",
        ".codebutler/policy.json",
        ".codebutler/mcp.json",
        ".vscode/tasks.json",
    ]
    .map(|name| world.root().join(name))
    .into();
    world
}

/// Folders below which people keep their clones, and some below which few do.
const HOMES: [&str; 12] = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    "/home",
    "/root",
    "/srv",
    "/opt",
    "/mnt",
    "/var/lib",
    "/usr/local/src",
    "/",
];

#[tokio::test]
async fn commands_run_wherever_a_person_cloned() {
    let mut tried = 0;
    for home in HOMES {
        let name = "my clöne 'of' it ";
        let Ok(folder) = tempfile::Builder::new().prefix(name).tempdir_in(home) else {
            continue; // Not everybody may write everywhere.
        };
        let real = folder.path().canonicalize().unwrap();
        let mut world = World::new();
        let root = real.join("worktree");
        fs::create_dir(&root).unwrap();
        fs::write(real.join("secret"), canary()).unwrap();
        world.profile = Profile::new(&root);
        world.profile.protected = vec![root.join(".git")];
        for script in [
            "pwd; echo x > file; cat file",
            "cat ../secret; ls file; pwd",
        ] {
            let exit = world.sh(script).await;
            let (said, home) = (text(&exit), root.display().to_string());
            assert!(exit.success() && said.contains(&home), "{home}: {said}");
            // All of /usr is shown to every command.
            let seen = said.contains(&canary());
            assert_eq!(seen, home.starts_with("/usr/") && script.contains("secret"));
        }
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "x\n");
        tried += 1;
    }
    assert!(tried > 1, "no folder can be written to");
}

#[tokio::test]
async fn protected_files_can_be_read_and_nothing_else() {
    let world = repo();
    for attempt in [
        "echo x > .git",
        "echo x >> .codebutler/policy.json",
        "rm -f .codebutler/policy.json",
        "mv .codebutler/policy.json away",
        "cp /dev/null .codebutler/policy.json",
        "ln -f src/main.rs .codebutler/policy.json",
        "mv src/main.rs .codebutler/policy.json",
        "chmod 777 .git",
        "touch .git",
        "truncate -s 0 .git",
    ] {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    }
    assert_eq!(
        world.ok("cat .git .codebutler/policy.json").await,
        "gitdir: elsewhere\n{}\n"
    );
    world.ok("echo new > src/other.rs && rm src/main.rs").await;
    world.ok("echo note > .codebutler/note.md").await;
}

#[tokio::test]
async fn a_folder_on_the_way_to_a_protected_file_cannot_be_moved_away() {
    let world = repo();
    for attempt in [
        "mv .codebutler gone",
        "mv -T src .codebutler",
        "rm -rf .codebutler; test ! -e .codebutler",
        "mkdir evil; cp .codebutler/* evil; mv --exchange evil .codebutler",
    ] {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    }
    assert_eq!(world.ok("cat .codebutler/policy.json").await, "{}\n");
}

#[tokio::test]
async fn a_protected_file_that_does_not_exist_cannot_be_created() {
    let world = repo();
    for attempt in [
        "echo '{}' > .codebutler/mcp.json",
        "ln -s /etc/passwd .codebutler/mcp.json",
        "echo '{}' > .codebutler/mcp.json/x",
        "rmdir .codebutler/mcp.json",
        "mv .codebutler/mcp.json elsewhere",
        "mkdir -p .vscode/deep",
        "echo '{}' > .vscode/tasks.json",
        "rm -r .vscode",
        "mv .vscode away",
        "ln -s src .vscode",
    ] {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    }
    // Nothing stays behind that git or a reader could stumble over.
    assert!(!world.root().join(".codebutler/mcp.json").exists());
    assert!(!world.root().join(".vscode").exists());
}

#[tokio::test]
async fn a_cover_left_by_a_crash_goes_with_the_next_command() {
    let world = repo();
    let left = world.root().join(".vscode");
    fs::create_dir(&left).unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o1555)).unwrap();
    world.sh("touch .vscode/tasks.json").await;
    assert!(!left.exists());
    // A folder that somebody made stays.
    fs::create_dir(&left).unwrap();
    world.ok("true").await;
    assert!(left.exists());
}

#[tokio::test]
async fn a_second_command_does_not_uncover_the_first() {
    let world = repo();
    world.ok("mkfifo go").await;
    let (sender, mut receiver) = mpsc::channel(1);
    let script = "echo up; read x < go; mkdir .vscode 2>&1; echo '{}' > .vscode/tasks.json";
    let long = shell(script, world.root());
    let cancel = CancellationToken::new();
    let first = world
        .sandbox
        .run(&long, &world.profile, &cancel, Some(sender));
    let second = async {
        receiver.recv().await.unwrap();
        world.ok("true").await;
        tokio::fs::write(world.root().join("go"), "now\n")
            .await
            .unwrap();
        while receiver.recv().await.is_some() {}
    };
    let (exit, ()) = tokio::join!(first, second);
    let exit = exit.unwrap();
    assert_ne!(exit.code, Some(0), "{}", text(&exit));
    assert!(!world.root().join(".vscode").exists());
}

/// What commands see is planned once and kept; what changes meanwhile counts all
/// the same.
#[tokio::test]
async fn what_changes_between_two_commands_is_protected_as_it_is_then() {
    let world = repo();
    let root = world.root().to_owned();
    let refused = async |attempt: &str| {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    };
    refused("mkdir .vscode").await;
    fs::create_dir(root.join(".vscode")).unwrap();
    fs::write(root.join(".vscode/tasks.json"), "mine\n").unwrap();
    assert_eq!(world.ok("cat .vscode/tasks.json").await, "mine\n");
    refused("echo x > .vscode/tasks.json").await;
    fs::remove_dir_all(root.join(".vscode")).unwrap();
    refused("mkdir -p .vscode/new").await;
    // A file becomes a folder: a linked worktree is made a repository of its own.
    fs::remove_file(root.join(".git")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "[core]\n").unwrap();
    assert_eq!(world.ok("cat .git/config").await, "[core]\n");
    refused("echo x >> .git/config").await;
    refused("touch .git/hook").await;
    // And a link, which stays what it is and guards what it leads to.
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/tasks.json"), "linked\n").unwrap();
    symlink("real", root.join(".vscode")).unwrap();
    assert_eq!(world.ok("cat .vscode/tasks.json").await, "linked\n");
    refused("echo x > .vscode/tasks.json").await;
    refused("echo x > real/tasks.json").await;
    refused("ln -sfn /tmp .vscode").await;
}

#[tokio::test]
async fn a_placeholder_goes_with_its_command_or_when_asked_with_the_sandbox() {
    let mut world = World::new();
    let missing = world.root().join("missing");
    world.profile.protected = vec![missing.join("file")];
    let refused = async |world: &World| {
        let exit = world.sh("mkdir -p missing/new").await;
        assert_ne!(exit.code, Some(0), "{}", text(&exit));
    };
    refused(&world).await;
    assert!(!missing.exists());
    let usual = world.sandbox.clone();
    world.sandbox = usual.clone().leaving_placeholders();
    refused(&world).await;
    assert!(missing.exists(), "it waits for the next command");
    refused(&world).await;
    // Somebody tidied up: it is put there again.
    fs::remove_dir(&missing).unwrap();
    refused(&world).await;
    assert!(missing.exists());
    world.sandbox = usual;
    assert!(!missing.exists());
}

#[tokio::test]
async fn a_protected_link_stays_what_it_is() {
    let mut world = repo();
    world.write("AGENTS.md", "rules\n");
    symlink("AGENTS.md", world.root().join("CLAUDE.md")).unwrap();
    world.profile.protected.push(world.root().join("CLAUDE.md"));
    for attempt in [
        "ln -sfn src/main.rs CLAUDE.md",
        "rm CLAUDE.md",
        "mv CLAUDE.md away",
        "echo evil > CLAUDE.md",
        "echo evil > AGENTS.md",
    ] {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    }
    assert_eq!(world.ok("cat CLAUDE.md").await, "rules\n");
    assert_eq!(world.ok("readlink CLAUDE.md").await, "AGENTS.md\n");
}

#[tokio::test]
async fn a_protected_folder_protects_all_of_it() {
    let mut world = repo();
    world.write("hooks/pre-commit", "#!/bin/sh\n");
    world.profile.protected.push(world.root().join("hooks"));
    world
        .profile
        .protected
        .push(world.root().join("hooks/deep/er"));
    for attempt in [
        "echo x >> hooks/pre-commit",
        "touch hooks/new",
        "mkdir -p hooks/deep/er",
        "mv hooks gone",
    ] {
        let exit = world.sh(attempt).await;
        assert_ne!(exit.code, Some(0), "{attempt}: {}", text(&exit));
    }
}

#[tokio::test]
async fn what_is_hidden_cannot_be_read_wherever_it_lies() {
    let mut world = repo();
    world.write(".env", &canary());
    world.write("keys/deep/id", &canary());
    fs::create_dir_all(world.outside("cache/private")).unwrap();
    fs::write(world.outside("cache/private/token"), canary()).unwrap();
    world.profile.writable = vec![world.outside("cache")];
    world.profile.hidden = vec![
        world.root().join(".env"),
        world.root().join("keys/deep"),
        world.root().join("keys/later"),
        world.outside("cache/private"),
        world.outside("secret"),
        world.outside("never"),
    ];
    let outside = world.outside("");
    let outside = outside.display();
    let script = format!(
        "cat .env keys/deep/id {outside}/cache/private/token {outside}/secret; \
         mv keys k2; cat k2/deep/id; mkdir -p keys/later/x; ls -laR . {outside}; \
         cp -r keys copy; cat copy/deep/id; cat copy/*/*; ln .env env2; cat env2"
    );
    let exit = world.sh(&script).await;
    assert!(!text(&exit).contains(&canary()), "{}", text(&exit));
    assert!(!world.root().join("keys/later").exists());
    world.ok(&format!("touch {outside}/cache/fine")).await;
}

#[tokio::test]
async fn a_worktree_inside_a_hidden_place_shows_alone() {
    let mut world = World::new();
    fs::create_dir_all(world.outside("branches/mine")).unwrap();
    fs::create_dir_all(world.outside("branches/other")).unwrap();
    fs::write(world.outside("branches/other/secret"), canary()).unwrap();
    world.profile.root = world.outside("branches/mine");
    // The whole neighbourhood is shown, then hidden again, then the root put in.
    world.profile.writable = vec![world.outside("")];
    world.profile.hidden = vec![world.outside("branches"), world.outside("secret")];
    let other = world.outside("branches/other/secret");
    let script = format!(
        "touch here; ls ..; ls ../..; cat {} ../../secret",
        other.display()
    );
    let exit = world.sh(&script).await;
    assert!(text(&exit).starts_with("mine\n"), "{}", text(&exit));
    assert!(!text(&exit).contains(&canary()), "{}", text(&exit));
    assert!(world.root().join("here").exists());
}

#[tokio::test]
async fn a_place_outside_that_is_protected_can_be_read() {
    let mut world = repo();
    fs::create_dir(world.outside("common.git")).unwrap();
    fs::write(world.outside("common.git/HEAD"), "ref\n").unwrap();
    let common = world.outside("common.git");
    world.profile.protected.push(common.clone());
    let common = common.display();
    assert_eq!(world.ok(&format!("cat {common}/HEAD")).await, "ref\n");
    let exit = world
        .sh(&format!("echo x > {common}/HEAD || mkdir {common}/hooks"))
        .await;
    assert_ne!(exit.code, Some(0));
}

#[tokio::test]
async fn hidden_wins_over_protected_and_writable() {
    let mut world = World::new();
    fs::create_dir_all(world.outside("state/cache")).unwrap();
    fs::write(world.outside("state/config.json"), canary()).unwrap();
    fs::write(world.outside("state/cache/x"), canary()).unwrap();
    world.profile.hidden = vec![world.outside("state")];
    world.profile.protected = vec![world.outside("state/config.json")];
    world.profile.writable = vec![world.outside("state/cache")];
    let state = world.outside("state");
    let state = state.display();
    let exit = world
        .sh(&format!("cat {state}/config.json {state}/cache/x"))
        .await;
    assert_eq!(exit.code, Some(1));
    assert!(!text(&exit).contains(&canary()));
}

#[tokio::test]
async fn one_file_is_seen_in_the_place_of_another() {
    let mut world = repo();
    let (git, shown) = (world.outside("git"), world.outside("shown"));
    let config = git.join("config");
    fs::create_dir(&git).unwrap();
    fs::write(&config, canary()).unwrap();
    fs::write(&shown, "instead\n").unwrap();
    world.profile.protected.push(git.clone());
    world.profile.instead = vec![(config.clone(), shown.clone())];
    let path = config.display();
    assert_eq!(world.ok(&format!("cat '{path}'")).await, "instead\n");
    world
        .sh(&format!(
            "echo x > '{path}'; rm -f '{path}'; mv '{path}' away"
        ))
        .await;
    assert_eq!(fs::read_to_string(&config).unwrap(), canary());
    assert_eq!(fs::read_to_string(&shown).unwrap(), "instead\n");
    let seen = world.ok(&format!("ls '{}'", git.display())).await;
    assert_eq!(seen, "config\n");
}
