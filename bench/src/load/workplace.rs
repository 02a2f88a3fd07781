//! A hub as a process of its own with many repositories, and whoever talks to it.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use butler_hub::{PersonToken, RepoTokens, StorePlace, Tokens};
use butler_protocol::Secret;
use butler_slack::{SharedEpoch, Web};
use butler_testkit::Postgres;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::Figures;
use crate::idle::{Serving, set_up};

/// Subscribers that each repository has.
pub(super) const ROLES: usize = 6;

/// This process holds one end of every connection.
pub(super) fn allow_many_files() -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, all).context("cannot raise the limit of open files")
}

pub(super) struct Workplace {
    binary: std::path::PathBuf,
    scratch: TempDir,
    database: Option<(String, u32)>,
    hub: Option<Serving>,
    pub(super) http: reqwest::Client,
    pub(super) person: PersonToken,
    pub(super) repos: Vec<RepoTokens>,
}

impl Workplace {
    /// With as many repositories as the most subscribers take.
    pub(super) fn new(
        binary: &Path,
        subscribers: &[usize],
        server: Option<&Postgres>,
    ) -> Result<Self> {
        let scratch = tempfile::Builder::new()
            .prefix("codebutler-bench-")
            .tempdir()?;
        let (root, home) = (scratch.path().join("app"), scratch.path().join("home"));
        set_up(&root, &home)?;
        let database = server.map(|server| (server.address(), server.pid()));
        let address = database
            .as_ref()
            .map(|(address, _)| Secret::new(address.clone()));
        let mut tokens = Tokens::open(StorePlace::new(home.join("hub"), address))?;
        let most = subscribers.iter().max().copied().unwrap_or(0);
        let repos = (0..most / ROLES)
            .map(|number| format!("repo-{number:03}"))
            .map(|name| tokens.ensure_repo(&name, &name))
            .collect::<Result<_, _>>()?;
        let person = tokens.ensure_person("you")?;
        // reqwest wants a TLS provider, which our own client installs.
        Web::new(
            &"http://127.0.0.1/".parse::<Url>()?,
            Secret::new(""),
            SharedEpoch::default(),
        )?;
        let place = Self {
            binary: binary.to_owned(),
            scratch,
            hub: None,
            http: reqwest::Client::builder().no_proxy().build()?,
            person,
            repos,
            database,
        };
        place.configure()?;
        Ok(place)
    }

    fn home(&self) -> std::path::PathBuf {
        self.scratch.path().join("home")
    }

    fn configure(&self) -> Result<()> {
        let address = self.database.as_ref().map(|(address, _)| address);
        let machine = json!({
            "models": {"endpoints": {"none": {"baseUrl": "http://127.0.0.1:9/v1"}}},
            "hub": {"database": address},
        });
        Ok(fs::write(
            self.home().join("config.json"),
            machine.to_string(),
        )?)
    }

    pub(super) fn start(&mut self) -> Result<()> {
        let root = self.scratch.path().join("app");
        self.hub = Some(Serving::start(&self.binary, "hub", &root, &self.home())?);
        Ok(())
    }

    pub(super) fn stop(&mut self) {
        self.hub = None;
    }

    /// Goes on with the workspace of another place, whose file is moved into a schema of
    /// its own here.
    pub(super) fn take_over(&mut self, other: &Self, figures: &mut Figures) -> Result<()> {
        self.stop();
        let (address, pid) = self.database.take().context("no database")?;
        let address = format!("{address}?schema=moved");
        let begun = std::time::Instant::now();
        let output = std::process::Command::new(&self.binary)
            .args(["hub", "migrate", "--to", &address])
            .current_dir(other.scratch.path().join("app"))
            .env("CODEBUTLER_HOME", other.home())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "hub migrate: {said}");
        figures.row(
            "moving that workspace there",
            format!("{:.0} s", begun.elapsed().as_secs_f64()),
        );
        self.database = Some((address, pid));
        self.person = other.person.clone();
        self.repos.clone_from(&other.repos);
        self.configure()?;
        self.start()
    }

    pub(super) fn base(&self) -> Result<Url> {
        let hub = self.hub.as_ref().context("no hub runs")?;
        Ok(format!("http://{}/", hub.address).parse()?)
    }

    /// Says something as a person; its timestamp.
    pub(super) async fn say(
        &self,
        repo: usize,
        text: &str,
        thread: Option<&str>,
    ) -> Result<String> {
        let channel = &self.repos[repo].channel;
        let body = json!({"channel": channel, "text": text, "thread_ts": thread});
        let request = self.http.post(self.base()?.join("v1/messages")?);
        let request = request.bearer_auth(self.person.token.expose()).json(&body);
        let answer: Value = request.send().await?.json().await?;
        let ts = answer["ts"].as_str();
        Ok(ts
            .with_context(|| format!("not said: {answer}"))?
            .to_owned())
    }

    /// A page, as the person sees it.
    pub(super) async fn page(&self, path: &str) -> Result<String> {
        let request = self.http.get(self.base()?.join(path)?);
        let request = request.bearer_auth(self.person.token.expose());
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.text().await?)
    }

    pub(super) fn hub_pid(&self) -> Result<String> {
        let hub = self.hub.as_ref().context("no hub runs")?;
        Ok(hub.child.id().to_string())
    }

    /// Processor time so far: of the hub, and of the database's processes.
    pub(super) fn used(&self) -> Result<[Duration; 2]> {
        let hub = cpu(&self.hub_pid()?)?;
        let Some((_, server)) = &self.database else {
            return Ok([hub, Duration::ZERO]);
        };
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"))?;
        // One that has just ended was not worth counting.
        let all = children.split_whitespace().filter_map(|pid| cpu(pid).ok());
        Ok([hub, all.sum()])
    }

    /// Bytes of the store, while no hub runs.
    pub(super) fn bytes(&self) -> Result<u64> {
        let Some((address, _)) = &self.database else {
            let files = fs::read_dir(self.home().join("hub"))?.flatten();
            let files = files.filter(|file| {
                let name = file.file_name();
                name.to_string_lossy().starts_with("hub.sqlite3")
            });
            return Ok(files
                .filter_map(|file| Some(file.metadata().ok()?.len()))
                .sum());
        };
        // Without what is dead already.
        let sum = "VACUUM; SELECT sum(pg_total_relation_size(oid)) FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'codebutler'::regnamespace";
        let mut psql = std::process::Command::new("psql");
        psql.args(["--no-psqlrc", "-At", address]);
        for one in sum.split(';') {
            psql.args(["-c", one]);
        }
        let output = psql.output().context("psql is missing")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figure = said
            .lines()
            .last()
            .and_then(|line| line.trim().parse().ok());
        figure.with_context(|| format!("psql: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn cpu(pid: &str) -> Result<Duration> {
    // Nanoseconds on a processor, of every thread.
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let first = text.split_whitespace().next();
        sum += first.and_then(|one| one.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}
