//! The hub as others meet it: over HTTP and WebSocket, with our own client.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod api_doc;
mod borders;
mod browser;
mod control;
mod decisions;
mod edits;
mod epochs;
mod fan_out;
mod hearing;
mod kill_storm;
mod kills;
mod live_log;
mod needs;
mod page;
mod page_snapshots;
mod people;
mod posting;
mod real_slack;
mod relay;
mod relay_kills;
mod relay_people;
mod relay_storm;
mod rights;
mod runs;
mod sdk;
mod sessions;
mod slack_world;
mod stopping;
mod store_versions;
mod views;
mod words;
mod world;
