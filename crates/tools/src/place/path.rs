//! A path as a model writes it, made relative to the root and cleaned.
//!
//! Cleaning is for good error texts and stable names only. That nothing leaves
//! the root is enforced by the kernel when the path is opened (`beneath.rs`).

use std::path::{Path, PathBuf};

use super::PlaceError;

/// Longer paths cannot be opened anyway.
const LONGEST: usize = 4096;

/// A path beneath the root: relative, without `.`, `..` or empty parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inside(String);

impl Inside {
    /// The root itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Reads what a model wrote. Absolute paths are taken when they lie beneath
    /// one of `roots`, the spellings of the root that the model may have seen.
    pub fn parse(text: &str, roots: &[&Path]) -> Result<Self, PlaceError> {
        if text.trim().is_empty() {
            return Err(PlaceError::Odd {
                path: text.to_owned(),
                why: "is empty",
            });
        }
        if text.len() > LONGEST {
            let head = text.chars().take(60).collect::<String>();
            return Err(PlaceError::Odd {
                path: format!("{head}…"),
                why: "is too long",
            });
        }
        if text.contains('\0') {
            return Err(PlaceError::Odd {
                path: text.replace('\0', "␀"),
                why: "contains a NUL byte",
            });
        }
        let outside = || PlaceError::Outside {
            path: text.to_owned(),
        };
        let relative = if text.starts_with('/') {
            beneath_one_of(text, roots).ok_or_else(outside)?
        } else {
            text
        };
        // A shell would expand this; a file tool must not make a folder called `~`.
        if relative == "~" || relative.starts_with("~/") {
            return Err(outside());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(outside)?;
                }
                name => parts.push(name),
            }
        }
        Ok(Self(parts.join("/")))
    }

    /// A path that a walk put together from names it found.
    pub(crate) fn from_walk(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// Whether walks leave out the entry `name` of this folder.
    pub(crate) fn hides_from_walks(&self, name: &str) -> bool {
        super::guard::is_hidden_from_walks(self, name)
    }

    /// The text, `/` between the parts; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What people and models read: the text, `.` for the root.
    pub fn shown(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts from the top.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// The folder it lies in and its own name; nothing for the root.
    pub fn split(&self) -> Option<(Inside, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((folder, name)) => (Self(folder.to_owned()), name),
            None => (Self::root(), &self.0),
        })
    }

    /// The path of something in this folder.
    pub fn join(&self, name: &str) -> Self {
        if self.is_root() {
            Self(name.to_owned())
        } else {
            Self(format!("{}/{name}", self.0))
        }
    }

    /// As a path for the kernel.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(self.shown())
    }
}

/// The rest of an absolute path below one of the roots. The separator counts:
/// `/wt-evil` is not beneath `/wt`.
fn beneath_one_of<'t>(text: &'t str, roots: &[&Path]) -> Option<&'t str> {
    roots.iter().find_map(|root| {
        let root = root.to_str()?.trim_end_matches('/');
        let rest = text.strip_prefix(root)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        Inside::parse(text, &[Path::new("/srv/tree")])
            .map(|inside| inside.shown().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn ordinary_spellings_become_relative() {
        for (text, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("./src//main.rs", "src/main.rs"),
            ("src/../Cargo.toml", "Cargo.toml"),
            ("/srv/tree/src", "src"),
            ("/srv/tree", "."),
            ("/srv/tree/", "."),
            (".", "."),
            ("a b/ü\u{308}/名.txt", "a b/ü\u{308}/名.txt"),
            ("...", "..."),
            ("~x", "~x"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn whatever_leaves_the_root_is_refused() {
        for text in [
            "..",
            "../x",
            "a/../../x",
            "/",
            "/etc/passwd",
            "/srv/tree-evil/x",
            "/srv/tree/../other",
            "/proc/self/environ",
            "~",
            "~/.ssh/id_rsa",
            "",
            "  ",
            "a\0b",
        ] {
            assert!(parse(text).is_err(), "{text:?} was taken");
        }
        assert!(parse(&"a/".repeat(4000)).is_err());
    }

    proptest! {
        #[test]
        fn nothing_that_parses_points_upwards(text in "[a/.~ ]{0,24}") {
            if let Ok(shown) = parse(&text) {
                prop_assert!(!shown.starts_with('/'));
                prop_assert!(shown.split('/').all(|part| part != ".." && !part.is_empty()));
            }
        }
    }
}
