//! One item of the roadmap, read from whatever a person wrote:
//!
//! ```text
//! ## 3. Profile page
//! - Status: blocked (needs a decision on avatars)
//! - Branch: codebutler/profile-page
//! - Depends on: 1, 2
//! - Issue: #12
//! - Acceptance criteria: page, edit form
//! ```

use std::{fmt, ops::Range};

use crate::markdown::outline::{Line, Section, lines};

/// One piece of planned work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number, which others depend on.
    pub number: u32,
    pub title: String,
    pub status: Status,
    /// Where it is built.
    pub branch: Option<String>,
    /// Numbers of the items that must be done first.
    pub depends_on: Vec<u32>,
    /// What counts as done, one each.
    pub criteria: Vec<String>,
    /// The issue that it came from or went to.
    pub issue: Option<u64>,
    /// The line of its heading.
    pub line: usize,
    pub(crate) heading_end: usize,
    pub(crate) status_value: Option<Range<usize>>,
    pub(crate) branch_value: Option<Range<usize>>,
    pub(crate) title_range: Range<usize>,
    pub(crate) depends_value: Option<Range<usize>>,
    pub(crate) criteria_value: Option<Range<usize>>,
    pub(crate) issue_value: Option<Range<usize>>,
    /// Heading and body.
    pub(crate) section: Range<usize>,
}

/// Where an item stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Pending,
    InProgress,
    /// Merged.
    Done,
    /// Cannot go on; why, where it was said.
    Blocked(String),
    /// A word we do not know: nothing is started on a guess.
    Unknown(String),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Pending => f.write_str("pending"),
            Status::InProgress => f.write_str("in_progress"),
            Status::Done => f.write_str("done"),
            Status::Blocked(reason) if reason.is_empty() => f.write_str("blocked"),
            Status::Blocked(reason) => write!(f, "blocked ({reason})"),
            Status::Unknown(word) => f.write_str(word),
        }
    }
}

impl Status {
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim().trim_matches(['*', '`', '_']);
        // A tick or traffic light before the word is decoration.
        let text = text.trim_start_matches(|first: char| !first.is_alphanumeric());
        let words: String = text.to_lowercase().replace(['_', '-'], " ");
        let starts = |known: &[&str]| {
            known.iter().any(|word| {
                let rest = words.strip_prefix(*word);
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            })
        };
        if starts(&["pending", "todo", "to do", "open", "planned", "not started"]) {
            Status::Pending
        } else if starts(&["in progress", "doing", "wip", "started"]) {
            Status::InProgress
        } else if starts(&["done", "complete", "completed", "merged", "finished"]) {
            Status::Done
        } else if starts(&["blocked"]) {
            let reason = text.get("blocked".len()..).unwrap_or_default().trim();
            let reason = reason.trim_start_matches([':', '-', '–', '—', ',', ' ']);
            let inner = reason
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'));
            Status::Blocked(inner.unwrap_or(reason).trim().to_owned())
        } else if text.is_empty() {
            Status::Pending
        } else {
            Status::Unknown(text.to_owned())
        }
    }
}

/// Reads a section, when its title begins with a number.
pub(crate) fn read(text: &str, section: &Section<'_>) -> Option<Item> {
    let (number, title) = numbered(section.title)?;
    let mut item = Item {
        number,
        title: title.to_owned(),
        status: Status::Pending,
        branch: None,
        depends_on: Vec::new(),
        criteria: Vec::new(),
        issue: None,
        line: section.line,
        heading_end: section.body.start,
        status_value: None,
        branch_value: None,
        title_range: within(text, title),
        depends_value: None,
        criteria_value: None,
        issue_value: None,
        section: section.range.clone(),
    };
    let body = lines(text).into_iter();
    let body = body.filter(|line| section.body.contains(&line.start));
    let mut in_criteria = false;
    for line in body.filter(|line| !line.fenced) {
        if let Some((name, value)) = field(&line) {
            in_criteria = name == Name::Criteria;
            item.take(name, text, value);
        } else if !line.text().is_empty() {
            // Prose below the list is a person's own.
            in_criteria &= line.text().starts_with(['-', '*', '+']);
            let Some(value) = item.criteria_value.as_mut().filter(|_| in_criteria) else {
                continue;
            };
            value.end = line.start + line.raw.trim_end().len();
            let point = line.text().trim_start_matches(['-', '*', '+', ' ']);
            let plain = point
                .strip_prefix("[ ]")
                .or_else(|| point.strip_prefix("[x]"));
            let point = plain.unwrap_or(point);
            item.criteria.push(point.trim().to_owned());
        }
    }
    Some(item)
}

impl Item {
    fn take(&mut self, name: Name, text: &str, range: Range<usize>) {
        let value = text[range.clone()].trim();
        match name {
            Name::Status if self.status_value.is_none() => {
                self.status = Status::read(value);
                self.status_value = Some(range);
            }
            Name::Branch if self.branch_value.is_none() => {
                let branch = value.trim_matches('`');
                let none = branch.is_empty() || matches!(branch, "-" | "—" | "–" | "none");
                self.branch = (!none).then(|| branch.to_owned());
                self.branch_value = Some(range);
            }
            Name::Depends if self.depends_value.is_none() => {
                self.depends_on = numbers(value);
                self.depends_value = Some(range);
            }
            Name::Issue if self.issue_value.is_none() => {
                self.issue = value.trim_start_matches('#').parse().ok();
                self.issue_value = Some(range);
            }
            Name::Criteria if self.criteria_value.is_none() => {
                self.criteria
                    .extend((!value.is_empty()).then(|| value.to_owned()));
                self.criteria_value = Some(range);
            }
            _ => {}
        }
    }
}

/// Where a part of a text lies in it.
fn within(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// `3. Title`, `3) Title`, `3: Title`, `Item 3: Title`, `#3 Title`.
fn numbered(title: &str) -> Option<(u32, &str)> {
    let title = title.strip_prefix("Item ").unwrap_or(title);
    let title = title.strip_prefix('#').unwrap_or(title);
    let digits = title.bytes().take_while(u8::is_ascii_digit).count();
    let number = title[..digits].parse().ok()?;
    let rest = &title[digits..];
    // "2026 goals" is a heading with a year, "3.1 Parser" a chapter.
    let rest = rest.strip_prefix(['.', ')', ':'])?;
    let separated = rest.is_empty() || rest.starts_with(char::is_whitespace);
    separated.then(|| (number, rest.trim()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Status,
    Branch,
    Depends,
    Issue,
    Criteria,
}

/// The name of a field and the bytes of its value, without the line end.
fn field(line: &Line<'_>) -> Option<(Name, Range<usize>)> {
    let colon = line.raw.find(':')?;
    let name = line.raw[..colon].trim_matches(['-', '*', '_', '+', ' ', '\t']);
    let name = match name.to_lowercase().as_str() {
        "status" | "state" => Name::Status,
        "branch" => Name::Branch,
        "depends on" | "depends" | "dependencies" | "needs" => Name::Depends,
        "issue" => Name::Issue,
        "acceptance criteria" | "criteria" | "acceptance" => Name::Criteria,
        _ => return None,
    };
    let mut start = colon + 1;
    // The bold may end after the colon.
    if line.raw[start..].starts_with("**") {
        start += 2;
    }
    start += line.raw[start..].len() - line.raw[start..].trim_start().len();
    let end = line.raw.trim_end().len();
    let range = start.min(end)..end;
    Some((name, line.start + range.start..line.start + range.end))
}

/// All numbers of a text, each once.
fn numbers(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for digits in text.split(|other: char| !other.is_ascii_digit()) {
        if let Ok(number) = digits.parse()
            && !found.contains(&number)
        {
            found.push(number);
        }
    }
    found
}
