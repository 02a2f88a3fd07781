//! What the packages do where there is no Rust.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bare_debian;
mod packages;
