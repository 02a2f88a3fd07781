//! One line of the doctor's report.

use serde_json::{Value, json};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// It works, but.
    Warning,
    /// The team cannot work like this.
    Failed,
}

impl Level {
    /// The word in the report.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Failed => "failed",
        }
    }
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The thing, as in `git`.
    pub name: &'static str,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    /// As it should be.
    pub(crate) fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            name,
            what: what.into(),
            fix: None,
        }
    }

    /// It works, but.
    pub(crate) fn warning(
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warning,
            fix: Some(fix.into()),
            ..Self::ok(name, what)
        }
    }

    /// The team cannot work like this.
    pub(crate) fn failed(
        name: &'static str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Failed,
            fix: Some(fix.into()),
            ..Self::ok(name, what)
        }
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "level": self.level.as_str(),
            "name": self.name,
            "what": self.what,
            "fix": self.fix,
        })
    }
}
