//! The tools of an agent, and the one way to run them.
//!
//! A model's call comes in as a `ToolCall`. The [`Executor`] repairs it (usual
//! aliases, loose types), refuses what it does not know or cannot read, and
//! lets `policy` judge it. With the permit that `policy` gives, and with nothing
//! else, the tool runs: on a [`ToolContext`] that lends it a [`Workplace`], a sandbox for
//! commands, a cancel token, and a place for what is not text (receipts, the
//! checklist).
//!
//! ```text
//! call ── judge ── Ask ──▶ a person's click ──┐
//!           │                                 │
//!           ├── Refuse ──▶ the model is told  │
//!           └── Run(permit) ◀─────────────────┘
//!                 │  intent to the log (trace)
//!                 └── run(call, permit, context) ──▶ outcome, receipt
//! ```
//!
//! Every file is opened beneath the workplace's root by descriptor; every result
//! has a cap and says what was left out; every refusal names a way on. Tools
//! that need chat or models are added by `team`.

mod call;
mod content;
mod context;
mod outside;
mod place;
mod receipt;
mod run;
mod tool;
pub mod tools;
mod walk;
mod web;

pub use call::batch::batches;
pub use call::executor::Executor;
pub use call::registry::Registry;
pub use call::schema::flat as flat_schema;
pub use content::clip::plain;
pub use content::kind::{kind_of, recording_ending};
pub use content::outside::fenced;
pub use content::picture::picture_type;
pub use context::{DiffMaker, Eyes, ReadyGate, ToolContext, TreeHasher, Watcher};
pub use outside::{OutsideServer, OutsideTools, ServerPlace};
pub use place::{Check, PlaceError, Surroundings, Workplace, text_in};
pub(crate) use place::{Inside, Opened};
pub use receipt::in_diff as weakened_checks;
pub use run::attached::Attached;
pub use run::branch_start::{LaidOut, Past};
pub use run::cache::Cache;
pub use run::camera::{Shot, before_and_after, has_browser};
pub(crate) use run::jobs::Jobs;
pub use run::prepare::{Preparing, RuntimeCommand, prepare};
pub use tool::{DEFAULT_DEADLINE, Tool, interrupted};
pub use web::{
    HttpEngine, HttpEngineKind, KeptPages, Looking, Lookup, Page, SearchEngine, ServerEngine, Web,
};
