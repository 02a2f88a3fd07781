//! What a team agrees on in its repository, `<repo>/.codebutler/config.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{limits::Limits, models::Models};

/// The repo's settings; committed, so they hold no secret and name no host that a key goes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RepoConfig {
    /// The channel of this repo.
    pub slack: Channel,
    /// Which model each role talks to.
    pub models: Models,
    /// What protects your budget and your patience. A cap above the shipped one needs consent.
    pub limits: Limits,
    /// The commands that tell whether the code is good, by name; run by RunChecks in their order.
    #[schemars(with = "BTreeMap<String, String>")]
    pub checks: Checks,
    /// Commands that make a fresh worktree ready to build. They run in the sandbox, with the
    /// network, and need consent.
    pub prepare: Vec<String>,
    /// Which language is written where.
    pub language: Language,
    /// Where the story of a thread is committed.
    pub journal: JournalPlace,
    /// Labels that the team puts on its pull requests, where they live on a forge that has labels.
    pub labels: Labels,
    /// Issues of the forge that start work by themselves.
    pub issues: Issues,
    /// Days until the folder of a closed thread is packed into an archive.
    pub retention_days: RetentionDays,
    /// How long research stays fresh, and where it may look.
    pub research: Research,
}

/// Checks by name, in the order in which the file has them.
pub(crate) type Checks = serde_json::Map<String, serde_json::Value>;

/// One named check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// As in `test`.
    pub name: String,
    /// As in `cargo test`.
    pub command: String,
}

impl RepoConfig {
    /// The checks as a list, in the order of the file.
    pub fn checks(&self) -> Vec<Check> {
        let checks = self.checks.iter().filter_map(|(name, command)| {
            let (name, command) = (name.clone(), command.as_str()?.to_owned());
            Some(Check { name, command })
        });
        checks.collect()
    }
}

/// The channel and how the team behaves in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Channel {
    /// Slack's id of the channel, `C…`. The built-in workspace needs only the name.
    #[serde(rename = "channelID")]
    pub channel_id: Option<String>,
    /// The channel's name. Unset: `codebutler-<repo>`.
    pub channel_name: Option<String>,
    /// Which messages of people start work.
    pub respond_to: RespondTo,
    /// Bot ids (`B…`) that may ask for work; they decide nothing. All other bots are ignored. Each
    /// needs consent.
    pub allowed_bots: Vec<String>,
}

/// Which messages start work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RespondTo {
    /// Every message of a person: a channel of its own.
    #[default]
    All,
    /// Only messages that mention the team: a channel that people share.
    Mention,
}

settings! {
    /// Which language is written where.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct Language {
        /// The language of code, commits, pull requests and memory.
        pub repo: String = "English".into(),
        /// The language of answers and cards: a name, or `auto` for that of the person who asked (cards are in English then). Cards know English and Spanish.
        pub reply: String = "auto".into(),
    }
}

/// Where the story of a thread is committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JournalPlace {
    /// A page of it in the thread's pull request.
    Pr,
    /// All of it on a ref beside the branches.
    #[default]
    Ref,
}

/// Labels of pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(pub Vec<String>);

impl Default for Labels {
    fn default() -> Self {
        Self(vec!["codebutler".into()])
    }
}

/// What assigns an issue of the forge to the team; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Issues {
    /// A label: an issue that somebody who may push to the repository puts it on is planned by the
    /// team. Needs consent.
    pub label: Option<String>,
    /// A word, as in `@codebutler`: an issue where somebody who may push to the repository writes
    /// it is planned by the team. Needs consent.
    pub mention: Option<String>,
}

/// Days until a closed thread is packed away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RetentionDays(#[schemars(range(min = 1))] pub u32);

impl Default for RetentionDays {
    fn default() -> Self {
        Self(90)
    }
}

settings! {
    /// How long research stays fresh, and where it may look.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct Research {
        /// Days after which a finding is looked up again.
        #[schemars(range(min = 1))]
        pub max_age_days: u32 = 90,
        /// Hosts as in `docs.rs` that the Researcher goes on reading without a click after it has read
        /// text from outside; others ask unless a person named them in the thread. Each needs consent.
        pub hosts: Vec<String>,
    }
}
