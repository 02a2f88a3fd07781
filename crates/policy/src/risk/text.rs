//! A word after expansion, with what is known about it.

/// An expanded word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The text; unknown parts show as [`UNKNOWN`].
    pub text: String,
    /// Every character is known.
    pub exact: bool,
    /// Every unknown is something without a slash or within a known folder, so a
    /// path made of it stays where it seems to be.
    pub placed: bool,
    /// It has an unquoted `*`, `?` or `[`.
    pub glob: bool,
}

/// Stands for what is not known.
pub(super) const UNKNOWN: char = '\u{fffd}';

impl Text {
    pub(super) fn exact(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exact: true,
            placed: true,
            glob: false,
        }
    }

    /// A text that may have unknown parts from an earlier reading.
    pub(super) fn read(text: &str) -> Self {
        let whole = !text.contains(UNKNOWN);
        Self {
            text: text.to_owned(),
            exact: whole,
            placed: whole,
            glob: false,
        }
    }

    /// A text of which only the place is known.
    pub(super) fn placed(text: impl Into<String>) -> Self {
        Self {
            exact: false,
            ..Self::exact(text)
        }
    }

    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Self {
            text: UNKNOWN.to_string(),
            exact: false,
            placed: false,
            glob: false,
        }
    }

    /// Several words as one, blanks between them.
    pub(super) fn joined(words: &[Text]) -> Self {
        let texts: Vec<&str> = words.iter().map(Text::as_str).collect();
        Self {
            text: texts.join(" "),
            exact: words.iter().all(|word| word.exact),
            placed: words.iter().all(|word| word.placed),
            glob: false,
        }
    }

    /// Another text, of which the same is known.
    pub(super) fn with(&self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..*self
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The part behind a prefix, with the same knowledge.
    pub(super) fn strip(&self, prefix: &str) -> Option<Text> {
        self.text.strip_prefix(prefix).map(|rest| self.with(rest))
    }
}
