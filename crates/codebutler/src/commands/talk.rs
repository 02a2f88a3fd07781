//! Commands for people who work with the team: threads, chat, cost, pull requests, undo.

pub(crate) mod chat;
pub(crate) mod cost;
pub(crate) mod message;
pub(crate) mod pr;
pub(crate) mod thread_logs;
pub(crate) mod threads;
pub(crate) mod undo;
pub(crate) mod which;
