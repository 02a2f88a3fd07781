//! The agent loop as a machine: events in, effects out.
//!
//! A [`Machine`] is one role at work in one thread. It is built from the
//! conversation log, is fed one [`Event`] at a time and answers with a list of
//! [`Effect`]s. It has no clock, no disk, no network and no async, so the whole
//! loop can be tested, simulated and replayed as plain values.
//!
//! Everything it decides follows from the log and the event at hand: whatever is
//! not written yet is decided again, in the same way, after a crash. The driver
//! keeps three rules:
//!
//! 1. Effects are carried out in order, and an [`Effect::Append`] is on the disk
//!    before the next effect begins. Neighbouring appends may share one write.
//! 2. A line that the driver writes itself (`ToolIntent`, `DecisionAsked`,
//!    `Received`, and `DecisionUsed` when an approved command runs) is shown to
//!    [`Machine::wrote`] before the next event.
//! 3. Every request effect is answered by one event, in any order and at any
//!    time: `Reserve` by `Reserved`, `CallModel` by `Replied` or `ModelFailed`,
//!    `Summarise` by `Summarised`, each call of `RunTools` and `RecoverTools` by
//!    `ToolDone`, posts by `Posted`, `AskForMoney` by `Asked`, `CarryOut` by
//!    `CarriedOut`. Repeats and late answers do no harm.
//!
//! After a start the first event is [`Event::Begin`]. [`fold()`] is the only way
//! from a log to the messages that a model sees, and [`route`] decides whom a
//! message is for.

mod asking;
mod edits;
mod effect;
mod ending;
mod event;
mod fold;
mod known;
mod machine;
mod next_step;
pub mod route;
mod setup;
mod state;
mod thread_fold;
mod tools;
mod waking;
mod words;

pub use edits::Edited;
pub use effect::{
    Effect, Interrupted, Mark, ModelCall, Order, Outgoing, PostKind, Reserve, Settle,
};
pub use event::{Budget, Event, FailureKind, Heard, ModelFailure};
pub use fold::{IMAGE_BYTES, Messages, fold};
pub use machine::Machine;
pub use setup::{Limits, Models, Setup};
pub use thread_fold::bill::Share;
pub use thread_fold::cards::{Asked, Refused};
pub use thread_fold::chosen::Chosen;
pub use thread_fold::progress::{Progress, Sign};
pub use thread_fold::review::{Form, Ready};
pub use thread_fold::seen::Seen;
pub use thread_fold::surface::Surface;
pub use thread_fold::waste::{Spent, SpentOn};
pub use thread_fold::{Doing, Friction, Request, ThreadFold};
