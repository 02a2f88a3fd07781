#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
//! The client against servers that behave like the real ones.

mod bounds;
mod breaking;
mod endpoints;
mod kit;
mod listing;
mod prefix;
mod probing;
mod proxy;
mod reaching;
mod real;
mod seeing;
mod sharing;
mod tls;
