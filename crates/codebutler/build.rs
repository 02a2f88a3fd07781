//! Tells the binary which commit it was built from. Works without git, without
//! a repository and without network; packagers may set `CODEBUTLER_COMMIT`. And
//! packs what the loader has to fill in, where the loader understands that.

use std::{env, fs, process::Command};

fn main() {
    println!("cargo::rerun-if-env-changed=CODEBUTLER_COMMIT");
    // These files move when the checked-out commit does, also in a linked worktree.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let given = env::var("CODEBUTLER_COMMIT").ok();
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_ours()));
    let version = env!("CARGO_PKG_VERSION");
    let line = match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} (commit {commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=CODEBUTLER_VERSION={line}");
    if built_for_this_machine() && c_library().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// A release build that nobody carries elsewhere: the packaged profile is not a
/// child of `release`.
fn built_for_this_machine() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    env::var("HOST") == env::var("TARGET")
        && is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
}

/// The version of the C library here. Addresses that the loader fills in take 24
/// bytes each, three megabytes that every start reads; packed they take next to
/// nothing. glibc knows the packed form since 2.36 and refuses it before.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(told.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether the repository around us is this one, and not one that an unpacked
/// archive happens to lie in.
fn is_ours() -> bool {
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| fs::canonicalize(top).ok());
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).ok();
    top.is_some() && top == root
}

/// What git answers, when there is a git, a repository and an answer.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
