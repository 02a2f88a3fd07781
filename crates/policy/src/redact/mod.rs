//! What must not leave the machine as text.
//!
//! One pass over the text looks for anchors (the beginnings of vendors' keys,
//! words like `password`, `://`, the secrets this machine holds); only where an
//! anchor stands does a rule look closer. Lines with zero-width characters,
//! escapes, percent-encoding or markdown inside words are looked at a second
//! time with those taken out, and hits are mapped back. The result is searched
//! again until nothing is found, so applying it twice changes nothing.
//!
//! Never text in the findings: kind, place, length, and a salted hash if a salt
//! was given.

mod anchors;
mod assignment;
mod automaton;
mod file;
mod known;
mod lists;
mod rules;
mod spans;
mod view;

use butler_protocol::{Secret, Sha256Hex};
use regex::Regex;

use anchors::Anchors;
use spans::Spans;

/// Rounds until nothing new is found; honest texts need two.
const MAX_ROUNDS: usize = 6;

/// A compiled custom pattern may take so much memory.
const PATTERN_BYTES: usize = 1 << 20;

/// A pattern of the repo's own, `redaction.patterns[]` in `policy.json`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CustomPattern {
    /// What stands in the replacement: `[REDACTED:<name>]`.
    pub name: String,
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
    Regex { name: String, problem: String },
    /// It would take out everything.
    #[error("redaction pattern `{0}` matches the empty text")]
    Empty(String),
}

/// Finds secrets and takes them out. Built once, shared by reference.
#[derive(Debug, Clone)]
pub struct Redactor {
    anchors: Anchors,
    custom: Vec<(String, Regex)>,
    salt: Option<Vec<u8>>,
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
    /// The first sixteen digits of a salted hash, when a salt was given: equal
    /// secrets can be recognised in the log without being there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// Text that has been through a [`Redactor`]: the only thing senders accept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted(String);

impl Redacted {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
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
    /// Known values shorter than six characters are left to the rules: taking
    /// them out literally would tear ordinary words apart.
    /// Fails when a pattern cannot be used.
    pub fn new(known: &[Secret], custom: &[CustomPattern]) -> Result<Self, PatternError> {
        Ok(Self {
            anchors: Anchors::new(known),
            custom: custom.iter().map(compile).collect::<Result<_, _>>()?,
            salt: None,
        })
    }

    /// The same redactor, with hashes in its findings.
    #[must_use]
    pub fn with_salt(mut self, salt: &[u8]) -> Self {
        self.salt = Some(salt.to_vec());
        self
    }

    /// Takes out what must not leave.
    pub fn redact(&self, text: &str) -> Redaction {
        let mut spans = Spans::default();
        let mut out = None;
        for _ in 0..MAX_ROUNDS {
            let found = self.search(out.as_deref().unwrap_or(text));
            if found.is_empty() {
                break;
            }
            spans = match out {
                None => found,
                Some(_) => spans.with(&found),
            };
            out = Some(spans.replaced(text));
        }
        let findings = spans.iter().map(|span| Found {
            kind: span.kind.to_string(),
            start: span.start,
            end: span.end,
            length: span.end - span.start,
            hash: self.hash(&text[span.start..span.end]),
        });
        Redaction {
            findings: findings.collect(),
            text: out.unwrap_or_else(|| text.to_owned()),
        }
    }

    /// The same, as the type that senders accept.
    pub fn clean(&self, text: &str) -> Redacted {
        Redacted(self.redact(text).text)
    }

    /// One search of one text.
    fn search(&self, text: &str) -> Spans {
        let mut spans = Spans::default();
        self.anchors.search(text, &mut spans);
        view::each(text, |view| {
            let mut inner = Spans::default();
            self.anchors.search(view.text(), &mut inner);
            for span in inner.iter() {
                let (start, end) = view.original(span.start, span.end);
                let (start, end) = (
                    text.floor_char_boundary(start),
                    text.ceil_char_boundary(end),
                );
                spans.add(start, end, span.kind.clone());
            }
        });
        for (name, pattern) in &self.custom {
            for hit in pattern.find_iter(text).filter(|hit| !hit.is_empty()) {
                if !spans::touches_marker(text, hit.start(), hit.end()) {
                    spans.add(hit.start(), hit.end(), name.clone().into());
                }
            }
        }
        spans.merged()
    }

    fn hash(&self, text: &str) -> Option<String> {
        let salt = self.salt.as_ref()?;
        let salted = [salt.as_slice(), text.as_bytes()].concat();
        Some(Sha256Hex::of(salted).as_str()[..16].to_owned())
    }
}

fn compile(pattern: &CustomPattern) -> Result<(String, Regex), PatternError> {
    let name = &pattern.name;
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let plain = name.bytes().all(fits);
    if name.is_empty() || name.len() > 40 || !plain {
        return Err(PatternError::Name(name.clone()));
    }
    let regex = regex::RegexBuilder::new(&pattern.regex)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build()
        .map_err(|problem| PatternError::Regex {
            name: name.clone(),
            problem: problem.to_string(),
        })?;
    if regex.is_match("") {
        return Err(PatternError::Empty(name.clone()));
    }
    Ok((name.clone(), regex))
}
