//! The binary as people and scripts meet it.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod activation;
mod activation_world;
mod anywhere;
mod approval;
mod at_work;
mod branches;
mod browser;
mod chaos;
mod chatting;
mod doctor;
mod exec;
mod fault_points;
mod hand_tools;
mod help;
mod init;
mod judging;
mod keeper;
mod learning;
mod models;
mod no_log;
mod person;
mod policy;
mod questions;
mod read_only;
mod redacting;
mod scratch;
mod skills;
mod slack;
mod story;
mod story_slack;
mod teaching;
mod team;
mod validate;
