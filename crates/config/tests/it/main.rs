//! Whole files in, settings or problems out.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod defaults;
mod docs;
mod endpoints;
mod fit;
mod loosening;
mod mistakes;
mod private;
mod scratch;
mod servers;
