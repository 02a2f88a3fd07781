//! Ids are types, and those that name an effect are made by the caller from
//! where it stands: after a crash the same step makes the same id, so the other
//! side can recognise a repeat.

pub(crate) mod event;

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Role;

/// An id that does not have the shape it must have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a {what}: expected {expected}")]
pub struct IdError {
    /// Which id was meant.
    pub what: &'static str,
    pub value: String,
    pub expected: &'static str,
}

impl IdError {
    /// What was given for which id, and what was expected instead.
    pub fn new(what: &'static str, value: &str, expected: &'static str) -> Self {
        let value = value.to_owned();
        Self {
            what,
            value,
            expected,
        }
    }
}

/// How a text in a type of its own is read.
macro_rules! as_text {
    ($name:ident) => {
        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
        }

        as_text!($name);
    )*};
}

text_ids! {
    /// A channel of the workspace, `C…`.
    ChannelId;
    /// A person or bot of the workspace, `U…`.
    UserId;
    /// What the chat side calls one delivered event, `Ev…`.
    EventId;
    /// A branch name without `refs/heads/`.
    BranchName;
    /// A commit, 40 (or 64) hex digits.
    CommitSha;
    /// The hash of a tree with `.codebutler/` left out, so that journal and
    /// learnings do not make a receipt stale.
    TreeHash;
    /// A decision card; short, because people type it (`approve k3m9qa`).
    RequestId;
    /// A post; the hub answers the same key with the first answer.
    Idem;
    /// Money set aside for one model call.
    ReserveId;
    /// One tool call. Nine letters and digits: the strictest provider's rule.
    CallId;
    /// Where the hub keeps the body of a hand-over: its own hash, so that a body
    /// cannot change under a reference.
    BodyRef;
    /// Under which an envelope is acknowledged. The hub keeps it across redeliveries;
    /// Slack makes a new one each time.
    EnvelopeId;
}

impl BodyRef {
    /// The reference of a body with this hash.
    pub fn of(sha256: &Sha256Hex) -> Self {
        Self(sha256.as_str().to_owned())
    }
}

impl RequestId {
    /// The card, or the question, that a tool call asks for: short enough to type, the
    /// same after a crash.
    pub fn of(call: &CallId) -> Self {
        Self(call.as_str().chars().take(6).collect())
    }
}

/// The number of a pull request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct PrNumber(pub u64);

impl fmt::Display for PrNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A message timestamp, which is also the message's id: `seconds.micros`.
///
/// It sorts as text and is never read as a floating point number.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct MessageTs(String);

impl MessageTs {
    /// From whole seconds and microseconds.
    pub fn from_parts(seconds: u64, micros: u32) -> Self {
        Self(format!("{seconds:010}.{:06}", micros.min(999_999)))
    }

    /// Whole seconds since 1970.
    pub fn seconds(&self) -> u64 {
        let whole = self.0.split('.').next();
        whole.and_then(|s| s.parse().ok()).unwrap_or(0)
    }
}

impl FromStr for MessageTs {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = text.split_once('.').is_some_and(|(seconds, micros)| {
            (1..=12).contains(&seconds.len())
                && micros.len() == 6
                && [seconds, micros]
                    .iter()
                    .all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        });
        let expected = "seconds, a dot and six digits, as in 1700000000.000100";
        let bad = || IdError::new("message timestamp", text, expected);
        valid.then(|| Self(text.to_owned())).ok_or_else(bad)
    }
}

impl TryFrom<String> for MessageTs {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MessageTs> for String {
    fn from(ts: MessageTs) -> Self {
        ts.0
    }
}

as_text!(MessageTs);

/// A thread: its channel and the timestamp of its first message.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct ThreadId {
    /// The channel the thread lives in.
    pub channel: ChannelId,
    /// The timestamp of the root message.
    pub root: MessageTs,
}

impl ThreadId {
    /// A thread from its two halves.
    pub fn new(channel: ChannelId, root: MessageTs) -> Self {
        Self { channel, root }
    }

    /// The folder name, `<channel>-<seconds>-<micros>`.
    pub fn dir_name(&self) -> String {
        format!("{}-{}", self.channel, self.root.as_str().replace('.', "-"))
    }

    /// Reads a folder name back.
    /// Fails when the name is not `<channel>-<seconds>-<micros>`.
    pub fn from_dir_name(name: &str) -> Result<Self, IdError> {
        let read = || {
            let (rest, micros) = name.rsplit_once('-')?;
            let (channel, seconds) = rest.rsplit_once('-')?;
            format!("{channel}/{seconds}.{micros}").parse().ok()
        };
        let bad = || IdError::new("thread folder", name, "<channel>-<seconds>-<micros>");
        read().ok_or_else(bad)
    }

    /// Six letters and digits for branch names and cards.
    pub fn short(&self) -> String {
        lower_base32(&self.to_string(), 6)
    }
}

/// Channel ids become folder names, so nothing but letters and digits passes.
fn is_channel_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.channel, self.root)
    }
}

impl FromStr for ThreadId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (channel, root) = text.split_once('/')?;
            let root = root.parse().ok().filter(|_| is_channel_word(channel))?;
            Some(Self::new(ChannelId::new(channel), root))
        };
        let expected = "<channel>/<timestamp>, as in C0001/1700000000.000100";
        read().ok_or_else(|| IdError::new("thread", text, expected))
    }
}

/// A SHA-256 in lower-case hex.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Sha256Hex(String);

impl Sha256Hex {
    /// Hashes bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)))
    }

    /// Hashes the JSON of something: what decisions are bound to.
    pub(crate) fn of_json(what: &impl Serialize) -> Self {
        Self::of(serde_json::to_string(what).unwrap_or_default())
    }
}

as_text!(Sha256Hex);

/// Where an effect comes from. Equal origins and labels give equal ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub thread: ThreadId,
    pub role: Role,
    /// Which activation of that role in that thread, from 1.
    pub activation: u32,
    /// Which turn of the activation, from 1; 0 outside a turn.
    pub turn: u32,
    /// Which effect of the turn, from 0.
    pub index: u32,
}

impl Origin {
    fn digest(&self, label: &str, length: usize) -> String {
        let Origin {
            thread,
            role,
            activation,
            turn,
            index,
        } = self;
        let seed = format!("{label}\n{thread}\n{role}\n{activation}\n{turn}\n{index}");
        lower_base32(&seed, length)
    }

    /// The id of a decision card asked for here.
    pub fn request(&self) -> RequestId {
        RequestId(self.digest("request", 6))
    }

    /// The key of a post made here; `label` tells several posts of one step apart.
    pub fn idem(&self, label: &str) -> Idem {
        Idem(self.digest(&format!("post {label}"), 26))
    }

    /// The id of the money set aside here; a retried call is a new attempt.
    pub fn reserve(&self, attempt: u32) -> ReserveId {
        ReserveId(self.digest(&format!("reserve {attempt}"), 20))
    }

    /// The id of a tool call made here.
    pub fn call(&self) -> CallId {
        CallId(self.digest("call", 9))
    }
}

/// The beginning of a hash in RFC 4648 base32, lower case: letters and digits only,
/// readable aloud.
fn lower_base32(seed: &str, length: usize) -> String {
    let mut text = data_encoding::BASE32_NOPAD.encode(&Sha256::digest(seed));
    text.truncate(length);
    text.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thread() -> ThreadId {
        "C0001/1700000000.000100".parse().unwrap()
    }

    fn origin(turn: u32, index: u32) -> Origin {
        Origin {
            thread: thread(),
            role: Role::Coder,
            activation: 1,
            turn,
            index,
        }
    }

    #[test]
    fn the_same_step_makes_the_same_ids_and_another_step_others() {
        assert_eq!(origin(1, 0).call(), origin(1, 0).call());
        assert_ne!(origin(1, 0).call(), origin(1, 1).call());
        assert_ne!(origin(1, 0).idem("card"), origin(1, 0).idem("text"));
        assert_ne!(origin(1, 0).reserve(0), origin(1, 0).reserve(1));
        assert_eq!(origin(1, 0).request().as_str().len(), 6);
        let call = origin(2, 3).call();
        assert!(
            call.as_str().len() == 9 && call.as_str().bytes().all(|b| b.is_ascii_alphanumeric())
        );
    }

    #[test]
    fn a_thread_has_one_folder_and_a_short_name() {
        assert_eq!(thread().dir_name(), "C0001-1700000000-000100");
        assert_eq!(
            ThreadId::from_dir_name(&thread().dir_name()).unwrap(),
            thread()
        );
        assert_eq!(thread().short().len(), 6);
    }

    #[test]
    fn a_folder_name_cannot_leave_its_place() {
        for name in [
            "../x-1-000000",
            "C1-1",
            "",
            "C/1-1700000000-000100",
            "C1-x-000100",
        ] {
            assert!(ThreadId::from_dir_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_timestamp_is_text_with_six_digits_of_micros() {
        for bad in [
            "",
            "1700000000",
            "1.5",
            "1700000000.0001000",
            "a.000000",
            ".000000",
        ] {
            assert!(bad.parse::<MessageTs>().is_err(), "{bad}");
        }
        assert_eq!(
            MessageTs::from_parts(1_700_000_000, 100).as_str(),
            "1700000000.000100"
        );
    }

    proptest! {
        #[test]
        fn ids_survive_json(channel in "C[A-Z0-9]{1,10}", seconds in 0u64..9_999_999_999, micros in 0u32..1_000_000) {
            let thread = ThreadId::new(ChannelId::new(channel), MessageTs::from_parts(seconds, micros));
            let json = serde_json::to_string(&thread).unwrap();
            prop_assert_eq!(&serde_json::from_str::<ThreadId>(&json).unwrap(), &thread);
            prop_assert_eq!(&thread.to_string().parse::<ThreadId>().unwrap(), &thread);
            prop_assert_eq!(&ThreadId::from_dir_name(&thread.dir_name()).unwrap(), &thread);
        }

        #[test]
        fn no_text_panics_the_parsers(text in ".*") {
            let _ = text.parse::<MessageTs>();
            let _ = text.parse::<ThreadId>();
            let _ = ThreadId::from_dir_name(&text);
        }
    }
}
