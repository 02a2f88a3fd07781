//! What the page and `/v1` show beside the conversation.

pub(crate) mod agents;
pub(crate) mod bill;
pub(crate) mod board;
pub(crate) mod company;
pub(crate) mod memory;
pub(crate) mod needs;
pub(crate) mod overview;
pub(crate) mod pulls;
pub(crate) mod reads;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod threads;
pub(crate) mod timeline;

pub(crate) use needs::Need;
pub(crate) use overview::Window;
pub(crate) use review::{Comment, Side};
pub(crate) use timeline::{Moment, What};
