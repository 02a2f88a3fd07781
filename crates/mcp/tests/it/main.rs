//! Servers as real programs in a real sandbox, most of them hostile.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod address;
mod far_faults;
mod faults;
mod ordinary;
mod real;
mod world;
