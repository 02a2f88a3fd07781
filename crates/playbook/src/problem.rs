//! What is wrong with a file, and where.

use std::fmt;

/// One thing a person should fix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, as it was named to us.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    pub what: String,
    /// Another file that takes part in it, as for a trigger that two skills have.
    pub also: Option<String>,
}

impl Problem {
    pub(crate) fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
            also: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(also) = &self.also {
            write!(f, "{also} and ")?;
        }
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}
