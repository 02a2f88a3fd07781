//! Reads the three files and puts them together.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    consent::{self, Ask},
    cross,
    file::{
        problem::{Problem, Problems},
        read::{self, Reading},
        variables::Environment,
    },
    limits::Limits,
    lookup::{self, FOLDER},
    machine::{Machine, joined::JoinedHub, search},
    mcp::{self, McpEntry},
    policy::RepoPolicy,
    repo::RepoConfig,
    schema::SchemaName,
};

/// Everything that was configured, defaults filled in.
#[derive(Debug, Clone)]
pub struct Settings {
    pub machine: Machine,
    /// The repo's settings as far as they have effect: without what nobody agreed
    /// to, and held below the machine's ceilings.
    pub repo: RepoConfig,
    /// The repo's policy as far as it has effect.
    pub policy: RepoPolicy,
    /// The MCP servers of machine and repo by name, as far as they can be used.
    pub mcp: BTreeMap<String, McpEntry>,
    pub home: PathBuf,
    pub root: PathBuf,
    /// What the repo's files loosen, spend or run, whether or not it was agreed to.
    pub asks: Vec<Ask>,
    /// What deserves a word but is no error.
    pub notices: Vec<Problem>,
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
    /// Errors: a file that is there but cannot be read.
    pub fn on_disk(root: &Path) -> Result<Self, Problems> {
        let folder = root.join(FOLDER);
        let mut problems = Vec::new();
        let mut text = |name: &str| {
            read::committed(&folder.join(name)).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        };
        let (config, policy) = (text("config.json"), text("policy.json"));
        let mcp = text("mcp.json");
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
    /// Errors: all problems of all files.
    pub fn load(start: &Path, env: Environment<'_>) -> Result<Self, Problems> {
        let home = home(env)?;
        let root = lookup::set_up_root(start, Some(&home))
            .ok_or_else(|| Problems(vec![not_set_up(start)]))?;
        let files = RepoFiles::on_disk(&root)?;
        Self::load_from(&root, &files, env)
    }

    /// Reads everything, the repo's files as given: those of the default branch
    /// when agents run, so that no branch can change its own rules.
    /// Errors: all problems of all files.
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
        if !reading.problems.is_empty() {
            return Err(Problems(reading.problems));
        }
        let (mcp, unusable) = mcp::servers(&file("mcp.json"), files.mcp.as_deref(), &machine);
        let mut settings = Self {
            mcp,
            repo: repo.value,
            policy: policy.value,
            asks: Vec::new(),
            notices: cross::machine_notices(&machine, &home.join("config.json")),
            machine,
            home,
            root: root.to_owned(),
        };
        settings.notices.append(&mut reading.notices);
        settings.notices.extend(unusable);
        settings.hold_asks(&files.folder);
        settings.hold_below_ceilings();
        Ok(settings)
    }

    /// The hub on another machine that this repo has joined, if it has.
    pub fn joined(&self) -> Option<&JoinedHub> {
        self.machine.joined.get(self.root.to_str()?)
    }

    /// What the repo's files ask for and nobody on this machine agreed to yet.
    pub fn waiting(&self) -> Vec<Ask> {
        let asks = self.asks.iter();
        asks.filter(|ask| !ask.agreed).cloned().collect()
    }

    /// Reads the machine config alone, for commands outside a repo.
    /// Errors: all problems of that file.
    pub fn machine(env: Environment<'_>) -> Result<(Machine, PathBuf), Problems> {
        let home = home(env)?;
        let mut reading = Reading::new(env);
        let machine = machine(&home, &mut reading);
        reading.sound((machine, home))
    }

    /// Reads a text as if it were the machine config, before it is written.
    /// Errors: all problems it would have.
    pub fn check_machine(
        file: &Path,
        text: &str,
        env: Environment<'_>,
    ) -> Result<Machine, Problems> {
        let mut reading = Reading::new(env);
        let machine = machine_text(file, Some(text), &mut reading);
        reading.sound(machine)
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

    fn hold_asks(&mut self, folder: &Path) {
        let consents = &self.machine.consents.policy;
        self.asks = consent::hold(&mut self.repo, &mut self.policy, consents, &self.root);
        for ask in self.waiting() {
            let what = format!("without effect until you agree: {}", ask.words);
            let remedy = "Agree with `codebutler policy accept`, or take it out of the file";
            let problem = Problem::with_file(&folder.join(ask.file), what, remedy);
            let key = ask.key;
            self.notices.push(Problem { key, ..problem });
        }
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
    let search = read.written.iter().flat_map(search::problems);
    reading.problems.extend(search);
    read.value
}

fn not_set_up(start: &Path) -> Problem {
    Problem::with_file(
        start,
        "not set up for CodeButler",
        "Run `codebutler init` in the repository",
    )
}
