//! What a repo's files ask for that needs a person's word on this machine.
//!
//! Files that came with a clone may tighten at once. Whatever in them loosens a
//! rule, costs more than the shipped caps or runs a command is an [`Ask`]: it has
//! no effect until somebody here agreed to exactly that, and what was shipped
//! holds in its place. A consent is bound to the repo's folder and to the hash of
//! what was shown, one per ask, so that one new ask leaves the others as they were.

pub(crate) mod agree;

use std::path::Path;

use butler_protocol::{Sha256Hex, Usd, visible_line};
use serde::Serialize;

use crate::{
    limits::Limits,
    machine::Consent,
    policy::{Knowledge, PlanGate, RepoPolicy, Undoable},
    repo::{Issues, RepoConfig},
};

/// One thing that a repo's files ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The file it stands in, as in `config.json`.
    pub file: &'static str,
    /// The key, as in `limits.maxCostPerDay`.
    pub key: String,
    /// What would happen, in words and in one line, nothing left out.
    pub words: String,
    /// What a consent is bound to.
    pub sha256: Sha256Hex,
    /// Whether a person on this machine has agreed, so that it has effect.
    pub agreed: bool,
}

/// The hash that stands for several asks, shown and agreed to together.
pub fn hash_of(asks: &[Ask]) -> Sha256Hex {
    let hashes: Vec<&str> = asks.iter().map(|ask| ask.sha256.as_str()).collect();
    Sha256Hex::of(hashes.join("\n"))
}

/// Puts what was shipped in the place of everything that nobody agreed to; all
/// asks, agreed to or not.
pub(crate) fn hold(
    repo: &mut RepoConfig,
    policy: &mut RepoPolicy,
    consents: &[Consent],
    root: &Path,
) -> Vec<Ask> {
    let mut gate = Gate {
        consents,
        root,
        asks: Vec::new(),
        file: "config.json",
    };
    gate.prepare(&mut repo.prepare);
    let bots = &mut repo.slack.allowed_bots;
    bots.retain(|bot| {
        let words = format!("the bot {} may ask for work", quoted(bot));
        gate.agreed("slack.allowedBots", bot, words)
    });
    gate.issues(&mut repo.issues);
    repo.research.hosts.retain(|host| {
        let words = format!(
            "pages of {} are read without approval, also after text from outside was read",
            quoted(host)
        );
        gate.agreed("research.hosts", host, words)
    });
    gate.limits(&mut repo.limits);
    gate.file = "policy.json";
    gate.policy(policy);
    gate.asks
}

struct Gate<'a> {
    consents: &'a [Consent],
    root: &'a Path,
    asks: Vec<Ask>,
    file: &'static str,
}

impl Gate<'_> {
    /// Notes an ask; whether it has effect.
    fn agreed(&mut self, key: &str, value: &impl Serialize, words: String) -> bool {
        // Numbers, words and lists of words have one spelling each.
        let value = serde_json::to_string(value).unwrap_or_default();
        let sha256 = Sha256Hex::of(format!("{key}\n{value}"));
        let mut consents = self.consents.iter();
        let agreed =
            consents.any(|one| Path::new(&one.repo) == self.root && one.sha256 == sha256.as_str());
        self.asks.push(Ask {
            file: self.file,
            key: key.to_owned(),
            words,
            sha256,
            agreed,
        });
        agreed
    }

    fn prepare(&mut self, commands: &mut Vec<String>) {
        if commands.is_empty() {
            return;
        }
        let list: Vec<_> = commands.iter().map(|command| quoted(command)).collect();
        let words = format!(
            "every fresh worktree runs {}, with the network",
            list.join(", then ")
        );
        if !self.agreed("prepare", commands, words) {
            commands.clear();
        }
    }

    fn issues(&mut self, issues: &mut Issues) {
        for (key, what, value) in [
            ("issues.label", "the label", &mut issues.label),
            ("issues.mention", "the word", &mut issues.mention),
        ] {
            if let Some(word) = value.as_ref() {
                let word = quoted(word);
                let words = format!("an issue on the forge starts work by {what} {word}");
                if !self.agreed(key, value, words) {
                    *value = None;
                }
            }
        }
    }

    fn limits(&mut self, limits: &mut Limits) {
        let shipped = Limits::default();
        for (key, what, value, most) in [
            (
                "limits.maxCostPerThread",
                "one thread may cost",
                &mut limits.max_cost_per_thread,
                shipped.max_cost_per_thread,
            ),
            (
                "limits.maxCostPerDay",
                "this repo may cost in a day",
                &mut limits.max_cost_per_day,
                shipped.max_cost_per_day,
            ),
        ] {
            if *value > most {
                let (now, usual) = (Usd::from_dollars(*value), Usd::from_dollars(most));
                let words = format!("{what} {now} (shipped cap: {usual})");
                if !self.agreed(key, value, words) {
                    *value = most;
                }
            }
        }
        for (key, what, value, most) in [
            (
                "limits.maxConcurrentThreads",
                "threads at work at the same time",
                &mut limits.max_concurrent_threads,
                shipped.max_concurrent_threads,
            ),
            (
                "limits.maxCallsPerHour",
                "model calls of this repo in an hour",
                &mut limits.max_calls_per_hour,
                shipped.max_calls_per_hour,
            ),
            (
                "limits.reviewRounds",
                "review rounds before the Lead decides",
                &mut limits.review_rounds,
                shipped.review_rounds,
            ),
            (
                "limits.maxExchanges",
                "messages between agents before a person is asked",
                &mut limits.max_exchanges,
                shipped.max_exchanges,
            ),
        ] {
            self.cap(key, what, value, most);
        }
        let (often, usual) = (limits.forge_seconds, shipped.forge_seconds);
        if often < usual {
            let words = format!("a look at the forge every {often} seconds (shipped: {usual})");
            if !self.agreed("limits.forgeSeconds", &often, words) {
                limits.forge_seconds = usual;
            }
        }
        for (role, value, most) in limits.max_turns.each_with(&shipped.max_turns) {
            let what = format!("turns of one activation of the {}", role.title());
            self.cap(&format!("limits.maxTurns.{role}"), &what, value, most);
        }
    }

    fn cap(&mut self, key: &str, what: &str, value: &mut u32, most: u32) {
        if *value > most {
            let words = format!("{what}: {value} (shipped cap: {most})");
            if !self.agreed(key, value, words) {
                *value = most;
            }
        }
    }

    fn policy(&mut self, policy: &mut RepoPolicy) {
        let safe = &mut policy.tool_overrides.bash.safe;
        safe.retain(|command| {
            let words = format!("{} runs without approval", quoted(command));
            self.agreed("tool_overrides.bash.safe", command, words)
        });
        let words = "the Coder may change code without an approved plan";
        if !policy.plan_gate.0 && !self.agreed("planGate", &false, words.into()) {
            policy.plan_gate = PlanGate::default();
        }
        let words = "knowledge is committed to the default branch directly";
        if policy.knowledge == Knowledge::Direct
            && !self.agreed("knowledge", &policy.knowledge, words.into())
        {
            policy.knowledge = Knowledge::default();
        }
        let words = "commands run without approval where the kernel cannot confine them fully";
        if policy.sandbox.accept_weaker && !self.agreed("sandbox.acceptWeaker", &true, words.into())
        {
            policy.sandbox.accept_weaker = false;
        }
        let words = "commands delete files of the worktree without approval, after saving them";
        if policy.undoable == Undoable::Save
            && !self.agreed("undoable", &policy.undoable, words.into())
        {
            policy.undoable = Undoable::default();
        }
    }
}

/// A text of the repo in a line of ours, with nothing in it that cannot be seen.
fn quoted(text: &str) -> String {
    format!("`{}`", visible_line(text))
}
