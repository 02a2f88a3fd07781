//! The embedded workspace: what Slack would keep. Plain functions over the
//! store; who calls them and how is none of their business.

pub(crate) mod card;
pub(crate) mod gate;
pub(crate) mod stops;

pub(crate) mod access;
pub(crate) mod channels;
pub(crate) mod decide;
pub(crate) mod ephemeral;
pub(crate) mod files;
pub(crate) mod message;
pub(crate) mod modals;
pub(crate) mod outbox;
pub(crate) mod parts;
pub(crate) mod pressed;
pub(crate) mod react;
pub(crate) mod read;
pub(crate) mod runs;

pub(crate) use channels::Channel;
pub(crate) use decide::{Click, Rules};
pub(crate) use message::{Author, Draft, Stored};
pub(crate) use outbox::AgentPost;
