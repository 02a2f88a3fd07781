//! The sandbox attacks itself before it is trusted: a small world with things worth
//! stealing, and the helper itself inside, as the attacker.

use std::{
    fs, io,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
    time::Duration,
};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    Command, Profile, Sandbox, Stdin,
    env::home,
    helper::attack::{Attempt, CREATE_OUTSIDE, MADE, Targets},
    scrubbed_env,
    spec::Request,
};

/// What the self-test tried and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// One entry per attempt.
    pub probes: Vec<Probe>,
}

impl SelfTest {
    /// Whether everything that must be refused was, and at least something was tried.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.probes.is_empty() && self.probes.iter().all(|probe| probe.refused)
    }
}

/// One attempt to get out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// As in `read a secret outside`.
    pub name: String,
    /// Whether the sandbox held.
    pub refused: bool,
    /// What was seen.
    pub detail: String,
}

/// Runs every attack once. A self-test that cannot be run is a failed one.
pub(crate) async fn run(sandbox: &Sandbox) -> SelfTest {
    let probes = match attempts(sandbox).await {
        Ok(attempts) => attempts
            .into_iter()
            .map(|attempt| Probe {
                name: attempt.name,
                refused: attempt.refused,
                detail: attempt.detail,
            })
            .collect(),
        Err(detail) => vec![Probe {
            name: "run the self-test".to_owned(),
            refused: false,
            detail,
        }],
    };
    SelfTest { probes }
}

async fn attempts(sandbox: &Sandbox) -> Result<Vec<Attempt>, String> {
    let stage = Stage::set().map_err(|error| format!("cannot prepare it: {error}"))?;
    let request = serde_json::to_vec(&Request::Attack(Box::new(stage.targets.clone())))
        .map_err(|error| error.to_string())?;
    let command = Command {
        argv: vec![sandbox.helper().into(), "__sandbox".into()],
        cwd: stage.targets.worktree.clone(),
        env: scrubbed_env(&home(), []),
        stdin: Stdin::Bytes([request.as_slice(), b"\n"].concat()),
        direct: Vec::new(),
        sockets: true,
    };
    let profile = stage.profile(sandbox.helper());
    let exit = sandbox
        .run_noticing(false, &command, &profile, &CancellationToken::new(), None)
        .await
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&exit.output);
    if !exit.success() {
        return Err(format!("it ended with {:?}: {text}", exit.ended));
    }
    let lines = text.lines().map(serde_json::from_str);
    let mut attempts: Vec<Attempt> = lines
        .collect::<Result<_, _>>()
        .map_err(|error| format!("cannot read its answer: {error}"))?;
    let made = stage.targets.outside.join(MADE).exists();
    for attempt in &mut attempts {
        if attempt.name == CREATE_OUTSIDE {
            attempt.refused = !made;
        }
    }
    Ok(attempts)
}

/// The world that is attacked; gone when dropped.
struct Stage {
    _folder: TempDir,
    _listeners: (TcpListener, UnixListener, UnixListener),
    targets: Targets,
}

impl Stage {
    fn set() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("codebutler-").tempdir()?;
        let outside = folder.path().canonicalize()?;
        let worktree = outside.join("worktree");
        fs::create_dir_all(worktree.join("rules"))?;
        for file in ["secret", "worktree/hidden", "worktree/rules/policy.json"] {
            fs::write(outside.join(file), "canary")?;
        }
        let socket = outside.join("socket");
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let abstract_name = format!("codebutler-{}", tcp.local_addr()?.port());
        let address = SocketAddr::from_abstract_name(&abstract_name)?;
        let targets = Targets {
            secret: outside.join("secret"),
            hidden: worktree.join("hidden"),
            protected: worktree.join("rules/policy.json"),
            missing: worktree.join("missing.json"),
            home: home(),
            caller: std::process::id().cast_signed(),
            port: tcp.local_addr()?.port(),
            socket: socket.clone(),
            abstract_name,
            only: Vec::new(),
            outside,
            worktree,
        };
        let unix = UnixListener::bind(&socket)?;
        let named = UnixListener::bind_addr(&address)?;
        Ok(Self {
            _folder: folder,
            _listeners: (tcp, unix, named),
            targets,
        })
    }

    fn profile(&self, helper: &Path) -> Profile {
        let targets = &self.targets;
        let mut profile = Profile::new(&targets.worktree);
        profile.protected = vec![
            targets.protected.clone(),
            targets.missing.clone(),
            // The attacker must be there to be run.
            helper.to_owned(),
        ];
        profile.hidden = vec![targets.hidden.clone(), targets.secret.clone()];
        profile.limits.wall = Duration::from_secs(30);
        profile
    }
}
