//! The tools of an agent, and the one way to run them.
//!
//! A model's call comes in as a `ToolCall`. The [`Executor`] repairs it (usual
//! aliases, loose types), refuses what it does not know or cannot read, and
//! lets `policy` judge it. With the permit that `policy` gives, and with nothing
//! else, the tool runs: on a [`Desk`] that lends it a [`Workplace`], a jail for
//! commands, a cancel token, and a shelf for what is not text (receipts, the
//! checklist).
//!
//! ```text
//! call ── judge ── Ask ──▶ a person's click ──┐
//!           │                                 │
//!           ├── Refuse ──▶ the model is told  │
//!           └── Run(permit) ◀─────────────────┘
//!                 │  intent to the log (trace)
//!                 └── run(call, permit, desk) ──▶ outcome, receipt
//! ```
//!
//! Every file is opened beneath the workplace's root by descriptor; every result
//! has a cap and says what was left out; every refusal names a way on. Tools
//! that need chat or models are added by `team`.

mod batch;
mod cache;
mod clip;
mod confine;
mod desk;
mod diff;
mod executor;
mod jobs;
mod nearest;
mod notebook;
mod outside;
mod past;
mod pdf;
mod picture;
mod place;
mod prepare;
mod receipt;
mod registry;
mod repair;
mod schema;
mod scripts;
mod text;
mod tool;
pub mod tools;
mod walk;
mod web;

pub use batch::batches;
pub use cache::Cache;
pub use desk::{Desk, DiffMaker, ReadyGate, TreeHasher};
pub use executor::{Executor, Intent};
pub use jobs::Jobs;
pub use outside::{fenced, taints};
pub use past::{LaidOut, Past};
pub use place::{Check, Inside, Opened, PlaceError, Surroundings, Workplace};
pub use prepare::{Chore, Preparing, prepare};
pub use receipt::in_diff as weakened_checks;
pub use registry::Registry;
pub use schema::flat as flat_schema;
pub use tool::{DEFAULT_DEADLINE, Tool, interrupted};
pub use web::{Lookup, Page, Web, WebError};
