//! What all threads of one agent process share: the line to the hub, the
//! repository, the model, the sandbox.

use std::{env, path::PathBuf, sync::Arc};

use butler_model::ModelClient;
use butler_playbook::{Overview, Playbook, learnings_in};
use butler_policy::{Right, right};
use butler_protocol::{Role, ThreadId, UserId};
use butler_repo::{Forge, Repo};
use butler_sandbox::Sandbox;

use crate::{
    AgentConfig, Rules,
    develop::runner::Develop,
    listen::{group::Group, pause::Pause},
    tell::poster::Poster,
    thread::{prepare::Preparations, slots::Slots},
    upkeep::{
        digests::Digests, playbook_cache::PlaybookCache, rules_in_force::RulesInForce,
        trials::Trials,
    },
};

/// One agent process.
pub(crate) struct Agent {
    /// What it was told.
    pub config: AgentConfig,
    /// What the repo's files say.
    pub rules: RulesInForce,
    /// How it speaks.
    pub poster: Poster,
    /// The app's user: what a typed `@codebutler` becomes.
    pub bot: Option<UserId>,
    /// The clone.
    pub repo: Repo,
    /// Pull requests, issues and releases.
    pub forge: Forge,
    /// The model.
    pub model: Arc<ModelClient>,
    /// Where commands run.
    pub sandbox: Arc<Sandbox>,
    /// Threads at work at the same time.
    pub slots: Arc<Slots>,
    /// Whether the whole team is paused.
    pub pause: Pause,
    /// This process among others of its role.
    pub group: Group,
    /// When this process began.
    pub began_ms: i64,
    /// The playbook that was read last.
    pub playbook_cache: PlaybookCache,
    /// Worktrees that are being made ready.
    pub preparations: Preparations,
    /// Runs over the roadmap.
    pub develop: Develop,
    /// What earlier threads say.
    pub digests: Digests,
}

impl Agent {
    /// Whether the process ends as soon as its running turns are over.
    pub(crate) fn is_leaving(&self) -> bool {
        self.config.renewal.is_cancelled()
    }

    /// Who works here.
    pub(crate) fn role(&self) -> Role {
        self.config.role
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.now()
    }

    /// A text for git or the forge, without secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.rules().redactor.redact(text).text
    }

    /// Where the logs of all threads are.
    pub(crate) fn threads(&self) -> PathBuf {
        self.config.repo.join(".codebutler/threads")
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.config.clock.now_ms()
    }

    /// The date, for what the team remembers.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        let now = jiff::Timestamp::from_millisecond(self.now_ms()).unwrap_or_default();
        now.to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    /// When an agent that asked another one stops waiting.
    pub(crate) fn answer_by_ms(&self) -> i64 {
        self.now_ms() + i64::from(self.rules().limits.wait_minutes) * 60_000
    }

    /// The team's playbook, as the default branch has it now.
    pub(crate) async fn playbook(&self) -> Arc<Playbook> {
        Arc::clone(&self.playbook_cache.known(&self.repo).await.playbook)
    }

    /// The repository in a few lines, as the default branch and the rules are now.
    pub(crate) async fn overview(&self) -> String {
        let (rules, known) = (self.rules(), self.playbook_cache.known(&self.repo).await);
        let checks: Vec<_> = rules
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.command.as_str()))
            .collect();
        Overview {
            layout: &known.layout,
            branch: Some(self.repo.default_branch().as_str()),
            platform: &format!("{} {}", env::consts::OS, env::consts::ARCH),
            date: &self.today().to_string(),
            prepare: &rules.prepare,
            unagreed: &rules.unagreed,
            checks: &checks,
        }
        .text()
    }

    /// The prompt for the next activation, for a thread that is about `task`.
    pub(crate) async fn prompt(&self, task: &str, thread: &ThreadId) -> String {
        let (rules, playbook) = (self.rules(), self.playbook().await);
        let made = |out: &[String]| playbook.prompt(self.role(), rules.models.profile, task, out);
        let mut prompt = made(&[]);
        let given = learnings_in(&prompt).into_iter().map(|(id, _)| id);
        let out = Trials::draw(&self.threads(), thread, &given.collect::<Vec<_>>());
        if !out.is_empty() {
            prompt = made(&out);
        }
        prompt.extend(rules.language.iter().map(|line| format!("\n\n{line}")));
        // Whoever keeps findings is told which of them to look up again.
        let keeps = right(self.role(), "SaveResearch") != Right::No;
        let days = rules.limits.research_days;
        let stale = keeps.then(|| playbook.research().to_refresh(self.today(), days));
        if let Some(stale) = stale.flatten() {
            prompt.push_str(&format!("\n{stale}"));
        }
        prompt
    }
}
