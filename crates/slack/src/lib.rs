//! Slack's words, and a client that speaks them.
//!
//! One set of types serves all sides: an agent that talks to the hub, the hub
//! that talks to Slack, and the hub that plays Slack itself. [`Web`] calls
//! methods, [`Socket`] receives envelopes and acknowledges them, [`Control`]
//! says to the hub what Slack has no words for. [`mrkdwn`] turns what models
//! write into what Slack shows, [`rich`] is text that has no markup at all.
//!
//! Nothing here decides anything: who is addressed is decided by the receiver,
//! what may be said is decided by the hub's last gate.

mod control;
mod epoch;
mod error;
mod http;
pub mod mrkdwn;
mod once;
pub mod rich;
mod socket;
mod web;
mod webhook;
mod wire;
mod workspace;

pub use butler_protocol::EnvelopeId;
pub use control::{Control, Held};
pub use epoch::{EPOCH_HEADER, SharedEpoch, THREAD_HEADER};
pub use error::SlackError;
pub use once::Answered;
pub use socket::{Acker, Ended, Hearing, Socket, Standing};
pub use web::{Post, Posted, Web};
pub use webhook::{Called, Webhook};
pub use wire::{BlockAction, Envelope, EnvelopeKind, Event, File, Message, Reaction};
pub use workspace::Workspace;
