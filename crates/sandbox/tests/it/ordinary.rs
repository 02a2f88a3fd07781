//! The same sandbox for somebody who is not root. Where the tests run as root,
//! they run once more as nobody.

use std::{
    os::unix::fs::{MetadataExt, chown},
    process::Command,
};

/// `nobody` on every Linux system.
const NOBODY: u32 = 65_534;

#[test]
fn the_sandbox_holds_for_an_ordinary_user_too() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: the other tests are that already");
        return;
    }
    let many = ["basics::", "places::", "hostile::every", "floods::more"];
    let passed = match as_nobody(&many) {
        Ok(passed) => passed,
        Err(why) => return println!("skipped: {why}"),
    };
    // Not a filter that lets nothing through.
    assert!(passed >= 30, "{passed}");
    // These count what a process has, so each has one of its own.
    for alone in [
        "cells::a_cell_is_never_used_for_a_second_command",
        "cells::nothing_of_one_command_is_there_for_the_next",
        "cells::a_file_that_was_replaced_meanwhile_is_protected_as_it_is_then",
        "cells::the_first_process_cannot_be_changed",
        "cells::a_command_without_sockets_has_none_and_one_with_them_a_network_of_its_own",
    ] {
        assert_eq!(as_nobody(&["--exact", alone]), Ok(1), "{alone}");
    }
}

/// Runs these tests as nobody; how many passed, or why that cannot be tried here.
fn as_nobody(tests: &[&str]) -> Result<usize, String> {
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let id = NOBODY.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(tests)
        .current_dir(home.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .output();
    let output = output.map_err(|_| "no setpriv here".to_owned())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("failed to execute") {
        return Err(format!("nobody may not run this test: {errors}"));
    }
    assert!(output.status.success(), "{said}{errors}");
    let passed = said.split("test result: ok. ").nth(1);
    let passed = passed.and_then(|rest| rest.split(' ').next()?.parse().ok());
    Ok(passed.unwrap_or(0))
}
