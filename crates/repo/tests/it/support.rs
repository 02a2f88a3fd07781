//! Short names for what every test here does.

use std::path::Path;

use butler_protocol::{BranchName, Role, ThreadId};
use butler_repo::{KEY_TRAILER, NewPull, Repo, Worktree};
use butler_testkit::ScratchRepo;
use tokio_util::sync::CancellationToken;

/// Every test that calls anything asks for this first: from then on git runs in
/// the sandbox, as in the product.
pub(crate) fn go() -> CancellationToken {
    butler_repo::confine_with(env!("CARGO_BIN_EXE_butler-repo-sandbox").into());
    CancellationToken::new()
}

pub(crate) fn thread(n: u32) -> ThreadId {
    format!("C1/1700000000.{n:06}").parse().unwrap()
}

pub(crate) async fn open(scratch: &ScratchRepo) -> Repo {
    let _ = go();
    Repo::open(scratch.root()).await.unwrap()
}

pub(crate) fn write(worktree: &Worktree, file: &str, text: &str) {
    put(&worktree.path, file, text);
}

pub(crate) fn put(dir: &Path, file: &str, text: &str) {
    let file = dir.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub(crate) fn read(worktree: &Worktree, file: &str) -> String {
    std::fs::read_to_string(worktree.path.join(file)).unwrap()
}

pub(crate) fn key(value: &str) -> Vec<(String, String)> {
    vec![(KEY_TRAILER.to_owned(), value.to_owned())]
}

/// Writes a file, commits and pushes it.
pub(crate) async fn deliver(worktree: &Worktree, file: &str, text: &str) {
    write(worktree, file, text);
    let message = format!("change {file}");
    worktree
        .commit_all(Role::Coder, &message, &[], &go())
        .await
        .unwrap()
        .unwrap();
    worktree.push(&go()).await.unwrap();
}

pub(crate) fn pull(branch: &BranchName) -> NewPull {
    NewPull {
        branch: branch.clone(),
        base: None,
        title: "Add a greeting".into(),
        body: "What it does.".into(),
        draft: false,
    }
}

/// Whether the tests of full size run: they take minutes, and `cargo xtask
/// nightly` asks for them.
#[expect(
    clippy::print_stdout,
    reason = "a skipped test must not look like a passed one"
)]
pub(crate) fn nightly() -> bool {
    let asked = std::env::var_os("CODEBUTLER_NIGHTLY").is_some();
    if !asked {
        println!("SKIPPED: takes minutes; set CODEBUTLER_NIGHTLY=1");
    }
    asked
}
