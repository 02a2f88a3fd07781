//! What an agent may do, decided by plain functions.
//!
//! Four questions are answered here, and nowhere else:
//!
//! - may this role use this tool, and on which paths ([`right`])?
//! - how far does this shell command reach ([`assess`])?
//! - does this call run, wait for a person, or not happen ([`judge`])? A tool
//!   runs only with a [`Permit`], and only this crate can make one;
//! - what must not leave the machine as text ([`Redactor`]), and what may be
//!   spent ([`Budget`])?
//!
//! No disk, no clock, no network, no async: time, hashes of scripts and
//! approvals come in as arguments, verdicts go out as values. The analysis of a
//! command decides when to ask a person; what a command can do anyway is
//! decided by the kernel, in `sandbox`.

mod budget;
mod duties;
mod glob;
mod judge;
mod learning_words;
mod looks;
mod overrides;
mod pace;
mod permit;
mod redact;
mod rights;
mod risk;
mod shell;
mod sockets;
mod web_hosts;
mod words;

pub use budget::Budget;
pub use duties::Duty;
pub use judge::{command_of, judge};
pub use learning_words::{Pick, Remembered, is_lasting};
pub use looks::surely_looks;
pub use overrides::{McpApproval, Overrides};
pub use pace::{HOUR_MS, free_at};
pub use permit::{Approval, Circumstances, Judgement, Permit, Question, Refusal};
pub use redact::{CustomPattern, Found, PatternError, Redaction, Redactor};
pub use rights::{Right, Scope, default_tools, right, small_tools, tools_with_rights};
pub use risk::{Assessment, RiskContext, assess};
pub use sockets::needs_no_sockets;
pub use web_hosts::{host_of, hosts_in};
pub use words::{Word, answer, is_stop, is_stop_emoji, meanings, without_mentions};
