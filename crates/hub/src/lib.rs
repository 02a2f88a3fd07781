//! The workspace that people and agents share.
//!
//! Without Slack the hub *is* the workspace: channels, threads, people,
//! reactions, decision cards, in one SQLite file, spoken to in Slack's own
//! protocol (`/api`, `/link`), by agents in a few words of our own
//! (`/agent/v1`), and by people on a page and through `/v1`. With Slack tokens the
//! workspace is Slack's and the store its mirror; the agents notice no difference.
//!
//! What it promises: an event is on disk before anybody is told; every agent of
//! a channel gets every event, in order per thread, until it acknowledges; the
//! same post is made once however often it is asked for; a decision is written
//! once and only by a person's hand; nothing leaves without passing the
//! redactor. What it does not do: it never asks a model, never runs a command,
//! and never decides whom a message is for.

mod agent_api;
mod budget;
mod error;
mod hub;
mod identity;
mod log;
mod metrics;
mod page;
mod person_api;
mod presence;
mod relay;
mod serve;
mod store;
mod views;
mod web_api;
mod workspace;

pub use budget::Caps;
pub use budget::limits::Limits;
pub use error::HubError;
pub(crate) use error::{Refusal, Trouble};
pub use hub::{Hub, HubConfig, Operation, Outside, runs_in};
pub use identity::audit::{AuditLine, verify_audit};
pub use identity::people::{PersonEntry, SessionEntry};
pub use identity::tokens::{AgentTokens, PersonToken, RepoTokens, Tokens};
pub use relay::{Pace, RelayConfig, RepoChannel, SCOPES, missing_scopes};
pub use serve::tls::HubTls;
pub use store::copy::Copied;
pub use store::migrate::migrate;
pub use store::place::StorePlace;
pub use store::retention::Retention;
pub use store::snapshot::{FrozenStore, put_back};
