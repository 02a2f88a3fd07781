//! What the repo's `config.json` and `policy.json` say, as far as it has effect on
//! this machine. It is read from the default branch, and read again while the
//! process runs: a push holds from the next activation on.

use std::{collections::BTreeMap, time::Duration};

use butler_model::ClientConfig;
use butler_playbook::Profile;
use butler_policy::{Overrides, Redactor};
use butler_protocol::{CommitSha, Complexity, TokenUsage, Usd, UserId};
use butler_tools::{Check, OutsideTools};
use butler_turn::{Limits, Models, route::RespondTo};
use futures_util::future::BoxFuture;

use crate::upkeep::garbage::Patience;

/// Reads the rules of a commit of the default branch; of nothing when it has none.
/// Nothing comes back while they are those that were read last, and a sentence for
/// people when they cannot be used.
pub type ReadRules = Box<
    dyn Fn(Option<CommitSha>) -> BoxFuture<'static, Result<Option<Rules>, String>> + Send + Sync,
>;

/// The rules that a repo sets for its team.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which models to ask.
    pub models: ModelRules,
    /// Who may ask for work.
    pub access: AccessRules,
    /// How far work may go.
    pub limits: WorkLimits,
    /// Whether the story of a thread is committed with its pull request.
    pub journal_in_pull: bool,
    /// Labels of the team's pull requests.
    pub labels: Vec<String>,
    /// Whether the Coder may change code only after a person approved a plan.
    pub plan_gate: bool,
    /// What to write in which language, where it is not the usual.
    pub language: Option<String>,
    /// The language that people are answered in, where it is fixed.
    pub reply_language: Option<String>,
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
    /// Tools of MCP servers that the role may use.
    pub outside: OutsideTools,
    /// Takes secrets out of commits and pull requests; the hub does it for chat.
    pub redactor: Redactor,
    /// What people should know about these rules, told once each.
    pub remarks: Vec<String>,
}

/// Who writes recordings down.
#[derive(Debug, Clone)]
pub struct Transcription {
    /// The model.
    pub model: String,
    /// What a minute costs, when the answer does not say it.
    pub per_minute: Usd,
    /// Where it is asked.
    pub client: ClientConfig,
}

/// No codec for speech needs fewer bytes for a second.
const FEWEST_BYTES: f64 = 1_000.0;

impl Transcription {
    /// What so many seconds cost.
    pub(crate) fn for_seconds(&self, seconds: f64) -> Usd {
        Usd::from_dollars(self.per_minute.dollars() * seconds / 60.0)
    }

    /// What a recording of so many bytes can cost.
    pub(crate) fn worst_case(&self, bytes: usize) -> Usd {
        self.for_seconds(bytes as f64 / FEWEST_BYTES)
    }
}

/// Who makes pictures.
#[derive(Debug, Clone)]
pub struct Images {
    /// The model.
    pub model: String,
    /// What one costs, where the repository says so.
    pub each: Option<Usd>,
    /// What one may cost, where nobody says so.
    pub bound: Usd,
    /// Where it is asked.
    pub client: ClientConfig,
}

impl Images {
    /// What is set aside for one.
    pub(crate) fn worst_case(&self) -> Usd {
        self.each.unwrap_or(self.bound)
    }

    /// What the endpoint says it charged, else what the repository says, else by tokens.
    pub(crate) fn cost(&self, billed: Option<Usd>, usage: &TokenUsage) -> Usd {
        let counted = *usage != TokenUsage::default() && self.bound > Usd::ZERO;
        let by_tokens = || {
            let client = &self.client;
            let upper = &client.upper_price;
            client.prices.cost(&self.model, usage, None, upper)
        };
        billed
            .or(self.each)
            .unwrap_or_else(|| if counted { by_tokens() } else { self.bound })
    }
}

/// Which models a role asks.
#[derive(Debug, Clone)]
pub struct ModelRules {
    /// The usual one and the ways out.
    pub chain: Models,
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
    /// Who describes pictures to a role whose model does not see, where its endpoint has it.
    pub seeing: Option<String>,
    /// Who writes recordings down; nobody means that people are told.
    pub transcription: Option<Transcription>,
    /// Who makes pictures, in the process that may ask for one.
    pub images: Option<Images>,
}

impl ModelRules {
    /// The model that a person means: a name of the pool, or a model's full name.
    pub(crate) fn named(&self, name: &str) -> Option<String> {
        let full = name.contains('/') && !name.contains(char::is_whitespace);
        let known = self.pool.get(name).cloned();
        known.or_else(|| full.then(|| name.to_owned()))
    }
}

/// Who may ask for work.
#[derive(Debug, Clone)]
pub struct AccessRules {
    /// These people; empty means everybody in the channel.
    pub allowed: Vec<UserId>,
    /// Which messages of people start work.
    pub respond_to: RespondTo,
    /// Bots of others that may ask too; the hub lets no others through.
    pub allowed_bots: Vec<String>,
    /// What assigns an issue of the forge to the team.
    pub issues: IssueRules,
}

/// What assigns an issue of the forge to the team, from whoever may push to the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueRules {
    /// This label on it.
    pub label: Option<String>,
    /// This word in it.
    pub mention: Option<String>,
}

impl AccessRules {
    /// Whether this person may ask for work.
    pub fn allows(&self, user: &UserId) -> bool {
        self.allowed.is_empty() || self.allowed.contains(user)
    }
}

/// How far work may go, and how long it waits.
#[derive(Debug, Clone)]
pub struct WorkLimits {
    /// How far an activation may go.
    pub activation: Limits,
    /// What a thread may cost; shown on plans, enforced by the hub.
    pub thread_cap: Usd,
    /// Review rounds before the Lead decides.
    pub review_rounds: u32,
    /// Minutes an agent waits for another agent's answer.
    pub wait_minutes: u32,
    /// Threads at work at the same time.
    pub threads_at_once: usize,
    /// How long silence is respected before a worktree is put to sleep.
    pub patience: Patience,
    /// Between two looks at the forge.
    pub forge_pause: Duration,
    /// Days until the folder of a closed thread is packed.
    pub retention_days: u32,
    /// Days after which a finding is looked up again.
    pub research_days: u32,
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
