//! Commands that run something: the team, the hub, one agent, the demo, one task.

pub(crate) mod agent;
pub(crate) mod demo;
pub(crate) mod exec;
pub(crate) mod hub;
pub(crate) mod learning;
pub(crate) mod link;
pub(crate) mod listen;
pub(crate) mod serve;
pub(crate) mod up;
pub(crate) mod worker;
