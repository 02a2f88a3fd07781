//! The binary as people and scripts meet it.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod approval;
mod branches;
mod doctor;
mod exec;
mod hand_tools;
mod help;
mod init;
mod judging;
mod models;
mod policy;
mod questions;
mod read_only;
mod redacting;
mod scratch;
mod story;
mod team;
mod validate;
