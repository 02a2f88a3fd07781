//! One line of the doctor's report.

use std::{fs, io, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::{Value, json};

/// What `--fix` may do by itself: nothing that anybody could miss afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Give a file or folder this mode.
    Mode(PathBuf, u32),
}

impl Repair {
    /// Does it.
    pub(crate) fn carry_out(&self) -> io::Result<()> {
        let Repair::Mode(path, mode) = self;
        fs::set_permissions(path, fs::Permissions::from_mode(*mode))
    }
}

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
    /// How that is done without a person.
    pub repair: Option<Repair>,
}

impl Finding {
    /// As it should be.
    pub(crate) fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            name,
            what: what.into(),
            fix: None,
            repair: None,
        }
    }

    /// The same, which `--fix` can repair.
    pub(crate) fn repaired_by(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        self
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
