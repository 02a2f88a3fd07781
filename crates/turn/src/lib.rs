//! The agent loop as a machine: events in, effects out.
//!
//! No clock, no disk, no network, no async. The machine is rebuilt from a
//! conversation log at any point of it and goes on there, because everything it
//! decides follows from the log and from the event at hand.

mod effect;
mod event;
mod machine;
mod setup;

pub use effect::{
    Effect, Interrupted, Mark, ModelCall, Order, Outgoing, PostKind, Reserve, Settle,
};
pub use event::{Event, FailureKind, Heard, ModelFailure, Purse, StopCause};
pub use machine::Machine;
pub use setup::{Limits, Models, Setup};
