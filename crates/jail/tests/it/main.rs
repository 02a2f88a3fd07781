//! The jail against a real kernel: every test runs real commands.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod basics;
mod places;
mod world;
