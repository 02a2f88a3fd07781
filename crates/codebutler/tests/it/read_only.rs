//! A folder that cannot be written: a clear error, and nothing half-written.
//! Root ignores permission bits, so the folder is mounted read-only in a
//! namespace of our own; where that is not possible, the bits are used.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::scratch::{Ran, Scratch, binary, ran};

const MOUNT: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && cd \"$1\"";

/// A shell line in a namespace in which one folder is mounted read-only.
fn mounted(scratch: &Scratch, folder: &Path, line: &str) -> Command {
    let script = format!("{MOUNT} && {line}");
    let mut command = scratch.command("unshare".as_ref());
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &script,
        "sh",
    ]);
    command.args([folder, &binary()]);
    command
}

/// Runs `init` with one folder read-only; none when this machine cannot do that.
fn init_with_read_only(scratch: &Scratch, folder: &Path) -> Option<Ran> {
    let possible = mounted(scratch, folder, "! touch probe").output();
    if possible.is_ok_and(|output| output.status.success()) {
        return Some(ran(&mut mounted(scratch, folder, "exec \"$2\" init --yes")));
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    let holds = fs::write(folder.join("probe"), "").is_err();
    let outcome = holds.then(|| scratch.run(&["init", "--yes"]));
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = fs::remove_file(folder.join("probe"));
    outcome
}

#[test]
fn a_read_only_repository_stays_as_it_was() {
    let scratch = Scratch::new();
    scratch.write(".gitignore", "/target\n");
    let before = scratch.files();
    let Some(init) = init_with_read_only(&scratch, &scratch.root()) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "no way to make a folder read-only"
        );
        return;
    };
    assert_eq!(init.code, 4, "{init:?}");
    assert!(
        init.err.contains("cannot write") && init.err.contains("nothing was changed"),
        "{init:?}"
    );
    assert_eq!(
        scratch.files(),
        before,
        "also the machine's folder must not have been made"
    );
}
