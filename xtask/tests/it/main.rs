//! What the packages do where there is no Rust.

mod bare_debian;
mod packages;
