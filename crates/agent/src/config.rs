//! What one agent process is told by the binary; nothing of the rest of the
//! configuration reaches this crate.

use std::{collections::BTreeMap, path::PathBuf};

use butler_model::ClientConfig;
use butler_playbook::Profile;
use butler_policy::{Overrides, Redactor};
use butler_protocol::{Complexity, Role, Secret, Usd, UserId};
use butler_tools::Check;
use butler_turn::{Limits, Models, route::RespondTo};
use url::Url;

use crate::upkeep::garbage::Patience;

/// Everything an agent process needs to work.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Who it is.
    pub role: Role,
    /// The person's clone of the repo.
    pub repo: PathBuf,
    /// `~/.codebutler`: hidden from every command.
    pub home: PathBuf,
    /// The home of the person who runs it: where credentials lie.
    pub person_home: PathBuf,
    /// Where the hub listens.
    pub hub: Url,
    /// What the hub knows this role by.
    pub bot_token: Secret,
    /// What opens the socket.
    pub app_token: Secret,
    /// How to reach the model.
    pub client: ClientConfig,
    /// Which models to ask.
    pub models: Models,
    /// How much the model can be told at once.
    pub profile: Profile,
    /// The Coder's model for each size of a plan, in the process that builds.
    pub by_complexity: Option<ByComplexity>,
    /// The same, for everybody who shows a plan.
    pub builders: ByComplexity,
    /// Names that a person may use for models, as in `!pm claude`.
    pub pool: BTreeMap<String, String>,
    /// The Reviewer's model for the first pass, where that is another one.
    pub first_pass: Option<String>,
    /// Review rounds before the Lead decides.
    pub review_rounds: u32,
    /// Who may ask for work; empty means everybody in the channel.
    pub allowed: Vec<UserId>,
    /// Which messages of people start work.
    pub respond_to: RespondTo,
    /// Bots of others that may ask for work; the hub lets no others through.
    pub allowed_bots: Vec<String>,
    /// How far an activation may go.
    pub limits: Limits,
    /// What a thread may cost; shown on plans, enforced by the hub.
    pub thread_cap: Usd,
    /// Whether the story of a thread is committed with its pull request.
    pub journal_in_pull: bool,
    /// Whether the Coder may change code only after a person approved a plan.
    pub plan_gate: bool,
    /// Minutes an agent waits for another agent's answer.
    pub wait_minutes: u32,
    /// What to write in which language, where it is not the usual.
    pub language: Option<String>,
    /// Whether knowledge goes to the default branch without a pull request.
    pub knowledge_direct: bool,
    /// The repo's checks.
    pub checks: Vec<Check>,
    /// Commands that make a fresh worktree ready to build, as far as they were agreed to.
    pub prepare: Vec<String>,
    /// What the repo's files ask for and nobody on this machine agreed to, in words.
    pub unagreed: Vec<String>,
    /// What the policy in force changes.
    pub overrides: Overrides,
    /// Takes secrets out of commits and pull requests; the hub does it for chat.
    pub redactor: Redactor,
    /// The executable that is started again as `__sandbox`.
    pub sandbox_helper: PathBuf,
    /// Days after which a finding is looked up again.
    pub research_days: u32,
    /// Threads at work at the same time.
    pub threads_at_once: usize,
    /// How long silence is respected before a worktree is put to sleep.
    pub patience: Patience,
    /// Days until the folder of a closed thread is packed.
    pub retention_days: u32,
}

/// A model for each size of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByComplexity {
    /// For simple plans.
    pub simple: String,
    /// For medium ones.
    pub medium: String,
    /// For complex ones; also the way out when a weaker one is stuck.
    pub complex: String,
}

impl ByComplexity {
    /// The one for this size.
    #[must_use]
    pub fn of(&self, complexity: Complexity) -> &str {
        match complexity {
            Complexity::Simple => &self.simple,
            Complexity::Medium => &self.medium,
            Complexity::Complex => &self.complex,
        }
    }
}
