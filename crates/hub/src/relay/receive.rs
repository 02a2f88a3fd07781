//! From Slack: kept first, acknowledged then, worked off in order.

pub(crate) mod backfill;
pub(crate) mod echoes;
pub(crate) mod inbox;
pub(crate) mod ingest;
pub(crate) mod interactions;
pub(crate) mod mirror;
pub(crate) mod missed_clicks;
