//! The product's own types as values of a statement and as columns of a row, so that
//! nobody takes an id apart for the store. A thread takes two places: channel and root.

use butler_protocol::{
    ActivityState, BodyRef, BranchName, ChannelId, Choice, CommitSha, DevelopSubject, Entry, Epoch,
    Idem, ItemReport, MergeMode, MessageTs, PullStatus, RequestId, ReserveId, Role, RunState,
    Sha256Hex, Standing, ThreadId, Usd, UserId,
};
use serde::de::DeserializeOwned;

use super::{
    FromRow, FromSql, Result, Row, ToSql,
    params::Places,
    value::{Kind, Typed, Value},
};

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl ToSql for $type {
            fn to_value(&self) -> Value<'_> {
                Value::Text(self.as_str())
            }
        }

        impl Typed for $type {
            const KIND: Kind = Kind::Text;
        }
    )*};
}
texts!(
    ActivityState,
    BodyRef,
    BranchName,
    ChannelId,
    Choice,
    CommitSha,
    Idem,
    MessageTs,
    PullStatus
);
texts!(RequestId, ReserveId, Role, Sha256Hex, Standing, UserId);

impl ToSql for Usd {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.nanos())
    }
}

impl FromSql for Usd {
    const NAME: &'static str = "nanodollars";
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value).map(Self::from_nanos)
    }
}

impl ToSql for Epoch {
    fn to_value(&self) -> Value<'_> {
        self.0.to_value()
    }
}

impl FromSql for Epoch {
    const NAME: &'static str = "the number of a process";
    fn from_value(value: Value<'_>) -> Option<Self> {
        u64::from_value(value).map(Self)
    }
}

impl Places for ThreadId {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        take(self.channel.to_value());
        take(self.root.to_value());
    }
}

impl Places for &ThreadId {
    fn each<'a>(&'a self, take: &mut dyn FnMut(Value<'a>)) {
        Places::each(*self, take);
    }
}

impl FromRow for ThreadId {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Result<Self> {
        let (channel, root) = FromRow::from_row(row, at)?;
        Ok(Self::new(channel, root))
    }
}

/// A column that a later release may have written: nothing where it says what this build
/// does not know.
pub(crate) struct Known<T>(pub(crate) Option<T>);

impl<T: FromSql> FromSql for Known<T> {
    const NAME: &'static str = T::NAME;
    fn from_value(value: Value<'_>) -> Option<Self> {
        Some(Self(T::from_value(value)))
    }
}

/// Ids and other words, and what the store keeps as JSON; each has to be what it should.
macro_rules! by_serde {
    ($($type:ty: $read:expr;)*) => {$(
        impl FromSql for $type {
            const NAME: &'static str = stringify!($type);
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Text(text) => $read(text),
                    _ => None,
                }
            }
        }
    )*};
}

fn document<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(text.into()).ok()
}

by_serde! {
    ActivityState: word;
    BranchName: word;
    ChannelId: word;
    CommitSha: word;
    Idem: word;
    MessageTs: word;
    RequestId: word;
    Role: word;
    UserId: word;
    MergeMode: word;
    PullStatus: word;
    RunState: word;
    Standing: word;
    DevelopSubject: document;
    Entry: document;
    ItemReport: document;
    serde_json::Value: document;
}
