//! The same git on kernels that have less: without namespaces, as for an ordinary user
//! in many containers, and without Landlock too. What people do all day goes on, and no
//! program of a hostile repository runs with the person's rights.

use std::{os::unix::fs::MetadataExt, process::Command};

/// Runs these tests where something is missing; how many passed.
fn passed_without(missing: &str, tests: &[&str], user: Option<u32>) -> usize {
    let home = tempfile::tempdir().unwrap();
    let mut words: Vec<String> = Vec::new();
    if let Some(user) = user {
        std::os::unix::fs::chown(home.path(), Some(user), Some(user)).unwrap();
        let id = user.to_string();
        words.extend(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"].map(Into::into));
    }
    let helper = env!("CARGO_BIN_EXE_butler-repo-sandbox");
    words.extend([helper, "__sandbox", "weaker", missing].map(Into::into));
    let own = std::env::current_exe().unwrap();
    let output = Command::new(&words[0])
        .args(&words[1..])
        .arg(own)
        .args(tests)
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "without {missing}: {said}{errors}");
    let passed = said.split("test result: ok. ").nth(1);
    let passed = passed.and_then(|rest| rest.split(' ').next()?.parse().ok());
    passed.unwrap_or(0)
}

/// What a thread's git does from its first day to its last, and what attacks it.
const TRIED: [&str; 6] = [
    "hostile::",
    "lifecycle::",
    "syncing::",
    "settling::",
    "sleeping::",
    "saving::",
];

#[test]
fn without_namespaces_git_works_and_runs_nothing_of_the_repository() {
    assert!(passed_without("namespaces", &TRIED, None) >= 30);
}

#[test]
fn without_anything_git_works_and_runs_nothing_of_the_repository() {
    assert!(passed_without("everything", &TRIED, None) >= 30);
}

#[test]
fn the_same_for_an_ordinary_user() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: the other tests are that already");
        return;
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: no setpriv here");
        return;
    }
    for missing in ["namespaces", "everything"] {
        assert!(passed_without(missing, &["hostile::", "settling::"], Some(65_534)) >= 8);
    }
}
