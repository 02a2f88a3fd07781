//! What is wrong with a file, said so that a person can fix it.
//!
//! A problem names keys, kinds and remedies. It never holds a value from a
//! file: the value in the wrong place may well be a token.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One thing that is wrong in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the person knows it.
    pub file: PathBuf,
    /// Its line, from one; none when the file as a whole is meant.
    pub line: Option<usize>,
    /// The key, as in `limits.maxTurns.pm`; empty when the file as a whole is meant.
    pub key: String,
    /// What is wrong, a lower-case fragment.
    pub what: String,
    /// What to do about it, a sentence without full stop.
    pub remedy: String,
}

impl Problem {
    /// A problem with a file as a whole.
    pub fn with_file(file: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            key: String::new(),
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// The same about a line and the key there.
    #[must_use]
    pub(crate) fn at(mut self, line: usize, key: impl Into<String>) -> Self {
        self.line = Some(line);
        self.key = key.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}. {}", self.what, self.remedy)
    }
}

/// Everything that is wrong, in the order of files and lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}
