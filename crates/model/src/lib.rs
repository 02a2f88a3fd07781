//! One client for every OpenAI-compatible model endpoint.
//!
//! A caller hands [`ModelClient::complete`] a [`ModelRequest`] in our own words
//! and gets a [`butler_protocol::ModelReply`] back that is already read, repaired
//! and priced. In between this crate puts the conversation on the wire so that
//! each request is the previous one plus what was appended ([`wire`]), reads
//! the stream piece by piece ([`Gather`]), sorts what went wrong before anything
//! is retried ([`ModelError`], [`ErrorClass`]), waits with full jitter
//! ([`RetryPolicy`]), and gives up on a model that keeps failing ([`Breaker`])
//! in favour of its fallback.
//!
//! What it leaves out: compaction (the loop does it when a request is too
//! long), caps and budgets (`policy` and the hub), and any knowledge of roles.
//! No model id stands in this code; they all come from configuration.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `endpoint`, `config` | whom we talk to, with which key, and how patiently |
//! | `wire` | the bytes of a request; reading a request back (for servers that play a model) |
//! | `sse`, `gather` | bytes to events, events to one raw answer |
//! | `repair`, `lenient_json`, `text_calls`, `names`, `reply` | a raw answer to a reply that can be stored |
//! | `classify`, `error` | what went wrong, and what people should do |
//! | `retry`, `breaker` | whether to try again, when, and with whom |
//! | `price`, `catalog`, `catalog_file`, `resolve` | what it costs, which models there are, and which was meant |
//! | `listening` | recordings to text |
//! | `probe` | whether a model is fit for a role |
//! | `transport`, `attempt`, `client` | the only code that touches the network |

mod catalog;
mod client;
mod config;
mod drawing;
mod error;
mod http;
mod listening;
mod reply;
mod request;
mod vision;
pub mod wire;

pub use catalog::{ModelInfo, read_models};
pub use http::breaker::Breaker;
pub(crate) use http::breaker::BreakerState;

pub use catalog::price::{ListPrice, PriceBook, worst_case};
pub use catalog::probe::{ToolFitness, WindowFitness};
pub use catalog::resolve::{Resolved, resolve};
pub use client::ModelClient;
pub use config::ClientConfig;
pub use drawing::{Drawing, Drawn};
pub use error::{ErrorClass, ModelError, Trouble};
pub(crate) use http::classify::{Refusal, classify};
pub use http::endpoint::{Endpoint, EndpointKind};
pub use http::retry::{Pace, RetryPolicy, run};
pub use http::sse::EventReader;
pub use listening::{Recording, Transcript};
pub use reply::gather::Gather;
pub(crate) use reply::gather::RawReply;
pub use reply::read_reply;
pub(crate) use reply::repair::{Arguments, repair_arguments};
pub(crate) use request::OnText;
pub use request::{CacheLife, Effort, Heard, ModelRequest};
