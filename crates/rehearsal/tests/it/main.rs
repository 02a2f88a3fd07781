#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
//! The rehearsal server, and the model client against it.

mod choosing;
mod faults;
mod kit;
mod mailing;
mod parsing;
mod people;
mod speaking;
