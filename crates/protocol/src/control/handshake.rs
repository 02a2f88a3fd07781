//! What a hub and an agent tell each other when they connect, and what follows from it:
//! they work together while each still speaks an exchange that the other one knows.
//! Otherwise both say the same sentence: which of the two is to be updated.

use serde::{Deserialize, Serialize};

/// The exchange that this build speaks. It rises when hub and agents of before would
/// misunderstand each other; new fields that can be left out do not raise it.
///
/// 1: no handshake, the first release. 2: the handshake.
const EXCHANGE: u32 = 2;
/// The oldest one that it still understands.
const OLDEST: u32 = 1;

/// One of the two, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaks {
    /// The version of its binary; empty where it was not said.
    #[serde(default)]
    pub version: String,
    #[serde(default = "first", rename = "protocol")]
    pub exchange: u32,
    /// The oldest one that it still understands.
    #[serde(default = "first")]
    pub oldest: u32,
}

/// What somebody speaks who does not say so.
const fn first() -> u32 {
    1
}

impl Speaks {
    /// What this build speaks.
    pub fn this_build(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            exchange: EXCHANGE,
            oldest: OLDEST,
        }
    }

    /// Somebody who introduces himself in no way.
    pub const fn unsaid() -> Self {
        Self {
            version: String::new(),
            exchange: first(),
            oldest: first(),
        }
    }

    fn named(&self, who: &str) -> String {
        // The number is enough here, without what else a build says about itself.
        match self.version.split_whitespace().next() {
            None => format!("the {who}"),
            Some(version) => format!("the {who} ({version})"),
        }
    }
}

/// Why an agent and a hub cannot work together, and what to do; nothing when they can.
pub fn cannot_work_together(agent: &Speaks, hub: &Speaks) -> Option<String> {
    let (old, new) = if agent.exchange < hub.oldest {
        (agent.named("agent"), hub.named("hub"))
    } else if hub.exchange < agent.oldest {
        (hub.named("hub"), agent.named("agent"))
    } else {
        return None;
    };
    let which = if agent.exchange < hub.oldest {
        "update codebutler where this agent runs"
    } else {
        "update codebutler where the hub runs"
    };
    Some(format!("{old} is too old for {new}: {which}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaks(version: &str, exchange: u32, oldest: u32) -> Speaks {
        Speaks {
            version: version.to_owned(),
            exchange,
            oldest,
        }
    }

    #[test]
    fn they_work_together_in_the_range_and_otherwise_the_older_one_is_named() {
        let (old, new) = (speaks("0.1.0", 1, 1), speaks("0.9.0", 4, 3));
        let middle = speaks("0.5.0", 3, 1);
        assert_eq!(cannot_work_together(&old, &middle), None);
        assert_eq!(cannot_work_together(&middle, &old), None);
        assert_eq!(cannot_work_together(&middle, &new), None);
        assert_eq!(cannot_work_together(&new, &middle), None);
        assert_eq!(
            cannot_work_together(&old, &new).unwrap(),
            "the agent (0.1.0) is too old for the hub (0.9.0): update codebutler where this agent runs"
        );
        assert_eq!(
            cannot_work_together(&new, &Speaks::unsaid()).unwrap(),
            "the hub is too old for the agent (0.9.0): update codebutler where the hub runs"
        );
    }

    #[test]
    fn this_build_works_with_the_first_release() {
        let (ours, first) = (Speaks::this_build("0.2.0"), Speaks::unsaid());
        assert_eq!(cannot_work_together(&ours, &first), None);
        assert_eq!(cannot_work_together(&first, &ours), None);
        let silent: Speaks = serde_json::from_str(r#"{"epoch": 3}"#).unwrap();
        assert_eq!(silent, first);
    }
}
