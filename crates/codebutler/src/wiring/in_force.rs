//! The settings that bind agents: the repo's files as they are on its default
//! branch, so that no branch under work changes the rules it is worked under.
//! Before they are committed there, the person's own working copy counts. A
//! process that runs reads them again when the branch has moved, when somebody on
//! this machine agreed to something, or when the endpoint's models are due.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use butler_agent::{AgentConfig, ReadRules, Rules, RulesInForce};
use butler_config::{FOLDER, RepoFiles, Settings};
use butler_protocol::{CommitSha, Role};
use butler_repo::Repo;
use tokio::sync::Mutex;

use crate::{
    CliError,
    commands::environment,
    hub_access, roster,
    wiring::{self, mcp::ServerPool},
};

/// Models come and go: the endpoint's list is compared again after so long.
const LIST_HOLDS: Duration = Duration::from_secs(24 * 60 * 60);
/// The same when the endpoint had no list to give.
const LIST_MISSING: Duration = Duration::from_secs(10 * 60);

/// The settings of the default branch as it was last fetched.
pub(crate) async fn settings_in_force(root: &Path) -> Result<Settings, CliError> {
    let repo = Repo::open(root).await.map_err(CliError::internal)?;
    settings_of(&repo, root).await
}

async fn settings_of(repo: &Repo, root: &Path) -> Result<Settings, CliError> {
    let found = repo.resolve(&repo.default_ref()).await;
    let commit = found.map_err(CliError::internal)?;
    settings_at(repo, root, commit.as_ref()).await
}

async fn settings_at(
    repo: &Repo,
    root: &Path,
    commit: Option<&CommitSha>,
) -> Result<Settings, CliError> {
    let files = match commit {
        Some(commit) => files_at(repo, commit).await.map_err(CliError::internal)?,
        None => RepoFiles::default(),
    };
    if files.config.is_none() {
        return Ok(Settings::load(root, &environment)?);
    }
    Ok(Settings::load_from(root, &files, &environment)?)
}

/// The files of a commit. A file that is there and cannot be read is an error,
/// not a file that is not there: rules must not vanish with a git that failed.
async fn files_at(repo: &Repo, commit: &CommitSha) -> Result<RepoFiles, butler_repo::Error> {
    let mut files = RepoFiles {
        folder: PathBuf::from(format!("{}:{FOLDER}", repo.default_ref())),
        ..RepoFiles::default()
    };
    let git = repo.git();
    for (name, text) in [
        ("config.json", &mut files.config),
        ("policy.json", &mut files.policy),
        ("mcp.json", &mut files.mcp),
    ] {
        let path = format!("{FOLDER}/{name}");
        let listed = git
            .call(["ls-tree", "-z", "--full-tree", "--end-of-options"])
            .args([commit.as_str(), path.as_str()])
            .finish()
            .await?;
        if listed.fields().next().is_some() {
            let blob = git.call(["cat-file", "blob", &format!("{commit}:{path}")]);
            *text = Some(blob.finish().await?.text());
        }
    }
    Ok(files)
}

/// What an agent process is told at its start, and the way it hears of changes.
pub(crate) async fn agent_and_rules(
    root: &Path,
    role: Role,
) -> Result<(Settings, AgentConfig, RulesInForce), CliError> {
    let repo = Repo::open(root).await.map_err(CliError::internal)?;
    let settings = settings_of(&repo, root).await?;
    let mut config = wiring::agent_config(&settings, role)?;
    hub_access::tell_caps(&settings)?;
    let mut rules = wiring::rules(&settings, role)?;
    let servers = ServerPool::default();
    rules.outside = servers.tools(&settings, role);
    let reader = Arc::new(Reader {
        root: root.to_owned(),
        home: settings.home.clone(),
        repo,
        role,
        servers,
        last: Mutex::default(),
    });
    let listed = roster::fit(&settings, role, &mut config.client, &mut rules).await;
    // The first activation looks at the branch in any case.
    *reader.last.lock().await = Some(Seen {
        commit: None,
        machine: reader.machine(),
        list_until: list_until(listed),
    });
    let read: ReadRules = Box::new(move |commit| {
        let reader = Arc::clone(&reader);
        Box::pin(async move { reader.read(commit).await.map_err(|error| error.plain()) })
    });
    Ok((settings, config, RulesInForce::new(rules, read)))
}

/// Reads the rules of a role again.
struct Reader {
    root: PathBuf,
    home: PathBuf,
    repo: Repo,
    role: Role,
    servers: ServerPool,
    last: Mutex<Option<Seen>>,
}

/// What the rules that were read last depend on.
struct Seen {
    /// Nothing where the working copy counted.
    commit: Option<CommitSha>,
    machine: [Option<SystemTime>; 2],
    list_until: Instant,
}

impl Reader {
    /// The machine config says what was agreed to, a folder beside it which MCP
    /// servers were accepted.
    fn machine(&self) -> [Option<SystemTime>; 2] {
        ["config.json", "mcp"].map(|name| {
            let about = std::fs::metadata(self.home.join(name)).ok()?;
            about.modified().ok()
        })
    }

    async fn read(&self, commit: Option<CommitSha>) -> Result<Option<Rules>, CliError> {
        let machine = self.machine();
        let mut last = self.last.lock().await;
        let same = last.as_ref().is_some_and(|last| {
            last.commit.is_some()
                && last.commit == commit
                && last.machine == machine
                && Instant::now() < last.list_until
        });
        if same {
            return Ok(None);
        }
        let settings = settings_at(&self.repo, &self.root, commit.as_ref()).await?;
        let mut rules = wiring::rules(&settings, self.role)?;
        rules.outside = self.servers.tools(&settings, self.role);
        let mut client = wiring::client_config(&settings.machine, &settings.home, self.role)?;
        let listed = roster::fit(&settings, self.role, &mut client, &mut rules).await;
        hub_access::tell_caps(&settings)?;
        *last = Some(Seen {
            commit,
            machine,
            list_until: list_until(listed),
        });
        Ok(Some(rules))
    }
}

fn list_until(listed: bool) -> Instant {
    Instant::now() + if listed { LIST_HOLDS } else { LIST_MISSING }
}
