//! What the operator of a hub sets: how long things are kept, and how much a repository, a
//! person and a token may use.

use schemars::JsonSchema;
use serde::Deserialize;

settings! {
    /// How long the hub keeps things as they are. What people said stays, unless a time is set for it.
    #[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
    pub struct HubRetention {
        /// Days without a word after which a thread in which nobody waits is packed, and events that everybody has had go. The first word in it brings it back.
        #[schemars(range(min = 1))]
        pub cold_days: u32 = 30,
        /// Days without a word after which messages and files of a thread in which nobody waits are deleted; decisions, money and the audit stay. Unset: never.
        #[schemars(range(min = 1))]
        pub thread_days: Option<u32>,
    }
}

/// What each repository, person and token may use of this hub, whatever a repository says of itself. Unset: no such limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HubLimits {
    /// US dollars that one repository may cost in a month.
    #[schemars(range(min = 0))]
    pub cost_per_repo_month: Option<f64>,
    /// US dollars that one person may cause in a day, in all repositories.
    #[schemars(range(min = 0))]
    pub cost_per_person_day: Option<f64>,
    /// US dollars that one person may cause in a month, in all repositories.
    #[schemars(range(min = 0))]
    pub cost_per_person_month: Option<f64>,
    /// Threads of one repository that are open at the same time: begun in the last month, neither merged nor closed, and something was said in the last two days.
    #[schemars(range(min = 1))]
    pub open_threads_per_repo: Option<u32>,
    /// Threads of one person in one repository that are open at the same time.
    #[schemars(range(min = 1))]
    pub open_threads_per_person: Option<u32>,
    /// Megabytes of all files of one repository.
    #[schemars(range(min = 1))]
    pub files_per_repo: Option<u32>,
    /// Messages that one person may say in a minute; a stop always counts.
    #[schemars(range(min = 1))]
    pub messages_per_minute: Option<u32>,
    /// Calls of the Web API with one token in a minute; more are answered with `ratelimited` and `Retry-After`, as Slack does.
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
}
