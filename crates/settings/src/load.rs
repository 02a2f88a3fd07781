//! Reads the four files and puts them together.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use butler_vocab::Sha256Hex;

use crate::{
    consent::{self, Loosening},
    cross::{self, McpOffer},
    limits::Limits,
    lookup::{self, FOLDER},
    machine::Machine,
    mcp::McpConfig,
    policy::RepoPolicy,
    problem::{Problem, Problems},
    read::{self, Reading},
    repo::RepoConfig,
    schema::SchemaName,
    variables::Environment,
};

/// Everything that was configured, defaults filled in.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The machine's own settings.
    pub machine: Machine,
    /// The repo's settings, held below the machine's ceilings.
    pub repo: RepoConfig,
    /// The repo's policy as far as it has effect.
    pub policy: RepoPolicy,
    /// The repo's MCP servers; ask [`Settings::mcp_agreed`] before starting one.
    pub mcp: McpConfig,
    /// The machine's folder.
    pub home: PathBuf,
    /// The repo's root folder.
    pub root: PathBuf,
    /// What the repo's policy loosens, whether or not it was agreed to.
    pub loosening: Option<Loosening>,
    /// What deserves a word but is no error.
    pub notices: Vec<Problem>,
    mcp_offers: BTreeMap<String, McpOffer>,
}

/// The texts of a repo's three files; none stands for a file that is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoFiles {
    /// How problems name the folder, as in `/work/app/.codebutler` or `main:.codebutler`.
    pub folder: PathBuf,
    /// `config.json`
    pub config: Option<String>,
    /// `policy.json`
    pub policy: Option<String>,
    /// `mcp.json`
    pub mcp: Option<String>,
}

impl RepoFiles {
    /// The files as they are on disk.
    ///
    /// # Errors
    /// A file that is there but cannot be read.
    pub fn on_disk(root: &Path) -> Result<Self, Problems> {
        let folder = root.join(FOLDER);
        let mut problems = Vec::new();
        let mut text = |name: &str| {
            read::committed(&folder.join(name)).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        };
        let (config, policy, mcp) = (text("config.json"), text("policy.json"), text("mcp.json"));
        if problems.is_empty() {
            Ok(Self {
                folder,
                config,
                policy,
                mcp,
            })
        } else {
            Err(Problems(problems))
        }
    }
}

impl Settings {
    /// Reads everything for the repo around `start`, the repo's files from disk.
    ///
    /// # Errors
    /// All problems of all files.
    pub fn load(start: &Path, env: Environment<'_>) -> Result<Self, Problems> {
        let home = home(env)?;
        let root = lookup::set_up_root(start, Some(&home))
            .ok_or_else(|| Problems(vec![not_set_up(start)]))?;
        let files = RepoFiles::on_disk(&root)?;
        Self::load_from(&root, &files, env)
    }

    /// Reads everything, the repo's files as given: those of the default branch
    /// when agents run, so that no branch can change its own rules.
    ///
    /// # Errors
    /// All problems of all files.
    pub fn load_from(
        root: &Path,
        files: &RepoFiles,
        env: Environment<'_>,
    ) -> Result<Self, Problems> {
        let home = home(env)?;
        let mut reading = Reading::new(env);
        let machine = machine(&home, &mut reading);
        let file = |name: &str| files.folder.join(name);
        let repo = reading.repo::<RepoConfig>(
            SchemaName::Repo,
            &file("config.json"),
            files.config.as_deref(),
        );
        let policy = reading.repo::<RepoPolicy>(
            SchemaName::Policy,
            &file("policy.json"),
            files.policy.as_deref(),
        );
        let mcp =
            reading.repo::<McpConfig>(SchemaName::Mcp, &file("mcp.json"), files.mcp.as_deref());
        reading
            .problems
            .extend(mcp.written.iter().flat_map(cross::mcp));
        if !reading.problems.is_empty() {
            return Err(Problems(reading.problems));
        }
        let mut settings = Self {
            repo: repo.value,
            mcp_offers: mcp
                .written
                .as_ref()
                .map(cross::mcp_offers)
                .unwrap_or_default(),
            mcp: mcp.value,
            loosening: None,
            notices: cross::machine_notices(&machine, &home.join("config.json")),
            policy: policy.value.tightening_only(),
            machine,
            home,
            root: root.to_owned(),
        };
        settings.hold_below_ceilings();
        let hash = policy.filled.map(|filled| consent::hash("policy", &filled));
        settings.apply_loosening(policy.value, hash, &file("policy.json"));
        Ok(settings)
    }

    /// Reads the machine's file alone, for commands outside a repo.
    ///
    /// # Errors
    /// All problems of that file.
    pub fn machine(env: Environment<'_>) -> Result<(Machine, PathBuf), Problems> {
        let home = home(env)?;
        let mut reading = Reading::new(env);
        let machine = machine(&home, &mut reading);
        if reading.problems.is_empty() {
            Ok((machine, home))
        } else {
            Err(Problems(reading.problems))
        }
    }

    /// Reads a text as if it were the machine's file, before it is written.
    ///
    /// # Errors
    /// All problems it would have.
    pub fn check_machine(
        file: &Path,
        text: &str,
        env: Environment<'_>,
    ) -> Result<Machine, Problems> {
        let mut reading = Reading::new(env);
        let machine = machine_text(file, Some(text), &mut reading);
        if reading.problems.is_empty() {
            Ok(machine)
        } else {
            Err(Problems(reading.problems))
        }
    }

    /// What a person agrees to when this MCP server may start.
    #[must_use]
    pub fn mcp_offer(&self, server: &str) -> Option<&McpOffer> {
        self.mcp_offers.get(server)
    }

    /// Whether a person on this machine has agreed to that exact server.
    #[must_use]
    pub fn mcp_agreed(&self, server: &str) -> bool {
        let consents = &self.machine.consents.mcp;
        self.mcp_offer(server)
            .is_some_and(|offer| consent::agreed(consents, &self.root, &offer.sha256))
    }

    fn hold_below_ceilings(&mut self) {
        let Limits {
            max_cost_per_thread: thread,
            max_cost_per_day: day,
            ..
        } = &mut self.repo.limits;
        let ceilings = self.machine.ceilings;
        *thread = thread.min(ceilings.max_cost_per_thread.unwrap_or(*thread));
        *day = day.min(ceilings.max_cost_per_day.unwrap_or(*day));
    }

    fn apply_loosening(&mut self, policy: RepoPolicy, hash: Option<Sha256Hex>, file: &Path) {
        let parts = policy.loosening();
        let Some(sha256) = hash.filter(|_| !parts.is_empty()) else {
            return;
        };
        let agreed = consent::agreed(&self.machine.consents.policy, &self.root, &sha256);
        if agreed {
            self.policy = policy;
        } else {
            self.notices.push(Problem::with_file(
                file,
                format!("without effect until you agree: {}", parts.join("; ")),
                "Agree with `codebutler policy accept`, or take it out of the file",
            ));
        }
        self.loosening = Some(Loosening {
            sha256,
            parts,
            agreed,
        });
    }
}

fn home(env: Environment<'_>) -> Result<PathBuf, Problems> {
    lookup::machine_folder(env).ok_or_else(|| {
        Problems(vec![Problem::with_file(
            Path::new("~/.codebutler"),
            "the home folder is not known",
            "Set HOME, or CODEBUTLER_HOME to a folder of your choice",
        )])
    })
}

fn machine(home: &Path, reading: &mut Reading<'_>) -> Machine {
    let file = home.join("config.json");
    let text = read::private(&file).unwrap_or_else(|problem| {
        reading.problems.push(problem);
        None
    });
    machine_text(&file, text.as_deref(), reading)
}

fn machine_text(file: &Path, text: Option<&str>, reading: &mut Reading<'_>) -> Machine {
    let read = reading.machine::<Machine>(file, text);
    reading
        .problems
        .extend(read.written.iter().flat_map(cross::machine));
    read.value
}

fn not_set_up(start: &Path) -> Problem {
    Problem::with_file(
        start,
        "not set up for CodeButler",
        "Run `codebutler init` in the repository",
    )
}
