//! The weaker confinement: what it holds, and exactly what it does not.

use std::collections::BTreeSet;

use butler_sandbox::{Ended, SandboxError, Strength, shell};
use tokio_util::sync::CancellationToken;

use crate::world::{World, canary, text};

fn weaker() -> World {
    let mut world = World::new();
    world.sandbox = world.sandbox.without_namespaces("asked for").unwrap();
    assert_eq!(
        world.sandbox.strength(),
        Strength::LandlockOnly {
            reason: "asked for".to_owned()
        }
    );
    world
}

#[tokio::test]
async fn without_namespaces_only_the_known_gaps_are_open() {
    let test = weaker().sandbox.self_test().await;
    let open: BTreeSet<_> = test
        .probes
        .iter()
        .filter(|probe| !probe.refused)
        .map(|probe| probe.name.as_str())
        .collect();
    // Landlock cannot take back inside the worktree what it gave to all of it,
    // and it hides contents, not existence.
    let known = BTreeSet::from([
        "learn the size of a secret",
        "read a hidden file",
        "move a hidden file",
        "change a protected file",
        "replace a protected file",
        "move a protected folder away",
        "see processes of the host",
    ]);
    assert_eq!(open, known, "{test:#?}");
    assert!(!test.holds());
}

#[tokio::test]
async fn without_namespaces_commands_run_with_a_home_and_without_sockets() {
    let world = weaker();
    let exit = world
        .sh("echo x > file && touch $HOME/a $TMPDIR/b && ls $HOME | wc -l; cat ../secret; : < /dev/tcp/127.0.0.1/1")
        .await;
    let said = text(&exit);
    assert!(said.starts_with("2\n"), "{said}");
    assert!(!said.contains(&canary()), "{said}");
    assert!(said.contains("Operation not permitted"), "{said}");
}

#[tokio::test]
async fn without_namespaces_nothing_survives_either() {
    let mut world = weaker();
    world.profile.limits.wall = std::time::Duration::from_millis(300);
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 0.01; date +%N > alive; done' &); sleep 100";
    let exit = world.sh(script).await;
    assert_eq!(exit.ended, Ended::TimedOut);
    std::fs::write(world.root().join("alive"), "over").unwrap();
    world.profile.limits.wall = std::time::Duration::from_secs(60);
    world.ok("sleep 0.1").await;
    let alive = std::fs::read_to_string(world.root().join("alive")).unwrap();
    assert_eq!(alive, "over");
}

#[tokio::test]
async fn without_namespaces_a_changed_protected_place_is_noticed() {
    for (attack, place) in [
        ("echo evil >> .git", ".git"),
        ("rm .git; echo 'gitdir: x' > .git", ".git"),
        (
            "mv rules r2; mkdir rules; cp r2/* rules",
            "rules/policy.json",
        ),
        ("chmod +x hooks/pre-commit", "hooks"),
        ("touch hooks/new; rm hooks/new", "hooks"),
        (
            "rmdir .vscode; mkdir .vscode; echo '{}' > .vscode/tasks.json",
            ".vscode",
        ),
    ] {
        let mut world = weaker();
        world.write(".git", "gitdir: x\n");
        world.write("rules/policy.json", "{}");
        world.write("hooks/pre-commit", "");
        world.profile.protected = [".git", "rules/policy.json", "hooks", ".vscode/tasks.json"]
            .map(|name| world.root().join(name))
            .into();
        world.ok("cat .git rules/* hooks/* && touch fine").await;
        let command = shell(attack, world.root());
        let cancel = CancellationToken::new();
        let result = world
            .sandbox
            .run(&command, &world.profile, &cancel, None)
            .await;
        let Err(SandboxError::Tampered { path }) = result else {
            panic!("{attack}: {result:?}");
        };
        assert_eq!(path, world.root().join(place), "{attack}");
        let read = |name: &str| std::fs::read_to_string(world.root().join(name)).ok();
        assert_eq!(read(".git").as_deref(), Some("gitdir: x\n"), "{attack}");
        assert_eq!(read("rules/policy.json").as_deref(), Some("{}"), "{attack}");
        assert!(!world.root().join("hooks/new").exists(), "{attack}");
        assert!(
            !world.root().join(".vscode/tasks.json").exists(),
            "{attack}"
        );
        world.ok("cat .git rules/* hooks/*").await;
    }
}

#[tokio::test]
async fn without_namespaces_what_was_planted_for_git_is_put_back() {
    use std::os::unix::fs::symlink;
    let mut world = weaker();
    let outside = world.outside("precious");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("config"), "mine").unwrap();
    world.write(".git/config", "[core]\n");
    world.write(".git/hooks/pre-commit.sample", "");
    world.write(".git/objects/ab/cd", "object");
    symlink("refs/heads/main", world.root().join(".git/link")).unwrap();
    world.profile.protected = vec![world.root().join(".git")];
    let cancel = CancellationToken::new();
    for attack in [
        "printf '[core]\\nfsmonitor = evil\\n' >> .git/config",
        "printf '#!/bin/sh\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
        "rm -r .git",
        "rm -r .git/hooks; ln -s /tmp .git/hooks; ln -sfn elsewhere .git/link",
        &format!("mv .git away; ln -s {} .git", outside.display()),
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
    ] {
        let command = shell(attack, world.root());
        let result = world
            .sandbox
            .run(&command, &world.profile, &cancel, None)
            .await;
        assert!(
            matches!(result, Err(SandboxError::Tampered { .. })),
            "{attack}: {result:?}"
        );
        let found = world
            .ok("cat .git/config; ls -A .git .git/hooks; readlink .git/link")
            .await;
        assert!(
            found.starts_with("[core]\n.git:\nconfig\nhooks\nlink\nobjects\n"),
            "{attack}: {found}"
        );
        assert!(
            found.ends_with("pre-commit.sample\nrefs/heads/main\n"),
            "{attack}: {found}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(outside.join("config")).unwrap(),
        "mine"
    );
}

#[tokio::test]
async fn without_any_sandbox_a_command_runs_only_by_a_word_of_its_own() {
    let mut world = World::new();
    world.sandbox = world.sandbox.without_sandbox("asked for");
    let cancel = CancellationToken::new();
    let command = shell(
        "echo ran > file; echo $HOME; test -d $HOME && (sleep 1000 &) ; true",
        world.root(),
    );
    let refused = world
        .sandbox
        .run(&command, &world.profile, &cancel, None)
        .await;
    assert!(
        matches!(refused, Err(SandboxError::Unconfined { .. })),
        "{refused:?}"
    );
    assert!(!world.root().join("file").exists());
    let exit = world
        .sandbox
        .run_unconfined(&command, &world.profile, &cancel, None)
        .await
        .unwrap();
    assert!(exit.success(), "{}", crate::world::text(&exit));
    assert!(world.root().join("file").exists());
    world.profile.limits.wall = std::time::Duration::from_millis(300);
    let endless = shell(
        "trap '' TERM; (setsid sleep 1000 &); sleep 1000",
        world.root(),
    );
    let exit = world
        .sandbox
        .run_unconfined(&endless, &world.profile, &cancel, None)
        .await
        .unwrap();
    assert_eq!(exit.ended, Ended::TimedOut);
}
