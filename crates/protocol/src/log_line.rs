//! One line of a process's log, as it is written to files, sent to the hub and
//! shown on the page. Secrets have been taken out before it is one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Role, text::words::words_read_back};

/// How bad, or how detailed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Somebody must act.
    Error,
    /// Not as it should be, and dealt with.
    Warn,
    /// What happened.
    Info,
    /// How it happened.
    Debug,
    /// Everything.
    Trace,
}

words_read_back! { LogLevel, "log level", "error, warn, info, debug or trace" {
    Error = "error",
    Warn = "warn",
    Info = "info",
    Debug = "debug",
    Trace = "trace",
}}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    pub at_ms: i64,
    pub level: LogLevel,
    /// The process: `hub`, or a role's name.
    pub process: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The turn of the activation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A sentence that reads alone.
    pub message: String,
    /// The facts in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}

/// `POST /agent/v1/log`: lines for the page's live log. They are kept in memory
/// only, and the oldest go first; the files are the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LogBatch {
    /// Oldest first.
    pub lines: Vec<LogLine>,
}
