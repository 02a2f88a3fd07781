//! Servers as real programs in a real sandbox, most of them hostile.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod faults;
mod ordinary;
mod world;
