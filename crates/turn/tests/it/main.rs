//! The machine from outside: events in, effects out.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(clippy::print_stdout, reason = "a replayed simulation shows its steps")]

mod amending;
mod circles;
mod compaction;
mod decisions;
mod folding;
mod harness;
mod manners;
mod plain;
mod restart;
mod routing;
mod simulated;
mod stopping;
