//! From a model's call to a running tool: schema, small repairs, registry, executor.

pub(crate) mod batch;
pub(crate) mod executor;
pub(crate) mod fit;
pub(crate) mod registry;
pub(crate) mod repair;
pub(crate) mod schema;
