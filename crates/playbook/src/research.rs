//! What the Researcher keeps: one file per question under `research/`, and one
//! line for each in `## Research Index` of `global.md`, which every role reads.
//! Nothing but that line of it enters a prompt.

pub(crate) mod note;

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::{
    Problem, ResearchNote,
    markdown::outline::{content_end, insert_block, line_end, lines, section, splice},
    memory::relevance::words,
    research::note::slug,
};

const INDEX: &str = "Research Index";
/// How the index points to a file.
const POINTER: &str = "@.codebutler/";
/// More than this belongs into a thread of its own, not into a prompt.
const MOST_LISTED: usize = 30;

/// The kept research of a repo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Research {
    notes: Vec<KeptNote>,
    global: String,
}

/// A note in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptNote {
    /// Its path below `.codebutler/`.
    pub file: String,
    pub note: ResearchNote,
    problems: Vec<Problem>,
}

/// Files to write so that a note is kept; nothing is kept by one of them alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The note's path below `.codebutler/`.
    pub file: String,
    pub text: String,
    /// `global.md` with the line in its index.
    pub global: String,
}

impl Research {
    /// Reads the files below `research/`, each as (path below `.codebutler/`,
    /// text), and the index in `global.md`.
    pub fn new(files: impl IntoIterator<Item = (String, String)>, global: &str) -> Self {
        let mut notes: Vec<KeptNote> = files
            .into_iter()
            .map(|(file, text)| {
                let (note, problems) = ResearchNote::parse(&file, &text);
                KeptNote {
                    file,
                    note,
                    problems,
                }
            })
            .collect();
        notes.sort_by(|one, other| one.file.cmp(&other.file));
        let global = global.to_owned();
        Self { notes, global }
    }

    /// All notes, by file.
    pub fn notes(&self) -> &[KeptNote] {
        &self.notes
    }

    /// Notes that share words with a question, the closest first. A word in the
    /// title counts three times a word in the text.
    pub fn find(&self, question: &str) -> Vec<&KeptNote> {
        let wanted = words(question);
        let shared = |text: &str| words(text).intersection(&wanted).count();
        let mut found: Vec<(usize, &KeptNote)> = self
            .notes
            .iter()
            .map(|kept| {
                let note = &kept.note;
                (3 * shared(&note.title) + shared(&note.text), kept)
            })
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, kept)| kept).collect()
    }

    /// Notes older than so many days, or without a date: look again before
    /// relying on them.
    pub fn stale(&self, today: Date, max_age_days: u32) -> Vec<&KeptNote> {
        let old = |kept: &&KeptNote| {
            let age = kept.note.age_days(today);
            age.is_none_or(|age| age > max_age_days)
        };
        self.notes.iter().filter(old).collect()
    }

    /// What whoever looks things up is told about notes that are too old. Dates
    /// and no ages: a prompt that changes every day is paid for every day.
    pub fn to_refresh(&self, today: Date, max_age_days: u32) -> Option<String> {
        let stale = self.stale(today, max_age_days);
        if stale.is_empty() {
            return None;
        }
        let mut text = format!(
            "## Research To Refresh\n\nFound more than {max_age_days} days ago, or nobody wrote when. Look again before you rely on one of these; `SaveResearch` with the topic of its file name replaces it.\n\n"
        );
        for kept in stale.iter().take(MOST_LISTED) {
            let note = &kept.note;
            let date = note
                .date
                .map_or_else(|| "no date".to_owned(), |date| date.to_string());
            text.push_str(&format!(
                "- {} (.codebutler/{}, {date})\n",
                note.plain_title(),
                kept.file
            ));
        }
        if stale.len() > MOST_LISTED {
            text.push_str(&format!("- and {} more\n", stale.len() - MOST_LISTED));
        }
        Some(text)
    }

    /// What to write so that a note is kept. A note of the same title is
    /// replaced, its place in the index kept.
    pub fn keep(&self, note: &ResearchNote) -> Keep {
        self.keep_as(note, &note.title)
    }

    /// The same for a note whose topic names its file. A note of the same topic
    /// is replaced, whatever its title; else one of the same title.
    pub fn keep_as(&self, note: &ResearchNote, topic: &str) -> Keep {
        let title = note.plain_title();
        let own = format!("research/{}.md", slug(topic));
        let named = topic != note.title && self.notes.iter().any(|kept| kept.file == own);
        let same = self
            .notes
            .iter()
            .find(|kept| kept.note.plain_title().eq_ignore_ascii_case(&title));
        let file = match same {
            _ if named => own,
            Some(kept) => kept.file.clone(),
            None => self.free_name(&slug(topic)),
        };
        Keep {
            global: with_line(&self.global, &title, &file),
            text: note.render(),
            file,
        }
    }

    /// Notes that are not well-formed, and lines of the index that lead nowhere
    /// or are missing. `global` names the file of the index.
    pub fn problems(&self, global: &str) -> Vec<Problem> {
        let mut problems: Vec<_> = self
            .notes
            .iter()
            .flat_map(|kept| kept.problems.iter().cloned())
            .collect();
        let indexed = index(&self.global);
        for (line, file) in &indexed {
            if !self.notes.iter().any(|kept| kept.file == *file) {
                let what = format!("the research index names {file}, which does not exist");
                problems.push(Problem::new(global, *line, what));
            }
        }
        let known: BTreeSet<_> = indexed.iter().map(|(_, file)| file.as_str()).collect();
        for kept in self
            .notes
            .iter()
            .filter(|kept| !known.contains(kept.file.as_str()))
        {
            let what = format!("not in the research index of {global}");
            problems.push(Problem::new(&kept.file, 1, what));
        }
        problems.sort();
        problems
    }

    fn free_name(&self, slug: &str) -> String {
        let taken = |file: &str| self.notes.iter().any(|kept| kept.file == file);
        let mut file = format!("research/{slug}.md");
        let mut number = 2;
        while taken(&file) {
            file = format!("research/{slug}-{number}.md");
            number += 1;
        }
        file
    }
}

/// The files that the index names, with their lines.
fn index(global: &str) -> Vec<(usize, String)> {
    let Some(found) = section(global, 2, INDEX) else {
        return Vec::new();
    };
    lines(global)
        .into_iter()
        .filter(|line| found.body.contains(&line.start))
        .filter_map(|line| {
            let (_, file) = line.text().rsplit_once(POINTER)?;
            Some((line.number, file.trim().to_owned()))
        })
        .collect()
}

/// `global.md` with a line in its index: the one of that file replaced, or one
/// more at the end.
fn with_line(global: &str, title: &str, file: &str) -> String {
    let entry = format!("- {title} — {POINTER}{file}");
    let end = line_end(global);
    let Some(found) = section(global, 2, INDEX) else {
        let archive = section(global, 2, "Archived Learnings").map(|found| found.range.start);
        let block = format!("## {INDEX}\n\n{entry}");
        return insert_block(global, archive.unwrap_or(global.len()), &block);
    };
    let number = index(global).into_iter().find(|(_, other)| other == file);
    if let Some((number, _)) = number
        && let Some(line) = lines(global).into_iter().find(|line| line.number == number)
    {
        let text = line.raw.trim_end_matches(['\n', '\r']);
        return splice(global, line.start..line.start + text.len(), &entry);
    }
    let empty = global[found.body.clone()].trim().is_empty();
    let at = content_end(global, &found.range);
    if empty {
        return insert_block(global, at, &entry);
    }
    let before = if global[..at].ends_with('\n') {
        ""
    } else {
        end
    };
    splice(global, at..at, &format!("{before}{entry}{end}"))
}

#[cfg(test)]
#[path = "research_tests.rs"]
mod tests;
