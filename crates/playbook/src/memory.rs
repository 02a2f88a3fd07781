//! The learnings of an agent's file: read, add, replace, archive, remove. The
//! file is kept as it was; a change is a splice inside `## Learnings` or
//! `## Archived Learnings`.
//!
//! The budget counts what enters the prompt, so the archive is free.

pub(crate) mod learning;
pub(crate) mod map;
pub(crate) mod prune;
pub(crate) mod relevance;
pub(crate) mod route;
pub(crate) mod worth;

use std::ops::Range;

use butler_protocol::{Confidence, Sha256Hex};

use crate::{
    Learning, Problem,
    markdown::outline::{content_end, insert_block, lines, section, sections, splice},
    one_line, tokens, without_section,
};

/// A file above this must shrink before it may grow.
pub const FILE_BUDGET_TOKENS: usize = 30_000;

const LIVE: &str = "Learnings";
const ARCHIVE: &str = "Archived Learnings";

/// An agent's file, seen as its learnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    file: String,
    text: String,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

/// A learning in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What names it for good, also when its title changes.
    pub id: String,
    pub learning: Learning,
    /// Whether it is out of use.
    pub archived: bool,
    /// The line of its heading.
    pub line: usize,
    /// What it costs in every prompt.
    pub tokens: usize,
    range: Range<usize>,
}

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No live learning has that title.
    #[error("there is no learning \"{0}\"")]
    Unknown(String),
    /// A live learning has that title already.
    #[error("there is a learning \"{0}\" already; replace it instead")]
    Taken(String),
    /// A learning without a title cannot be found again.
    #[error("a learning needs a title and a rule")]
    Empty,
    /// The file may not grow.
    #[error("{}", over(*.tokens, *.budget, .could_go))]
    OverBudget {
        /// What the file would cost.
        tokens: usize,
        /// What it may cost.
        budget: usize,
        /// What could go, the most dispensable first.
        could_go: Vec<Dispensable>,
    },
    /// The place for learnings is inside something else, as in an open code fence.
    #[error("the file's sections cannot be told apart: is a code fence left open?")]
    Tangled,
}

/// A learning that could go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispensable {
    pub title: String,
    /// What it costs.
    pub tokens: usize,
    /// How sure the team is of it.
    pub confidence: Confidence,
}

fn over(tokens: usize, budget: usize, could_go: &[Dispensable]) -> String {
    let mut text = format!("the file would have {tokens} tokens of {budget}; shrink it first");
    for (index, one) in could_go.iter().enumerate() {
        let joint = if index == 0 { " as by archiving" } else { "" };
        let (title, sure, tokens) = (&one.title, learning::word(one.confidence), one.tokens);
        text.push_str(&format!(",{joint} \"{title}\" ({sure}, {tokens} tokens)"));
    }
    text
}

impl Memory {
    /// Reads a file. `file` names it in problems.
    pub fn parse(file: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut entries = Vec::new();
        let mut problems = Vec::new();
        let all = sections(&text);
        for (title, archived) in [(LIVE, false), (ARCHIVE, true)] {
            let Some(outer) = section(&text, 2, title) else {
                continue;
            };
            let inside = |range: &Range<usize>| {
                outer.body.start <= range.start && range.end <= outer.body.end
            };
            let learnings = all.iter().filter(|one| one.level == 3);
            for inner in learnings.filter(|one| inside(&one.range)) {
                let block = &text[inner.range.clone()];
                let (learning, found) = Learning::parse(file, inner.line, block);
                // The archive may hold what an older form of the file had.
                problems.extend(found.into_iter().filter(|_| !archived));
                entries.push(Entry {
                    id: id_in(block, &learning.title),
                    learning,
                    archived,
                    line: inner.line,
                    tokens: tokens(block),
                    range: inner.range.clone(),
                });
            }
        }
        Self {
            file: file.to_owned(),
            entries,
            problems,
            text,
        }
    }

    /// The file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Learnings in use.
    pub fn live(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.archived)
    }

    /// Learnings out of use.
    pub fn archived(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.archived)
    }

    /// Learnings in use that are not well-formed.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What the file costs in every prompt.
    pub fn tokens(&self) -> usize {
        tokens(&without_section(&self.text, "## Archived Learnings"))
    }

    /// The file with one more learning.
    /// Fails when the title is taken, or the file would grow beyond its budget.
    pub fn add(&self, learning: &Learning, budget: usize) -> Result<Self, MemoryError> {
        check(learning)?;
        if self.find(&learning.title).is_ok() {
            return Err(MemoryError::Taken(learning.title.clone()));
        }
        let id = short_id(&[&self.file, &learning.title, &learning.source]);
        let block = format!("{}\n{ID}{id}", learning.render());
        let text = self.with_block(LIVE, &block);
        self.accept(text, learning, budget)
    }

    /// The file with one learning in the place of another.
    /// Fails when there is none of that title, or the file would grow beyond its budget.
    pub fn replace(
        &self,
        title: &str,
        learning: &Learning,
        budget: usize,
    ) -> Result<Self, MemoryError> {
        check(learning)?;
        let old = self.find(title)?;
        let taken = self.find(&learning.title).is_ok_and(|other| other != old);
        if taken {
            return Err(MemoryError::Taken(learning.title.clone()));
        }
        let end = content_end(&self.text, &old.range);
        let own = lines(&self.text[old.range.clone()]).into_iter();
        let id = own
            .map(|line| line.text())
            .find(|line| line.starts_with(ID));
        let mut block = learning.render();
        block.extend(id.map(|id| format!("\n{id}")));
        let block = block.replace('\n', crate::markdown::outline::line_end(&self.text));
        let tail = &self.text[old.range.start..end];
        let newline = tail.len() - tail.trim_end_matches(['\n', '\r']).len();
        let text = splice(&self.text, old.range.start..end - newline, &block);
        self.accept(text, learning, budget)
    }

    /// The file with a learning moved to the archive, its words as they were and
    /// the reason below them.
    /// Fails when there is none of that title.
    pub fn archive(&self, title: &str, reason: &str) -> Result<Self, MemoryError> {
        let entry = self.find(title)?;
        let words = self.text[entry.range.clone()].trim_end();
        let words = words.replace("\r\n", "\n");
        let block = format!("{words}\n- **Archived:** {}", one_line(reason));
        let without = self.without(entry);
        let text = without.with_block(ARCHIVE, &block);
        let changed = Self::parse(&self.file, text);
        let is_it = |other: &Entry| other.learning.title == entry.learning.title;
        let there = changed.archived().any(is_it);
        there.then_some(changed).ok_or(MemoryError::Tangled)
    }

    /// The file without a learning.
    /// Fails when there is none of that title.
    pub fn remove(&self, title: &str) -> Result<Self, MemoryError> {
        Ok(self.without(self.find(title)?))
    }

    /// Whether a live learning has this title and this rule.
    pub fn says(&self, learning: &Learning) -> bool {
        let known = self.find(&learning.title);
        known.is_ok_and(|entry| one_line(&entry.learning.rule) == one_line(&learning.rule))
    }

    /// The file without the live learnings of these ids.
    pub fn leaving_out(&self, ids: &[String]) -> Self {
        let mut live = self.live();
        match live.find(|entry| ids.contains(&entry.id)) {
            Some(entry) => self.without(entry).leaving_out(ids),
            None => self.clone(),
        }
    }

    /// Live learnings, the most dispensable first: unsure before sure, long
    /// before short.
    pub fn dispensable(&self) -> Vec<Dispensable> {
        let all = self.live().map(|entry| Dispensable {
            title: entry.learning.title.clone(),
            tokens: entry.tokens,
            confidence: entry.learning.confidence,
        });
        let mut all: Vec<Dispensable> = all.collect();
        let sureness = |confidence| match confidence {
            Confidence::Low => 0,
            Confidence::Medium => 1,
            Confidence::High => 2,
        };
        all.sort_by_key(|one| (sureness(one.confidence), usize::MAX - one.tokens));
        all
    }

    fn find(&self, title: &str) -> Result<&Entry, MemoryError> {
        let title = learning::clean_title(title);
        let is_it = |entry: &&Entry| entry.learning.title.eq_ignore_ascii_case(&title);
        let found = self.live().find(is_it);
        found.ok_or(MemoryError::Unknown(title))
    }

    fn without(&self, entry: &Entry) -> Self {
        Self::parse(&self.file, splice(&self.text, entry.range.clone(), ""))
    }

    /// The text with a block at the end of a section, which is made if it is missing.
    fn with_block(&self, title: &str, block: &str) -> String {
        let text = &self.text;
        if let Some(found) = section(text, 2, title) {
            return insert_block(text, content_end(text, &found.range), block);
        }
        let block = format!("## {title}\n\n{block}");
        let archive = section(text, 2, ARCHIVE).map(|found| found.range.start);
        insert_block(text, archive.unwrap_or(text.len()), &block)
    }

    fn accept(
        &self,
        text: String,
        learning: &Learning,
        budget: usize,
    ) -> Result<Self, MemoryError> {
        let changed = Self::parse(&self.file, text);
        if changed.find(&learning.title).is_err() {
            return Err(MemoryError::Tangled);
        }
        let tokens = changed.tokens();
        if tokens > budget && tokens > self.tokens() {
            let mut enough = tokens - budget;
            let mut could_go = self.dispensable();
            let needed = could_go.iter().position(|one| {
                enough = enough.saturating_sub(one.tokens);
                enough == 0
            });
            could_go.truncate(needed.map_or(could_go.len(), |last| last + 1));
            return Err(MemoryError::OverBudget {
                tokens,
                budget,
                could_go,
            });
        }
        Ok(changed)
    }
}

/// The line that keeps a learning's id.
pub(crate) const ID: &str = "- **Id:** ";

/// The id of a learning: as its file says, or made from its title.
pub(crate) fn id_in(block: &str, title: &str) -> String {
    let own = lines(block).into_iter();
    let mut said = own.filter_map(|line| line.text().strip_prefix(ID));
    let said = said.next().map(|id| id.trim().to_owned());
    said.filter(|id| !id.is_empty())
        .unwrap_or_else(|| short_id(&[&title.to_lowercase()]))
}

/// Six letters that are easy to type.
fn short_id(parts: &[&str]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = Sha256Hex::of(parts.join("\n"));
    let byte = |at: usize| usize::from_str_radix(&hash.as_str()[at..at + 2], 16).unwrap_or(0);
    (0..6)
        .map(|at| char::from(LETTERS[byte(2 * at) % 32]))
        .collect()
}

fn check(learning: &Learning) -> Result<(), MemoryError> {
    if learning::clean_title(&learning.title).is_empty() || learning.rule.trim().is_empty() {
        return Err(MemoryError::Empty);
    }
    Ok(())
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
