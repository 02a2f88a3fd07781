//! To Slack: each call in its turn, each post once.

pub(crate) mod fallback;
pub(crate) mod files;
pub(crate) mod in_flight;
pub(crate) mod pace;
pub(crate) mod post;
pub(crate) mod redraw;
pub(crate) mod upstream;
pub(crate) mod working;

pub(crate) use post::Order;
