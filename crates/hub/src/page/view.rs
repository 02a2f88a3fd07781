//! The pages: one file per view.

pub(crate) mod agents;
pub(crate) mod board;
pub(crate) mod changes;
pub(crate) mod channel;
pub(crate) mod cost;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod needs;
pub(crate) mod overviews;
pub(crate) mod people;
pub(crate) mod search;
pub(crate) mod servers;
pub(crate) mod thread;
pub(crate) mod timeline;
pub(crate) mod welcome;

pub(crate) use thread::Tab;
