//! What the tests of several crates share. Never part of the product.
//!
//! A test kit stops at the first surprise: its functions panic with the command
//! and its output instead of returning errors, and keep tests short.

mod github;
mod github_graph;
mod github_issues;
mod github_routes;
mod hosted;
mod image_standin;
mod media_standin;
mod network;
mod pooler;
mod postgres;
mod proxy;
mod scratch;
mod slack_standin;

pub use github::{GitHub, PersonComment};
pub use hosted::{Flavour, Hosted};
pub use image_standin::{Answers, ImageStandIn};
pub use media_standin::MediaStandIn;
pub use network::{Cable, Host, Network};
pub use pooler::Pooler;
pub use postgres::Postgres;
pub use proxy::Proxy;
pub use scratch::{Checkout, ScratchRepo, git};
pub use slack_standin::{ALL_SCOPES, Disconnect, Limits, SlackStandIn, Visit};
