//! The client against a small server that misbehaves on purpose.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod standin;
mod tls;
mod web;
