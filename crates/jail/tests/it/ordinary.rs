//! The same walls for somebody who is not root. Where the tests run as root,
//! they run once more as nobody.

use std::{
    os::unix::fs::{MetadataExt, chown},
    process::Command,
};

/// `nobody` on every Linux system.
const NOBODY: u32 = 65_534;

#[test]
fn the_walls_hold_for_an_ordinary_user_too() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: the other tests are that already");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let id = NOBODY.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(["basics::", "places::", "hostile::every", "floods::more"])
        .current_dir(home.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .output();
    let Ok(output) = output else {
        println!("skipped: no setpriv here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("failed to execute") {
        println!("skipped: nobody may not run this test: {errors}");
        return;
    }
    assert!(output.status.success(), "{said}{errors}");
    // Not a filter that lets nothing through.
    let passed = said.split("test result: ok. ").nth(1);
    let passed = passed.and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(passed.is_some_and(|count: usize| count >= 30), "{said}");
}
