//! What the playbook promises, checked from outside and without a model.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod budget;
mod calls;
mod gates;
mod lint;
mod offered;
mod phrases;
mod snapshots;
mod spans;
