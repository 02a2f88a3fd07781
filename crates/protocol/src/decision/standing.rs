//! What a person may do in a workspace. Four rights, each holding the ones before it,
//! and one name for each: that is all there is to give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DecisionKind, act::PersonAct};
use crate::text::words::words_read_back;

/// Something that not everybody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Begin threads, answer, stop.
    Ask,
    /// Decide about plans, commands, money and what is remembered.
    Approve,
    /// Decide what happens to a pull request, and start runs, which may merge.
    Merge,
    /// Invite people, give rights, end sessions, read the audit.
    Administer,
}

/// How far a person's rights go.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// May ask.
    Guest,
    /// May also approve.
    Approver,
    /// May also merge.
    Maintainer,
    /// May also administer.
    Admin,
}

impl Standing {
    /// What it may do, in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Guest => "may ask",
            Self::Approver => "may ask and approve",
            Self::Maintainer => "may ask, approve and merge",
            Self::Admin => "may ask, approve, merge and administer",
        }
    }

    /// Whether it holds a right.
    pub fn may(self, right: Right) -> bool {
        let highest = match self {
            Self::Guest => Right::Ask,
            Self::Approver => Right::Approve,
            Self::Maintainer => Right::Merge,
            Self::Admin => Right::Administer,
        };
        right <= highest
    }
}

words_read_back! { Standing, "standing of a person", "guest, approver, maintainer or admin" {
    Guest = "guest",
    Approver = "approver",
    Maintainer = "maintainer",
    Admin = "admin",
}}

impl DecisionKind {
    /// What somebody needs to decide about such a card.
    pub const fn right(self) -> Right {
        match self {
            Self::Merge | Self::Develop => Right::Merge,
            Self::Plan
            | Self::Command
            | Self::Learning
            | Self::Maps
            | Self::Picture
            | Self::Roadmap
            | Self::Cap => Right::Approve,
        }
    }
}

impl PersonAct {
    /// What somebody needs to do this to a thread.
    pub const fn right(self) -> Right {
        match self {
            Self::Merge | Self::Hold | Self::TryAgain => Right::Merge,
            Self::Archive | Self::Remember | Self::Undo(_) | Self::TakeUp(_) => Right::Approve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_standing_holds_one_right_more_than_the_one_before() {
        let rights = [Right::Ask, Right::Approve, Right::Merge, Right::Administer];
        for (number, standing) in Standing::ALL.into_iter().enumerate() {
            let held = rights.iter().filter(|right| standing.may(**right)).count();
            assert_eq!(held, number + 1, "{standing}");
            assert_eq!(standing.as_str().parse::<Standing>().unwrap(), standing);
        }
        assert!("owner".parse::<Standing>().is_err());
    }
}
