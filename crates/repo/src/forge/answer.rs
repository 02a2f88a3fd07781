//! What a forge answered, whichever way it was asked.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use butler_protocol::MergeBlock;
use serde_json::Value;

use super::block;
use crate::{Error, Result};

/// A forge's answer; any status is one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// The lines before the body.
    pub(super) head: String,
    /// What was asked, for errors.
    pub(super) command: String,
    /// Whether the list goes on, where the forge says so.
    pub(super) more: Option<bool>,
}

impl Answer {
    /// The body as JSON, if the request went well.
    pub(crate) fn json(&self) -> Result<Value> {
        if !self.is_good() {
            return Err(self.refusal());
        }
        serde_json::from_slice(&self.body).map_err(|_| self.refusal())
    }

    /// The body in our words, or what the forge says instead.
    pub(crate) fn read<T>(&self, read: impl Fn(&Value) -> Option<T>) -> Result<T> {
        read(&self.json()?).ok_or_else(|| self.refusal())
    }

    pub(super) const fn is_good(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// The same answer with another body, if the request went well.
    pub(super) fn with(mut self, change: impl FnOnce(&Value) -> Value) -> Self {
        if self.is_good() {
            let json = serde_json::from_slice(&self.body).unwrap_or_default();
            self.body = change(&json).to_string().into_bytes();
        }
        self
    }

    /// The same for a list, item by item.
    pub(super) fn each(self, change: impl Fn(&Value) -> Value) -> Self {
        self.with(|list| list.as_array().into_iter().flatten().map(change).collect())
    }

    /// The same answer with another status.
    pub(super) const fn called(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// 409: it is there already, which GitHub says by 422.
    pub(super) const fn taken(self) -> Self {
        match self.status {
            409 => self.called(422),
            _ => self,
        }
    }

    /// The answer, unless what was asked about is not there.
    pub(crate) fn or_missing(self, error: Error) -> Result<Self> {
        match self.status {
            404 => Err(error),
            _ => Ok(self),
        }
    }

    /// The same answer with other words.
    pub(super) fn saying(mut self, words: &str) -> Self {
        self.body = serde_json::json!({ "message": words })
            .to_string()
            .into_bytes();
        self
    }

    /// Whether these letters are in the forge's reason, or in one of its details.
    pub(crate) fn says(&self, letters: &str) -> bool {
        String::from_utf8_lossy(&self.body).contains(letters)
    }

    /// The answer as an error, in the forge's words.
    pub(crate) fn refusal(&self) -> Error {
        let said = self.said();
        match block::in_words(self.status, &said) {
            block @ (MergeBlock::RateLimited | MergeBlock::LoggedOut) => {
                self.blocked(block, String::new())
            }
            _ => Error::refused(
                self.command.clone(),
                format!("{said} (HTTP {})", self.status),
            ),
        }
    }

    /// The same for a merge: every no of it has a name.
    pub(crate) fn no_merge(&self, number: String) -> Error {
        self.blocked(block::in_words(self.status, &self.said()), number)
    }

    /// Whether it is a no to more requests for now.
    pub(crate) fn is_limit(&self) -> bool {
        block::in_words(self.status, &self.said()) == MergeBlock::RateLimited
    }

    pub(crate) fn blocked(&self, block: MergeBlock, number: String) -> Error {
        Error::Blocked {
            number,
            block,
            said: self.said(),
            wait: (block == MergeBlock::RateLimited)
                .then(|| self.pause())
                .flatten(),
        }
    }

    /// The forge's own words. GitLab writes a text, a list or lists by field.
    pub(super) fn said(&self) -> String {
        let said: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let texts = ["message", "error_description", "error"].map(|name| flat(&said[name]));
        let text = texts.into_iter().find(|text| !text.is_empty());
        text.unwrap_or_else(|| "no reason given".to_owned())
    }

    /// How long the forge wants to be left alone, by its headers.
    fn pause(&self) -> Option<Duration> {
        let number = |name: &str| self.header(name)?.parse::<u64>().ok();
        let after = number("retry-after").map(Duration::from_secs);
        after.or_else(|| {
            let reset = number("x-ratelimit-reset").or_else(|| number("ratelimit-reset"))?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            Duration::from_secs(reset).checked_sub(now)
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let line = lines.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(line.1.trim())
    }

    /// Whether nobody can say if it was done: ask before doing it again.
    pub(crate) fn is_unclear(&self) -> bool {
        self.status >= 500
    }
}

fn flat(said: &Value) -> String {
    match said {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(flat).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let lines = fields
                .iter()
                .map(|(name, said)| format!("{name} {}", flat(said)));
            lines.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_words_is_read() {
        for (body, words) in [
            (
                r#"{"message": "404 Project Not Found"}"#,
                "404 Project Not Found",
            ),
            (
                r#"{"message": ["Another open one exists: !1"]}"#,
                "Another open one exists: !1",
            ),
            (
                r#"{"message": {"title": ["can't be blank"]}}"#,
                "title can't be blank",
            ),
            (
                r#"{"error": "insufficient_scope", "error_description": "needs api"}"#,
                "needs api",
            ),
            ("Retry later", "no reason given"),
        ] {
            let answer = Answer {
                status: 429,
                body: body.into(),
                head: "HTTP/1.1 429\nRetry-After: 7".into(),
                command: String::new(),
                more: None,
            };
            assert_eq!(answer.said(), words);
            let Error::Blocked { wait, .. } = answer.refusal() else {
                panic!("too many requests has a name");
            };
            assert_eq!(wait, Some(Duration::from_secs(7)));
        }
    }
}
