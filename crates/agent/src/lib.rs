//! One role at work. The process listens to the hub, decides by string match
//! which messages are for it, and keeps a worker per active thread:
//!
//! ```text
//! hub ── socket ── agent ──(routed mail)── worker of thread A ── machine (turn, pure)
//!                    │                       │   ▲ events          │ effects
//!                    │                       │   └─── effects ◀────┘
//!                    │                       └── journal: durable before the effect it announces
//!                    └── worker of thread B …
//! ```
//!
//! [`turn`](butler_turn) decides, [`journal`](butler_journal) remembers, this
//! crate acts: model calls, tools, posts, decisions carried out. It holds no
//! rule about what a role may do (`policy`), and knows no model or scenario.

mod agent;
mod config;
mod decide;
mod develop;
mod error;
pub mod exec;
mod listen;
mod rules;
mod tell;
mod thread;
mod tools;
mod upkeep;

pub(crate) use agent::Agent;
pub use config::AgentConfig;
pub(crate) use error::{AgentError, OrWarn, whole};
pub use listen::process::run;
pub use rules::{
    AccessRules, ByComplexity, Images, IssueRules, ModelRules, ReadRules, Rules, Transcription,
    WorkLimits,
};
pub(crate) use thread::context::ThreadContext;
pub use thread::prepare::{Tried, TryOut};
pub use tools::{chat_specs, small::small_spec};
pub use upkeep::digests::Digest;
pub use upkeep::garbage::Patience;
pub use upkeep::playbook_cache::playbook_at;
pub use upkeep::pruning::{figures, on_disk};
pub use upkeep::rules_in_force::RulesInForce;
pub use upkeep::trials::Trials;
