//! The machine from outside: events in, effects out.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bench;
mod circles;
mod compaction;
mod decisions;
mod folding;
mod manners;
mod plain;
mod restart;
mod routing;
mod stopping;
