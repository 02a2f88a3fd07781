//! Commands that set things up and look whether they are in order.

pub(crate) mod completions;
pub(crate) mod config_file;
pub(crate) mod configure;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod slack;
pub(crate) mod try_out;
