//! What the toolbox promises, tried through the executor as an agent would.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod attached;
mod changes;
mod checks;
mod commands;
mod escapes;
mod examples;
mod execution;
mod fixture;
mod history;
mod nested;
mod outgoing;
mod outside;
mod readiness;
mod reading;
mod screenshots;
mod searching;
mod specs;
mod web;
mod web_search;
