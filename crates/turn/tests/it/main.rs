//! The machine from outside: events in, effects out.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(clippy::print_stdout, reason = "a replayed simulation shows its steps")]

mod bad_replies;
mod circles;
mod compaction;
mod decisions;
mod edits;
mod folding;
mod harness;
mod plain;
mod restart;
mod routing;
mod simulated;
mod stopping;
mod waiting;
