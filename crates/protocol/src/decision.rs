//! A decision is a record that the hub writes when a person clicks. An agent's
//! word never counts: executors compare the record's hash with what they hold.

pub(crate) mod act;
pub(crate) mod card;
pub(crate) mod design;
pub(crate) mod develop;
pub(crate) mod hand_over;
pub(crate) mod maps;
pub(crate) mod review;
pub(crate) mod roadmap;
pub(crate) mod standing;
pub(crate) mod subject;

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{IdError, MessageTs, RequestId, Role, Sha256Hex, ThreadId, UserId};

/// What is being decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// A plan: Approve, Modify, Reject.
    Plan,
    /// A destructive command: Approve, Reject.
    Command,
    /// One proposed learning: Accept, Reject.
    Learning,
    /// The merge of a pull request: Merge, Hold, Close.
    Merge,
    /// A change of the roadmap: Approve, Modify, Reject.
    Roadmap,
    /// A run over the roadmap: started with one of two ways to merge, or not.
    Develop,
    /// Project maps: Accept all, one by one, Reject.
    Maps,
    /// A picture that was made: Accept, Change, Discard.
    Picture,
    /// A spending cap was reached: Raise, Stop.
    Cap,
}

impl DecisionKind {
    /// The buttons of such a card, in order.
    pub const fn choices(self) -> &'static [Choice] {
        match self {
            DecisionKind::Plan | DecisionKind::Roadmap => {
                &[Choice::Approve, Choice::Modify, Choice::Reject]
            }
            DecisionKind::Command => &[Choice::Approve, Choice::Reject],
            DecisionKind::Learning => &[Choice::Accept, Choice::Reject],
            DecisionKind::Merge => &[Choice::Merge, Choice::Hold, Choice::Close],
            DecisionKind::Develop => &[
                Choice::Start,
                Choice::StartMerging,
                Choice::StartStacked,
                Choice::Reject,
            ],
            DecisionKind::Maps => &[Choice::Accept, Choice::Each, Choice::Reject],
            DecisionKind::Picture => &[Choice::Accept, Choice::Change, Choice::Discard],
            DecisionKind::Cap => &[Choice::Raise, Choice::Stop],
        }
    }
}

/// What a person chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Do it.
    Approve,
    /// Not like this: the person says what to change.
    Modify,
    /// Do not do it.
    Reject,
    /// Keep the learning.
    Accept,
    /// Look at each by itself.
    Each,
    /// Make it again: the person says how.
    Change,
    /// Throw it away.
    Discard,
    /// Merge the pull request.
    Merge,
    /// Leave the pull request open.
    Hold,
    /// Close the pull request without merging.
    Close,
    /// Begin; a person merges each.
    Start,
    /// Begin; what is reviewed and green is merged.
    StartMerging,
    /// Begin; a person merges each, and what depends on it does not wait for that.
    StartStacked,
    /// Raise the cap.
    Raise,
    /// Stop here.
    Stop,
}

impl Choice {
    /// In ids and files, on the button, and after it was made.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Choice::Approve => ("approve", "Approve", "Approved"),
            Choice::Modify => ("modify", "Modify", "Changes asked for"),
            Choice::Reject => ("reject", "Reject", "Rejected"),
            Choice::Accept => ("accept", "Accept", "Accepted"),
            Choice::Each => ("each", "One by one", "To be looked at one by one"),
            Choice::Change => ("change", "Change", "To be made again"),
            Choice::Discard => ("discard", "Discard", "Discarded"),
            Choice::Merge => ("merge", "Merge", "Merge requested"),
            Choice::Hold => ("hold", "Hold", "Held"),
            Choice::Close => ("close", "Close without merge", "Closed without merge"),
            Choice::Start => ("start", "Start, I merge each", "Started, people merge"),
            Choice::StartMerging => (
                "start_merging",
                "Start, merge what is green",
                "Started, merging what is green",
            ),
            Choice::StartStacked => (
                "start_stacked",
                "Start, stack, I merge later",
                "Started, stacked, people merge",
            ),
            Choice::Raise => ("raise", "Raise", "Cap raised"),
            Choice::Stop => ("stop", "Stop", "Stopped"),
        }
    }

    /// The word in ids and files.
    pub const fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The text on the button.
    pub const fn label(self) -> &'static str {
        self.words().1
    }

    /// After it was made, as in "Approved".
    pub const fn past(self) -> &'static str {
        self.words().2
    }
}

/// The `action_id` of a button: which card, which choice. It grants nothing by
/// itself; the hub looks the card up and checks the message it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActionId {
    pub request: RequestId,
    pub choice: Choice,
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cb:{}:{}", self.request, self.choice.as_str())
    }
}

impl FromStr for ActionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (request, word) = text.strip_prefix("cb:")?.split_once(':')?;
            let choice = Choice::deserialize(Value::from(word)).ok()?;
            let plain = !request.is_empty() && request.bytes().all(|b| b.is_ascii_alphanumeric());
            plain.then(|| ActionId {
                request: RequestId::new(request),
                choice,
            })
        };
        read().ok_or_else(|| IdError::new("decision button", text, "cb:<request>:<choice>"))
    }
}

/// A card that was posted and waits for a person; written when the post is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRequest {
    pub request: RequestId,
    pub kind: DecisionKind,
    /// The hash of exactly what would happen.
    pub sha256: Sha256Hex,
    pub thread: ThreadId,
    pub from: Role,
    /// The message that carries the buttons. A click anywhere else is ignored.
    pub message: MessageTs,
}

/// What a person decided about a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub request: RequestId,
    pub kind: DecisionKind,
    /// The hash of what was shown.
    pub sha256: Sha256Hex,
    pub thread: ThreadId,
    pub choice: Choice,
    pub person: UserId,
    /// What people call them; empty where nobody has looked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The run by whose start it was decided; none when they clicked themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RequestId>,
    /// The message that was clicked.
    pub message: MessageTs,
    pub at_ms: i64,
}

impl Decision {
    /// Who decided, as people read it: by hand, or by having started a run.
    pub fn by(&self, name: &str) -> String {
        match &self.run {
            Some(run) => format!("{name}, by starting the run {run}"),
            None => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_button_of_every_card_reads_back() {
        let kinds = [
            DecisionKind::Plan,
            DecisionKind::Roadmap,
            DecisionKind::Develop,
            DecisionKind::Command,
            DecisionKind::Learning,
            DecisionKind::Merge,
            DecisionKind::Maps,
            DecisionKind::Picture,
            DecisionKind::Cap,
        ];
        for choice in kinds.iter().flat_map(|kind| kind.choices()) {
            let id = ActionId {
                request: RequestId::new("k3m9qa"),
                choice: *choice,
            };
            assert_eq!(id.to_string().parse::<ActionId>().unwrap(), id);
        }
    }

    #[test]
    fn foreign_action_ids_are_not_ours() {
        for text in [
            "",
            "cb:",
            "cb:x",
            "cb::approve",
            "cb:a b:approve",
            "cb:a:explode",
            "plan_approve",
        ] {
            assert!(text.parse::<ActionId>().is_err(), "{text}");
        }
    }
}
