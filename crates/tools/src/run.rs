//! Commands: how they are confined, prepared, kept running and cached.

pub(crate) mod attached;
pub(crate) mod branch_start;
pub(crate) mod cache;
pub(crate) mod camera;
pub(crate) mod confine;
pub(crate) mod jobs;
pub(crate) mod prepare;
pub(crate) mod scripts;
