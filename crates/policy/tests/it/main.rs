//! What the crate promises, tested through its public API.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod grammar;
mod redact_corpus;
mod redact_properties;
mod risk_corpus;
mod risk_daily;
mod risk_overrides;
mod risk_properties;
