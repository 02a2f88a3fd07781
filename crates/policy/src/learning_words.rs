//! Words of people about what the team should remember: which cards they mean, and
//! what they want kept. Whole messages only, as everywhere.

use butler_protocol::Choice;

/// Which cards about learnings a message means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// All that are open.
    All(Choice),
    /// The so-manieth of the thread, from 1.
    One(usize, Choice),
}

const ACCEPT_ALL: [&str; 6] = [
    "accept all",
    "keep all",
    "yes to all",
    "all of them",
    "acepta todo",
    "todos",
];
const REJECT_ALL: [&str; 7] = [
    "accept none",
    "reject all",
    "remove all",
    "none",
    "no to all",
    "rechaza todo",
    "ninguno",
];
const ACCEPT: [&str; 4] = ["accept", "keep", "acepta", "guarda"];
const REJECT: [&str; 5] = ["remove", "reject", "drop", "quita", "rechaza"];

impl Pick {
    /// What the whole message picks.
    pub fn read(text: &str) -> Option<Self> {
        let plain = text.trim().trim_end_matches(['.', '!']).to_lowercase();
        if ACCEPT_ALL.contains(&plain.as_str()) {
            return Some(Pick::All(Choice::Accept));
        }
        if REJECT_ALL.contains(&plain.as_str()) {
            return Some(Pick::All(Choice::Reject));
        }
        let (word, number) = plain.split_once(' ')?;
        let number = number.trim_start_matches('#').parse().ok()?;
        let choice = match word {
            _ if ACCEPT.contains(&word) => Choice::Accept,
            _ if REJECT.contains(&word) => Choice::Reject,
            _ => return None,
        };
        (number > 0).then_some(Pick::One(number, choice))
    }
}

/// Something that a person wants the team to remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered<'a> {
    /// Whom it is for, as they said it.
    pub whom: Option<&'a str>,
    pub what: &'a str,
    /// Whether it is said as an answer to proposals: `add: …`.
    pub adds: bool,
}

impl<'a> Remembered<'a> {
    /// `remember: …`, `remember for the coder: …`, `add: …`.
    pub fn read(text: &'a str) -> Option<Self> {
        let (head, what) = text.trim().split_once(':')?;
        let mut words = head.split_whitespace();
        let first = words.next()?.to_lowercase();
        let adds = matches!(first.as_str(), "add" | "añade");
        if !adds && !matches!(first.as_str(), "remember" | "recuerda") {
            return None;
        }
        let whom = match words.next().map(str::to_lowercase).as_deref() {
            None => None,
            Some("for" | "to" | "para") => words.next_back(),
            Some(_) => return None,
        };
        let what = what.trim();
        let short = head.split_whitespace().count() <= 4;
        (short && !what.is_empty()).then_some(Self { whom, what, adds })
    }
}

/// How a person begins what should hold from now on.
const LASTING: [&str; 8] = [
    "always ",
    "never ",
    "from now on",
    "next time",
    "in future",
    "siempre ",
    "nunca ",
    "a partir de ahora",
];

/// Whether words to somebody at work are a rule, not only a correction of this work.
pub fn is_lasting(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let plain = lower.strip_prefix("no, ").unwrap_or(&lower);
    LASTING.iter().any(|start| plain.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_messages_pick_cards() {
        for (text, pick) in [
            ("Accept all", Some(Pick::All(Choice::Accept))),
            ("none.", Some(Pick::All(Choice::Reject))),
            ("remove 3", Some(Pick::One(3, Choice::Reject))),
            ("keep #2", Some(Pick::One(2, Choice::Accept))),
            ("quita 1", Some(Pick::One(1, Choice::Reject))),
            ("remove 0", None),
            ("remove the third", None),
            ("remove 3 of them", None),
            ("accept", None),
        ] {
            assert_eq!(Pick::read(text), pick, "{text}");
        }
    }

    #[test]
    fn only_exact_words_are_remembered() {
        let read = |text| Remembered::read(text).map(|said| (said.whom, said.what, said.adds));
        assert_eq!(read("remember: tabs"), Some((None, "tabs", false)));
        assert_eq!(
            read("Remember for the Coder: a: b"),
            Some((Some("Coder"), "a: b", false))
        );
        assert_eq!(read("add: tabs"), Some((None, "tabs", true)));
        for text in [
            "remember the milk",
            "remember that it failed: why?",
            "add a flag: --json",
            "remember:",
            "do you remember: it failed",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_rule_is_more_than_a_correction() {
        for text in [
            "Always quote paths",
            "no, never use eval",
            "From now on ask first",
        ] {
            assert!(is_lasting(text), "{text}");
        }
        for text in [
            "use eval here",
            "I always do that",
            "it never works, why?",
            "neverland",
        ] {
            assert!(!is_lasting(text), "{text}");
        }
    }
}
