//! What a person can do to a thread at any time, card or no card. The hub stamps
//! it on the person's own message; no role can write such a stamp.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{IdError, Role};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonAct {
    /// Put the merge before them again, with all its buttons.
    Merge,
    /// Leave the pull request open, and give up a merge that still waits.
    Hold,
    /// Ask the forge once more for a merge that it refused.
    TryAgain,
    /// Put the thread away; everything is kept.
    Archive,
}

impl PersonAct {
    const ALL: [Self; 4] = [Self::Merge, Self::Hold, Self::TryAgain, Self::Archive];

    /// The word in stamps and buttons.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Hold => "hold",
            Self::TryAgain => "try-again",
            Self::Archive => "archive",
        }
    }

    /// The role whose process carries it out.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Archive => Role::Pm,
            Self::Merge | Self::Hold | Self::TryAgain => Role::Lead,
        }
    }
}

impl FromStr for PersonAct {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|act| act.as_str() == text).ok_or_else(|| IdError {
            what: "act of a person",
            value: text.to_owned(),
            expected: "merge, hold, try-again or archive",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_reads_back_and_nothing_else_is_one() {
        for act in PersonAct::ALL {
            assert_eq!(act.as_str().parse::<PersonAct>().unwrap(), act);
        }
        assert!("delete".parse::<PersonAct>().is_err());
    }
}
