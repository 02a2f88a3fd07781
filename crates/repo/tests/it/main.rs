//! Everything here runs the real git against a real bare remote.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod confined;
mod crashes;
mod forecasting;
mod forge_suite;
mod github;
mod hosted;
mod hostile;
mod knowledge;
mod lifecycle;
mod locks;
mod merge_detection;
mod persons_own;
mod receipts;
mod saving;
mod settling;
mod signing_off;
mod sleeping;
mod stacking;
mod start_up;
mod support;
mod syncing;
mod together;
mod tracking;
mod undoing;
mod weaker_kernel;
mod wild;
