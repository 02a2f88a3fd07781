//! One thread at work: its worker, the effects it carries out, its tools and its preparation.

pub(crate) mod context;
pub(crate) mod driver;
pub(crate) mod effects;
pub(crate) mod live_work;
pub(crate) mod money;
pub(crate) mod past;
pub(crate) mod paying;
pub(crate) mod prepare;
pub(crate) mod queue;
pub(crate) mod seeing;
pub(crate) mod side_call;
pub(crate) mod slots;
pub(crate) mod tool_session;
pub(crate) mod worker;
pub(crate) mod workers;
