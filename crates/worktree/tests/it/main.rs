//! Everything here runs the real git against a real bare remote.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod forge_suite;
mod hostile;
mod lifecycle;
mod locks;
mod receipts;
mod saving;
mod support;
mod syncing;
