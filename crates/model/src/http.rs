//! The way to the endpoint: connections, attempts, waits, refusals.

pub(crate) mod attempt;
pub(crate) mod breaker;
pub(crate) mod classify;
pub(crate) mod endpoint;
pub(crate) mod retry;
pub(crate) mod retry_after;
pub(crate) mod sse;
pub(crate) mod transport;
pub(crate) mod undelivered;
