//! What all threads of one agent process share: the line to the hub, the
//! repository, the model, the jail.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use butler_jail::Jail;
use butler_model::ModelClient;
use butler_playbook::{Sources, builtin_files, prompt, role_file};
use butler_vocab::{Epoch, Role};
use butler_worktree::{Forge, Repo};
use tokio::sync::Semaphore;

use crate::{AgentConfig, line::Line};

/// One agent process.
pub struct Office {
    /// What it was told.
    pub config: AgentConfig,
    /// How it speaks.
    pub line: Line,
    /// The clone.
    pub repo: Repo,
    /// Pull requests.
    pub forge: Arc<dyn Forge>,
    /// The model.
    pub model: ModelClient,
    /// Where commands run.
    pub jail: Arc<Jail>,
    /// Threads at work at the same time.
    pub desks: Arc<Semaphore>,
    /// Which life of this role this is.
    pub epoch: Epoch,
}

impl Office {
    /// Who works here.
    pub fn role(&self) -> Role {
        self.config.role
    }

    /// A text for git or the forge, without secrets.
    pub fn clean(&self, text: &str) -> String {
        self.config.redactor.redact(text).text
    }

    /// Where the logs of all threads are.
    pub fn threads(&self) -> PathBuf {
        self.config.repo.join(".codebutler/threads")
    }

    /// The prompt for the next activation, from the fetched default branch and,
    /// where the repo has no file of its own, from the shipped one.
    pub async fn prompt(&self) -> String {
        let role = self.role();
        let shipped = |name: &str| {
            builtin_files()
                .iter()
                .find(|file| file.name == name)
                .map_or("", |file| file.text)
        };
        let sources = Sources {
            role: self
                .repo_file(&format!("{role}.md"))
                .await
                .unwrap_or_else(|| role_file(role).text.to_owned()),
            global: self
                .repo_file("global.md")
                .await
                .unwrap_or_else(|| shipped("global.md").to_owned()),
            workflows: self
                .repo_file("workflows.md")
                .await
                .unwrap_or_else(|| shipped("workflows.md").to_owned()),
            rules: None,
        };
        prompt(role, &sources)
    }

    /// A file of `.codebutler/` as it is on the default branch. Never from a
    /// thread's branch, which an agent could have changed.
    async fn repo_file(&self, name: &str) -> Option<String> {
        let spec = format!("{}:.codebutler/{name}", self.repo.default_ref());
        let output = self
            .repo
            .git()
            .call(["cat-file", "blob", &spec])
            .finish()
            .await
            .ok()?;
        Some(output.text())
    }
}

/// The date, for what the team remembers.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    })
}
