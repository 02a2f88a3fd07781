//! A sandbox, a folder, and the server that misbehaves in it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::Duration,
};

use butler_mcp::{Accepted, Answer, McpError, Reach, Server, ServerSpec, Times};
use butler_sandbox::{Command, Profile, Sandbox, Stdin, scrubbed_env};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

static SANDBOX: LazyLock<Arc<Sandbox>> = LazyLock::new(|| {
    let helper = env!("CARGO_BIN_EXE_butler-mcp-sandbox");
    Arc::new(Sandbox::new(helper.into()).unwrap())
});

pub(crate) struct World {
    folder: TempDir,
    pub times: Times,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = include_str!("hostile.py");
        std::fs::write(folder.path().join("hostile.py"), script).unwrap();
        let times = Times {
            first_byte: Duration::from_secs(30),
            start: Duration::from_secs(20),
            call: Duration::from_secs(10),
            total: Duration::from_secs(30),
        };
        Self { folder, times }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn sandbox() -> &'static Arc<Sandbox> {
        &SANDBOX
    }

    /// A server that runs a program of this machine in the folder.
    pub(crate) fn program(&self, argv: &[&str], accepted: Option<Accepted>) -> Server {
        let root: PathBuf = self.root().canonicalize().unwrap();
        let extra = [("OWN_TOKEN".into(), "for this server".into())];
        let command = Command {
            argv: argv.iter().map(Into::into).collect(),
            env: scrubbed_env(Path::new("/nobody"), extra),
            cwd: root.clone(),
            stdin: Stdin::Null,
            direct: Vec::new(),
            sockets: true,
        };
        let mut profile = Profile::new(root);
        profile.limits.wall = Duration::from_secs(3600);
        Server::new(ServerSpec {
            name: "hostile".into(),
            reach: Reach::Program {
                command,
                profile: Box::new(profile),
            },
            times: self.times,
            accepted,
        })
    }

    pub(crate) fn server(&self, modes: &str) -> Server {
        self.program(&["python3", "hostile.py", modes], None)
    }

    /// The same with what a well-behaved one lists as accepted.
    pub(crate) async fn accepted(&self, modes: &str) -> Server {
        let plain = self.server("");
        let accepted = plain.listing(Some(&SANDBOX)).await.unwrap();
        plain.end().await;
        self.program(&["python3", "hostile.py", modes], Some(accepted))
    }
}

/// Calls a tool with one word.
pub(crate) async fn call(server: &Server, tool: &str, word: &str) -> Result<Answer, McpError> {
    let mut arguments = Map::new();
    arguments.insert("word".into(), Value::from(word));
    let cancel = CancellationToken::new();
    server
        .call(tool, arguments, Some(&SANDBOX), &cancel, None)
        .await
}

/// What a call must have brought.
pub(crate) async fn said(server: &Server, tool: &str, word: &str) -> String {
    call(server, tool, word).await.unwrap().text
}

/// What a call must have failed with.
pub(crate) async fn refused(server: &Server, tool: &str) -> String {
    call(server, tool, "x").await.unwrap_err().to_string()
}
