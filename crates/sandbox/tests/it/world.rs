//! A worktree with things around it that a command must not reach.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use butler_sandbox::{Command, Exit, Profile, Sandbox, shell};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

static JAIL: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new(helper()).unwrap());

/// The executable that plays `codebutler __sandbox`.
pub(crate) fn helper() -> PathBuf {
    env!("CARGO_BIN_EXE_butler-sandbox-helper").into()
}

/// A folder with a worktree, a secret beside it, and the sandbox.
pub(crate) struct World {
    folder: TempDir,
    pub sandbox: Sandbox,
    pub profile: Profile,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir()
            .unwrap();
        let root = folder.path().join("worktree");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join("secret"), canary()).unwrap();
        Self {
            profile: Profile::new(root),
            sandbox: JAIL.clone(),
            folder,
        }
    }

    /// The folder around the worktree.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.profile.root
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) async fn run(&self, command: Command) -> Exit {
        let cancel = CancellationToken::new();
        self.sandbox
            .run(&command, &self.profile, &cancel, None)
            .await
            .unwrap()
    }

    pub(crate) async fn sh(&self, script: &str) -> Exit {
        self.run(shell(script, self.root())).await
    }

    /// Runs a script that must succeed; what it wrote.
    pub(crate) async fn ok(&self, script: &str) -> String {
        let exit = self.sh(script).await;
        assert!(exit.success(), "{script}\n{exit:?}\n{}", text(&exit));
        text(&exit)
    }
}

/// Waits until something holds; the test's own deadline otherwise.
pub(crate) async fn until(what: &str, done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait)
        .await
        .unwrap_or_else(|_| panic!("{what}"));
}

pub(crate) fn text(exit: &Exit) -> String {
    String::from_utf8_lossy(&exit.output).into_owned()
}

/// What nothing inside may ever print.
pub(crate) fn canary() -> String {
    ["canary", "-", "7f3a91"].concat()
}
