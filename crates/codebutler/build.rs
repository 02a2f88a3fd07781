//! Tells the binary which commit it was built from. Works without git, without
//! a repository and without network; packagers may set `CODEBUTLER_COMMIT`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=CODEBUTLER_COMMIT");
    // These files move when the checked-out commit does, also in a linked worktree.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let given = std::env::var("CODEBUTLER_COMMIT").ok();
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let version = env!("CARGO_PKG_VERSION");
    let line = match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} (commit {commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=CODEBUTLER_VERSION={line}");
}

/// What git answers, when there is a git, a repository and an answer.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
