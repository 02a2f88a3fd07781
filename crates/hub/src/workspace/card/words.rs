//! The hub's own words on a card, in the language of the people who read it. What
//! a card is about is never translated, and what is hashed knows no language.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

static SPANISH: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| pairs(include_str!("../../../words/es.txt")).collect());

/// How the header of a card says which language it is in.
const TITLE_BLOCK: &str = "cb:title:";

/// The words of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    English,
    Spanish,
}

impl Words {
    /// By the name that a configuration gives; English where we know no better.
    pub(super) fn of(language: Option<&str>) -> Self {
        let name = language.unwrap_or_default().trim().to_lowercase();
        let short = name.split(['-', '_']).next().unwrap_or_default();
        match short {
            "es" | "spanish" | "español" | "espanol" | "castellano" | "castilian" => {
                Words::Spanish
            }
            _ => Words::English,
        }
    }

    /// The id of the header of a card, which a decided card keeps.
    pub(super) fn title_block(self) -> String {
        let code = match self {
            Words::English => "en",
            Words::Spanish => "es",
        };
        format!("{TITLE_BLOCK}{code}")
    }

    /// The language of a card that was drawn.
    pub(super) fn of_card(blocks: &[Value]) -> Self {
        let mut ids = blocks.iter().filter_map(|block| block["block_id"].as_str());
        Self::of(ids.find_map(|id| id.strip_prefix(TITLE_BLOCK)))
    }

    /// What this is in the language; as it is where nobody has translated it.
    pub(super) fn say(self, english: &str) -> &str {
        let found = match self {
            Words::English => None,
            Words::Spanish => SPANISH.get(english).copied(),
        };
        found.unwrap_or(english)
    }

    /// The same with its places filled.
    pub(super) fn fill(self, english: &str, places: &[(&str, &str)]) -> String {
        // One pass: what is filled in is never looked at again.
        let mut out = String::new();
        let mut rest = self.say(english);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            out.push_str(before);
            let place = places.iter().find(|(place, _)| *place == name);
            out.push_str(place.map_or("", |(_, text)| text));
            rest = after;
        }
        out + rest
    }

    /// A label of ours. Two of them have more than words: the name of an argument,
    /// and a sign that JSON follows.
    pub(super) fn label(self, label: &str) -> String {
        if let Some(name) = label.strip_prefix("Argument ") {
            return format!("{} {name}", self.say("Argument"));
        }
        match label.strip_suffix(" (JSON)") {
            Some(label) => format!("{} (JSON)", self.say(label)),
            None => self.say(label).to_owned(),
        }
    }
}

/// The lines of a list of words.
fn pairs(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (english, other) = line.split_once(" = ")?;
        Some((english.trim(), other.trim()))
    })
}

#[cfg(test)]
#[path = "words_tests.rs"]
pub(super) mod tests;
