//! One role at work. The process listens to the hub, decides by string match
//! which messages are for it, and keeps a worker per active thread:
//!
//! ```text
//! hub ── socket ── agent ──(routed mail)── worker of thread A ── machine (turn, pure)
//!                    │                       │   ▲ events          │ effects
//!                    │                       │   └──── hands ◀─────┘
//!                    │                       └── journal: durable before the effect it announces
//!                    └── worker of thread B …
//! ```
//!
//! [`turn`](butler_turn) decides, [`journal`](butler_journal) remembers, this
//! room acts: model calls, tools, posts, decisions carried out. It holds no
//! rule about what a role may do (`policy`), and knows no model or scenario.

mod agent;
mod arguments;
mod bench;
mod bill;
mod blocked;
mod buttons;
mod cards;
mod choices;
mod chores;
mod chronicle;
mod closing;
mod config;
mod context;
mod crew;
mod designs;
mod desks;
mod draft;
mod drafting;
mod errand;
mod error;
mod evidence;
mod facts;
mod garbage;
mod hands;
mod history;
mod inquiry;
mod intake;
mod knowledge;
mod lane;
mod learned;
mod line;
mod matter;
mod money;
mod office;
mod orders;
mod overlap;
mod past;
mod paying;
mod person_acts;
mod prepare;
mod pruning;
mod pull_news;
mod queue;
mod reading;
mod render;
mod report;
mod rest;
mod review;
mod seat;
mod shelf;
pub mod solo;
mod standing;
mod talk;
mod thread_page;
mod tools;
mod words;
mod worker;

pub use agent::run;
pub use choices::{Choice, read as choices};
pub use config::{AgentConfig, ByComplexity};
pub use error::TeamError;
pub use garbage::Patience;
pub use prepare::{Tried, TryOut};
pub use shelf::playbook_at;
pub use tools::chat_specs;
