//! The way to a key: `limits.maxTurns.pm`, `redaction.patterns[2].regex`.

/// A path from the root of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(String);

impl KeyPath {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        match self.as_str() {
            "" => Self(key.to_owned()),
            above => Self(format!("{above}.{key}")),
        }
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
