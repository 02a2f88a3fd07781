//! Phrases that start a skill or a workflow without asking a model.
//!
//! A trigger has to be the whole message, give or take a greeting, and its
//! parameters capture names rather than stories: a message of two sentences or
//! a capture of more than a dozen words is left to the PM. Who writes a prefix
//! with a colon (`bugfix: …`) means it, however long the rest is.

use crate::{
    one_line,
    skills::template::{Captures, is_name},
};

/// A longer capture is a description, not a name.
const CAPTURE_WORDS: usize = 12;
/// A trigger with more parameters is a form, and would be slow to match.
const PARAMETERS: usize = 4;
/// Words that people put around a command without meaning anything by it.
const BEFORE: [&[&str]; 8] = [
    &["please"],
    &["pls"],
    &["hey"],
    &["hi"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["let's"],
];
const AFTER: [&[&str]; 5] = [
    &["please"],
    &["pls"],
    &["thanks"],
    &["thank", "you"],
    &["now"],
];

/// One phrase, as in `deploy to {environment}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Word(String),
    Parameter(String),
}

/// What a trigger made of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub captures: Captures,
    /// Words of the trigger itself that the message has: more is more exact.
    pub exactness: usize,
}

impl Trigger {
    /// Reads one phrase.
    /// Errors: says what is wrong with it, for a person.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for word in text.split_whitespace() {
            let inner = word
                .strip_prefix('{')
                .and_then(|word| word.strip_suffix('}'));
            match inner {
                Some(name) if is_name(name) => parts.push(Part::Parameter(name.to_owned())),
                _ if word.contains(['{', '}']) => {
                    return Err(format!(
                        "trigger \"{text}\": write a parameter as {{name}}, as a word of its own"
                    ));
                }
                _ => parts.push(Part::Word(word.to_lowercase())),
            }
        }
        let trigger = Self {
            text: one_line(text),
            parts,
        };
        let parameters = trigger.parameters().count();
        if parameters == trigger.parts.len() {
            return Err(format!("trigger \"{text}\" has no words of its own"));
        }
        if parameters > PARAMETERS {
            let most = format!("more than {PARAMETERS} parameters");
            return Err(format!("trigger \"{text}\" has {most}"));
        }
        Ok(trigger)
    }

    /// As it was written, blanks evened out.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Parameter(name) => Some(name.as_str()),
            Part::Word(_) => None,
        })
    }

    /// What two triggers share that catch the same messages.
    pub(crate) fn shape(&self) -> String {
        let words = self.parts.iter().map(|part| match part {
            Part::Word(word) => word.as_str(),
            Part::Parameter(_) => "{}",
        });
        words.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn matches(&self, said: &Said<'_>) -> Option<Match> {
        let mut captures = Captures::new();
        if !fits(&self.parts, &said.words, &mut captures) {
            let (name, rest) = self.after_prefix(said.told)?;
            captures = Captures::from([(name.to_owned(), rest.to_owned())]);
        }
        Some(Match {
            captures,
            exactness: self.parts.len() - self.parameters().count(),
        })
    }

    /// What follows the prefix of a trigger like `bugfix: {bug}`.
    fn after_prefix<'m>(&self, told: &'m str) -> Option<(&str, &'m str)> {
        let [Part::Word(prefix), Part::Parameter(name)] = self.parts.as_slice() else {
            return None;
        };
        let (first, rest) = told.split_once(char::is_whitespace)?;
        let rest = rest.trim();
        let meant = prefix.ends_with(':') && first.to_lowercase() == *prefix && !rest.is_empty();
        meant.then_some((name, rest))
    }
}

/// A message, made comparable: its words without mentions, courtesies and the
/// full stop. Empty when it is no command.
#[derive(Debug, Clone)]
pub(crate) struct Said<'a> {
    words: Vec<&'a str>,
    /// As it was typed, after the mentions.
    told: &'a str,
}

impl<'a> Said<'a> {
    /// Its words.
    pub(crate) fn words(&self) -> &[&'a str] {
        &self.words
    }

    pub(crate) fn new(message: &'a str) -> Self {
        let mut message = message.trim();
        while let Some((first, rest)) = message.split_once(char::is_whitespace)
            && is_mention(first)
        {
            message = rest.trim_start();
        }
        let mut words: Vec<&str> = message.split_whitespace().collect();
        if words.first().is_some_and(|word| is_mention(word)) {
            words.clear();
        }
        strip(&mut words);
        let last = words.len().saturating_sub(1);
        let ends = |word: &&str| word.ends_with(['.', '!', '?', ';']);
        let several = words[..last].iter().any(ends);
        if several || message.contains('\n') {
            words.clear();
        }
        Self {
            words,
            told: message,
        }
    }
}

/// Takes courtesies and end marks away until there are none.
fn strip(words: &mut Vec<&str>) {
    loop {
        let before = words.len();
        if let Some(last) = words.last_mut() {
            *last = last.trim_end_matches(['.', '!', '?', '…', ',']);
            if last.is_empty() {
                words.pop();
            }
        }
        for courtesy in BEFORE {
            if words.len() > courtesy.len() && same(&words[..courtesy.len()], courtesy) {
                words.drain(..courtesy.len());
            }
        }
        for courtesy in AFTER {
            let rest = words.len().saturating_sub(courtesy.len());
            if rest > 0 && same(&words[rest..], courtesy) {
                words.truncate(rest);
            }
        }
        if words.len() == before {
            return;
        }
    }
}

fn same(said: &[&str], courtesy: &[&str]) -> bool {
    let mut pairs = said.iter().zip(courtesy);
    pairs.all(|(said, word)| said.trim_end_matches([',', '!']).to_lowercase() == **word)
}

fn is_mention(word: &str) -> bool {
    word.starts_with("<@") || word.to_lowercase().starts_with("@codebutler")
}

fn fits(parts: &[Part], words: &[&str], captures: &mut Captures) -> bool {
    let Some((part, later)) = parts.split_first() else {
        return words.is_empty();
    };
    match part {
        Part::Word(word) => words.split_first().is_some_and(|(said, rest)| {
            said.to_lowercase() == *word && fits(later, rest, captures)
        }),
        Part::Parameter(name) => {
            let most = words.len().min(CAPTURE_WORDS);
            (1..=most).any(|length| {
                let captured = bare(&words[..length].join(" "));
                if captured.is_empty() || !fits(later, &words[length..], captures) {
                    return false;
                }
                captures.insert(name.clone(), captured);
                true
            })
        }
    }
}

/// A capture without quotes around it.
fn bare(captured: &str) -> String {
    let mut text = captured.trim();
    for (open, close) in [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”'), ('*', '*')] {
        let inner = text
            .strip_prefix(open)
            .and_then(|text| text.strip_suffix(close));
        text = inner.unwrap_or(text).trim();
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(trigger: &str, message: &str, expected: Option<&[(&str, &str)]>) {
        let trigger = Trigger::parse(trigger).unwrap();
        let found = trigger
            .matches(&Said::new(message))
            .map(|found| found.captures);
        let expected = expected.map(|pairs| {
            let owned = pairs
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()));
            owned.collect::<Captures>()
        });
        assert_eq!(found, expected, "{message:?} against {:?}", trigger.text());
    }

    #[test]
    fn whole_messages_only_give_or_take_a_courtesy() {
        check("deploy", "Deploy!", Some(&[]));
        check(
            "deploy",
            "@codebutler.pm hey, please deploy now, thanks.",
            Some(&[]),
        );
        check("deploy", "deploy to production", None);
        check("deploy", "do not deploy", None);
        check("deploy", "please", None);
        check("please", "please", Some(&[]));
    }

    #[test]
    fn parameters_capture_words_as_they_were_typed() {
        let to = "deploy {what} to {environment}";
        check(
            to,
            "Deploy the API to EU West",
            Some(&[("what", "the API"), ("environment", "EU West")]),
        );
        check(to, "deploy to production", None);
        check(
            "explain {target}",
            "explain `src/Main.rs`?",
            Some(&[("target", "src/Main.rs")]),
        );
        check("explain {target}", "explain `", Some(&[("target", "`")]));
        check("explain {target}", "explain \"\"", None);
    }

    #[test]
    fn stories_are_left_to_the_model() {
        check("explain {target}", "explain the parser. Then fix it", None);
        check("explain {target}", "explain the parser\nand fix it", None);
        check(
            "explain {target}",
            &format!("explain {}", "a ".repeat(13)),
            None,
        );
        check(
            "explain {target}",
            &format!("explain {}", "a ".repeat(12)),
            Some(&[("target", "a a a a a a a a a a a a")]),
        );
    }

    #[test]
    fn a_prefix_with_a_colon_counts_whatever_the_length() {
        let story = format!(
            "The menu stays open. Then {}\nand it crashes",
            "it ".repeat(30)
        );
        for before in ["", "@codebutler.pm "] {
            check(
                "bugfix: {bug}",
                &format!("{before}Bugfix: {story}"),
                Some(&[("bug", story.trim())]),
            );
        }
        check("bugfix: {bug}", "bugfix:", None);
        check("bugfix: {bug}", &format!("no bugfix: {story}"), None);
        check("explain {target}", &format!("explain {story}"), None);
    }

    #[test]
    fn what_cannot_be_a_trigger_says_why() {
        for (text, why) in [
            ("{x}", "has no words of its own"),
            ("", "has no words of its own"),
            ("go {x", "as a word of its own"),
            ("go {x}!", "as a word of its own"),
            ("go {a} {b} {c} {d} {e}", "more than 4 parameters"),
        ] {
            assert!(Trigger::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
