//! What the room promises, tested through its public API.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod redact_corpus;
mod risk_corpus;
