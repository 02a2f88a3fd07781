//! From Slack: kept first, acknowledged then, worked off in order.

pub(crate) mod asks;
pub(crate) mod backfill;
pub(crate) mod channel_news;
pub(crate) mod commands;
pub(crate) mod echoes;
pub(crate) mod forms;
pub(crate) mod home;
pub(crate) mod inbox;
pub(crate) mod ingest;
pub(crate) mod interactions;
pub(crate) mod mirror;
pub(crate) mod missed_clicks;
pub(crate) mod news;

pub(crate) use asks::Asked;
pub(crate) use news::News;
