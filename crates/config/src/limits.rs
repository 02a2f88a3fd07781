//! Caps on money, calls, turns and rounds. The defaults protect a newcomer.

use butler_protocol::{Role, Usd, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

settings! {
    /// What protects your budget and your patience. A cap above the shipped one needs consent.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Limits {
        /// Threads that are worked on at the same time.
        #[schemars(range(min = 1))]
        pub max_concurrent_threads: u32 = 3,
        /// Model calls of this repo in an hour, counted by the hub.
        #[schemars(range(min = 1))]
        pub max_calls_per_hour: u32 = 1000,
        /// US dollars that one thread may cost before it pauses and asks.
        #[schemars(range(min = 0))]
        pub max_cost_per_thread: f64 = 5.0,
        /// US dollars that this repo may cost in a day.
        #[schemars(range(min = 0))]
        pub max_cost_per_day: f64 = 25.0,
        /// Model calls that one person may cause in an hour. Unset: no limit of its own.
        #[schemars(range(min = 1))]
        pub max_calls_per_person_hour: Option<u32>,
        /// User ids of the people the team listens to. Empty: everybody in the channel.
        #[schemars(with = "Vec<String>")]
        pub allowed_users: Vec<UserId>,
        /// Turns that one activation of a role may take.
        pub max_turns: MaxTurns,
        /// Review rounds before the Lead decides.
        #[schemars(range(min = 1))]
        pub review_rounds: u32 = 3,
        /// Messages between agents in a thread without a person, before a person is asked.
        #[schemars(range(min = 1))]
        pub max_exchanges: u32 = 40,
        /// Minutes an agent waits for another agent's answer.
        #[schemars(range(min = 1))]
        pub wait_minutes: u32 = 10,
        /// Hours without a word after which a thread is asked whether its worktree is still needed.
        #[schemars(range(min = 0))]
        pub quiet_hours: f64 = 48.0,
        /// Hours after that question, if nobody answers, until the worktree is saved and put to sleep.
        #[schemars(range(min = 0))]
        pub sleep_hours: f64 = 24.0,
        /// Seconds between two looks at the forge for comments, checks and merges of open pull
        /// requests. One look is one request, however many there are.
        #[schemars(range(min = 1))]
        pub forge_seconds: u32 = 60,
    }
}

impl Limits {
    /// The cap of a thread.
    pub fn thread_cap(&self) -> Usd {
        Usd::from_dollars(self.max_cost_per_thread)
    }

    /// The cap of a day.
    pub fn day_cap(&self) -> Usd {
        Usd::from_dollars(self.max_cost_per_day)
    }
}

settings! {
    /// Turns per activation, by role.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct MaxTurns {
        /// Turns of the PM.
        #[schemars(range(min = 1))]
        pub pm: u32 = Role::Pm.default_turns(),
        /// Turns of the Coder.
        #[schemars(range(min = 1))]
        pub coder: u32 = Role::Coder.default_turns(),
        /// Turns of the Reviewer.
        #[schemars(range(min = 1))]
        pub reviewer: u32 = Role::Reviewer.default_turns(),
        /// Turns of the Researcher.
        #[schemars(range(min = 1))]
        pub researcher: u32 = Role::Researcher.default_turns(),
        /// Turns of the Artist.
        #[schemars(range(min = 1))]
        pub artist: u32 = Role::Artist.default_turns(),
        /// Turns of the Lead.
        #[schemars(range(min = 1))]
        pub lead: u32 = Role::Lead.default_turns(),
    }
}

impl MaxTurns {
    /// Each role's turns, to be changed, beside those of another.
    pub(crate) fn each_with(&mut self, other: &Self) -> [(Role, &mut u32, u32); 6] {
        [
            (Role::Pm, &mut self.pm, other.pm),
            (Role::Coder, &mut self.coder, other.coder),
            (Role::Reviewer, &mut self.reviewer, other.reviewer),
            (Role::Researcher, &mut self.researcher, other.researcher),
            (Role::Artist, &mut self.artist, other.artist),
            (Role::Lead, &mut self.lead, other.lead),
        ]
    }

    /// The turns of one role.
    pub const fn of(&self, role: Role) -> u32 {
        match role {
            Role::Pm => self.pm,
            Role::Coder => self.coder,
            Role::Reviewer => self.reviewer,
            Role::Researcher => self.researcher,
            Role::Artist => self.artist,
            Role::Lead => self.lead,
        }
    }
}
