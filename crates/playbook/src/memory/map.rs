//! A role's project map: what lies where, from its point of view.
//!
//! ```text
//! Seen at `1a2b3c4d5e6f`.
//!
//! - `src/list.rs`: reads and writes the notes
//!
//! Good to know:
//!
//! - the tests run with `sh tests/run.sh`
//! ```
//!
//! Written by code from what a role found; what people wrote around it stays.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};

use super::prune::is_path;
use crate::{
    markdown::outline::{insert_block, line_end, lines, section, splice},
    one_line,
};

const HEADING: &str = "Project Map";
const FACTS: &str = "Good to know:";

/// What a map says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectMap {
    /// The commit whose tree it describes; empty when nobody said.
    pub at: String,
    /// Path and what is there.
    pub places: Vec<(String, String)>,
    /// What holds for the whole.
    pub facts: Vec<String>,
    /// Lines that people wrote.
    own: Vec<String>,
}

impl ProjectMap {
    /// Reads the body of a map's section.
    pub fn parse(body: &str) -> Self {
        let mut map = Self::default();
        let mut below = false;
        for line in lines(body) {
            let text = line.raw.trim_end();
            let stamp = text.strip_prefix("Seen at `");
            let stamp = stamp.and_then(|rest| rest.strip_suffix("`."));
            match (stamp, place(text), text.strip_prefix("- ")) {
                _ if line.fenced => map.own.push(text.to_owned()),
                (Some(at), ..) => map.at = at.to_owned(),
                _ if text == FACTS => below = true,
                (_, Some(found), _) if !below => map.places.push(found),
                (_, _, Some(fact)) if below => map.facts.push(fact.to_owned()),
                _ => map.own.push(text.to_owned()),
            }
        }
        let empty = |line: &String| line.is_empty();
        map.own.dedup_by(|one, other| empty(one) && empty(other));
        map.own.pop_if(|last| empty(last));
        if map.own.first().is_some_and(empty) {
            map.own.remove(0);
        }
        map
    }

    /// The body of its section, without a line end after it.
    pub fn render(&self) -> String {
        let mut parts = vec![format!("Seen at `{}`.", self.at)];
        if !self.own.is_empty() {
            parts.push(self.own.join("\n"));
        }
        if !self.places.is_empty() {
            let line = |(path, what): &(String, String)| format!("- `{path}`: {what}");
            let lines: Vec<String> = self.places.iter().map(line).collect();
            parts.push(lines.join("\n"));
        }
        if !self.facts.is_empty() {
            parts.push(FACTS.to_owned());
            parts.push(format!("- {}", self.facts.join("\n- ")));
        }
        parts.join("\n\n")
    }

    /// Takes in what a role found. A place without words goes; one that was not
    /// named stays; facts that were given take the place of the old ones.
    pub fn take(&mut self, places: &[(String, String)], facts: &[String]) {
        for (path, what) in places {
            let path = clean_path(path);
            let what = one_line(what);
            let known = self.places.iter().position(|(own, _)| *own == path);
            match (known, what.is_empty()) {
                (Some(index), true) => drop(self.places.remove(index)),
                (Some(index), false) => self.places[index].1 = what,
                (None, true) => {}
                (None, false) => self.places.push((path, what)),
            }
        }
        self.places.sort();
        let facts = facts.iter().map(|fact| one_line(fact));
        let facts: Vec<String> = facts.filter(|fact| !fact.is_empty()).collect();
        if !facts.is_empty() {
            self.facts = facts;
        }
    }

    /// Files and folders that it names, as places or in its words.
    pub fn paths(&self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> =
            self.places.iter().map(|(path, _)| path.clone()).collect();
        for text in self.words() {
            for (word, marked) in named(text) {
                let bare = without_line(word.trim_start_matches("./"));
                if is_path(bare) && (marked || bare.contains('/')) {
                    found.insert(bare.trim_end_matches('/').to_owned());
                }
            }
        }
        found
    }

    /// Names of code that it marks as such: `read_notes()`, `Store::open`.
    pub fn symbols(&self) -> BTreeSet<String> {
        let words = self.words().flat_map(named);
        let marked = words.filter(|(word, marked)| *marked && !is_path(without_line(word)));
        marked.filter_map(|(word, _)| symbol(word)).collect()
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        let places = self.places.iter().map(|(_, what)| what.as_str());
        places.chain(self.facts.iter().map(String::as_str))
    }
}

/// `- \`path\`: what`.
fn place(line: &str) -> Option<(String, String)> {
    let (path, what) = line.strip_prefix("- `")?.split_once("`: ")?;
    Some((path.to_owned(), what.to_owned()))
}

/// A path as the tree has it: no mark, no line, no `./` and no `/` at its end.
fn clean_path(path: &str) -> String {
    let path = path.trim().trim_matches('`');
    let path = path.strip_prefix("./").unwrap_or(path);
    without_line(path).trim_end_matches('/').to_owned()
}

/// `src/list.rs:12` is about the file.
fn without_line(word: &str) -> &str {
    match word.split_once(':') {
        Some((path, line)) if line.starts_with(|c: char| c.is_ascii_digit()) => path,
        _ => word,
    }
}

/// The words of a text, and whether each is marked as code. What is marked and has
/// several words is a command, of which every word counts as unmarked.
fn named(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for (index, part) in text.split('`').enumerate() {
        let words: Vec<&str> = part.split_whitespace().collect();
        let marked = index % 2 == 1 && words.len() == 1;
        found.extend(words.into_iter().map(|word| {
            let bare = word.trim_matches([',', ';', '(', '"', '\'']);
            let bare = bare.trim_end_matches(['.', ':']);
            (if marked { word } else { bare }, marked)
        }));
    }
    found
}

/// The name that the code itself must have, when a word looks like one.
fn symbol(word: &str) -> Option<String> {
    let called = word.strip_suffix("()").unwrap_or(word);
    let last = called.rsplit(['.', ':', '#']).next().unwrap_or(called);
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts = called.split("::").flat_map(|part| part.split(['.', '#']));
    let whole = parts.clone().all(|part| !part.is_empty() && plain(part));
    let inner = |text: &str| text.trim_matches('_').contains('_');
    let humps = last.as_bytes().windows(2);
    let mut humps = humps.filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    let looks =
        called.len() < word.len() || word.contains("::") || inner(last) || humps.next().is_some();
    let letter = last.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (whole && looks && letter).then(|| last.to_owned())
}

/// The body of a file's map; empty where there is none.
pub fn map_in(text: &str) -> String {
    let found = section(text, 2, HEADING);
    let body = found.map_or("", |found| &text[found.body]);
    body.trim().replace("\r\n", "\n")
}

/// The file with another map; nothing when its map is not `before` any more.
pub fn with_map(text: &str, before: &str, after: &str) -> Option<String> {
    let now = map_in(text);
    if now == after {
        return Some(text.to_owned());
    }
    if now != before {
        return None;
    }
    let end = line_end(text);
    let Some(found) = section(text, 2, HEADING) else {
        let archive = section(text, 2, "Archived Learnings").map(|found| found.range.start);
        let block = format!("## {HEADING}\n\n{after}");
        return Some(insert_block(text, archive.unwrap_or(text.len()), &block));
    };
    let last = found.body.end == text.len();
    let gap = if last { "" } else { end };
    let body = format!("{end}{}{end}{gap}", after.replace('\n', end));
    let changed = splice(text, found.body, &body);
    // A map that would open a section of its own is none.
    (map_in(&changed) == after).then_some(changed)
}

/// Every line of two texts, behind a space, `-` or `+`.
pub fn all_lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut shown = Vec::new();
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        shown.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
    }
    shown.join("\n")
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
