//! What a person can do to a thread at any time, card or no card. The hub stamps
//! it on the person's own message; no role can write such a stamp.

use std::{fmt, str::FromStr};

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
    /// Put what they want remembered before them as a card.
    Remember,
    /// Bring the files of the worktree back as they were when they were saved for
    /// the so-manieth time.
    Undo(u32),
    /// Let the team see to what came from the forge as the so-manieth piece of news.
    TakeUp(u32),
}

impl PersonAct {
    const PLAIN: [Self; 5] = [
        Self::Merge,
        Self::Hold,
        Self::TryAgain,
        Self::Archive,
        Self::Remember,
    ];

    /// The role whose process carries it out.
    pub const fn role(self) -> Role {
        match self {
            Self::Archive => Role::Pm,
            // The one that works in the worktree, and so knows when nobody does.
            Self::Undo(_) => Role::Coder,
            Self::Merge | Self::Hold | Self::TryAgain | Self::Remember | Self::TakeUp(_) => {
                Role::Lead
            }
        }
    }
}

/// The word in stamps and buttons.
impl fmt::Display for PersonAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "merge",
            Self::Hold => "hold",
            Self::TryAgain => "try-again",
            Self::Archive => "archive",
            Self::Remember => "remember",
            Self::Undo(number) => return write!(f, "undo-{number}"),
            Self::TakeUp(number) => return write!(f, "take-up-{number}"),
        })
    }
}

impl FromStr for PersonAct {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
        if let Some(number) = number("undo-") {
            return Ok(Self::Undo(number));
        }
        if let Some(number) = number("take-up-") {
            return Ok(Self::TakeUp(number));
        }
        let mut plain = Self::PLAIN.into_iter();
        let plain = plain.find(|act| act.to_string() == text);
        let expected =
            "merge, hold, try-again, archive, remember, undo-<number> or take-up-<number>";
        plain.ok_or_else(|| IdError::new("act of a person", text, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_reads_back_and_nothing_else_is_one() {
        let undone = [
            PersonAct::Undo(0),
            PersonAct::Undo(u32::MAX),
            PersonAct::TakeUp(3),
        ];
        for act in PersonAct::PLAIN.into_iter().chain(undone) {
            assert_eq!(act.to_string().parse::<PersonAct>().unwrap(), act);
        }
        for no in ["delete", "undo", "undo-", "undo--1", "undo-4294967296"] {
            assert!(no.parse::<PersonAct>().is_err(), "{no}");
        }
    }
}
