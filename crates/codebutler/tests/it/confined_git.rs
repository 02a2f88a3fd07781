//! No git looks at files outside the sandbox while a team works: a `git` that is
//! first on PATH notes how it is started. In the sandbox it cannot write its notes,
//! so what is noted ran outside.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::{
    story::{REQUEST, SCENARIO, assert_remote, merged},
    team::Team,
};

/// What may run outside; none of it reads a working tree.
const OUTSIDE: &[&str] = &[
    "fetch",
    "push",
    "ls-remote",
    "config",
    "remote",
    "for-each-ref",
    "update-ref",
    "symbolic-ref",
    "rev-parse",
    "rev-list",
    "merge-base",
    "cat-file",
    "ls-tree",
    "mktree",
    "mktag",
    "commit-tree",
    "hash-object",
    "worktree",
    "version",
    "check-ref-format",
    // Saves files for undo: is told their bytes and looks at none.
    "fast-import",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_git_looks_at_files_outside_the_sandbox_while_a_team_works() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    recorder(folder.path(), &log);
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.path().display());
    let team = Team::start_in(SCENARIO, |_| (), &[("PATH", path)]).await;
    let root = team.say(REQUEST).await;
    team.press(&root, "approve").await;
    team.press(&root, "merge").await;
    team.until(&root, "the merge", merged).await;
    assert_remote(&team);
    let host = fs::read_link("/proc/self/ns/mnt").unwrap();
    let noted = fs::read_to_string(&log).unwrap();
    let mut commands = Vec::new();
    for line in noted.lines() {
        let mut parts = line.splitn(4, '|');
        let mut part = || parts.next().unwrap_or_default();
        let (space, place, files, args) = (part(), part(), part(), part());
        // Git starts itself with further words, as for the far end of a push.
        let command = args
            .split(' ')
            .find(|word| !word.starts_with('-'))
            .unwrap_or_default();
        commands.push(command.to_owned());
        if space != host.to_string_lossy() || is_far_end(command) {
            continue;
        }
        assert!(OUTSIDE.contains(&command), "outside: git {args}");
        assert_eq!(files, "", "outside with files: git {args}");
        let is_remote = ["fetch", "push", "ls-remote"].contains(&command);
        let is_top = Path::new(place).join(".git").exists();
        assert!(is_remote || !is_top, "outside in {place}: git {args}");
    }
    for command in ["fetch", "push"] {
        assert!(commands.iter().any(|one| one == command), "{commands:?}");
    }
}

/// What a fetch or push starts by itself, here or at the other end.
fn is_far_end(command: &str) -> bool {
    [
        "upload-pack",
        "receive-pack",
        "pack-objects",
        "unpack-objects",
        "index-pack",
        "rev-list",
    ]
    .contains(&command)
}

fn recorder(folder: &Path, log: &Path) {
    let real = Command::new("sh").args(["-c", "command -v git"]).output();
    let real = String::from_utf8(real.unwrap().stdout).unwrap();
    let script = format!(
        "#!/bin/sh\n(echo \"$(readlink /proc/self/ns/mnt)|$PWD|$GIT_WORK_TREE|$*\" >> '{}') 2>/dev/null\nexec {} \"$@\"\n",
        log.display(),
        real.trim(),
    );
    let program = folder.join("git");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
}
