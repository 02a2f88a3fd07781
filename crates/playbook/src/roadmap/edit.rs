//! Changes to the roadmap. Each touches the value it is about and nothing else.

use crate::{
    Item, Roadmap, Status,
    markdown::outline::{Section, content_end, insert_block, line_end, sections, splice},
    one_line,
    roadmap::{change::listed, item},
};

/// Why the roadmap was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoadmapError {
    /// No item has that number.
    #[error("the roadmap has no item {0}")]
    Unknown(u32),
    /// The text would not read back as what was written.
    #[error("the roadmap's sections cannot be told apart: is a code fence left open?")]
    Tangled,
    /// Others were faster.
    #[error("it would get the number {1}, not {0} as shown")]
    Renumbered(u32, u32),
    /// A split needs something to split into.
    #[error("name at least two pieces")]
    NoPieces,
}

impl Roadmap {
    /// The roadmap with an item's status changed.
    /// Fails when there is no such item.
    pub fn set_status(&self, number: u32, status: &Status) -> Result<Self, RoadmapError> {
        let item = self.item(number).ok_or(RoadmapError::Unknown(number))?;
        let value = one_line(&status.to_string());
        let changed = self.with_field(item, item.status_value.clone(), "Status", &value);
        let read = changed.item(number).map(|item| item.status.clone());
        let same = read == Some(Status::read(&value));
        same.then_some(changed).ok_or(RoadmapError::Tangled)
    }

    /// The roadmap with an item's branch named.
    /// Fails when there is no such item.
    pub fn set_branch(&self, number: u32, branch: &str) -> Result<Self, RoadmapError> {
        let item = self.item(number).ok_or(RoadmapError::Unknown(number))?;
        let value = item.branch_value.clone();
        Ok(self.with_field(item, value, "Branch", &one_line(branch)))
    }

    /// The roadmap with the issue of an item named.
    /// Fails when there is no such item.
    pub fn set_issue(&self, number: u32, issue: u64) -> Result<Self, RoadmapError> {
        let item = self.item(number).ok_or(RoadmapError::Unknown(number))?;
        let value = item.issue_value.clone();
        Ok(self.with_field(item, value, "Issue", &format!("#{issue}")))
    }

    /// The roadmap with an item done: when, and on which branch. One that is done
    /// already stays as it is.
    /// Fails when there is no such item, or the text would not read back so.
    pub fn finish(&self, number: u32, branch: &str, date: &str) -> Result<Self, RoadmapError> {
        let item = self.item(number).ok_or(RoadmapError::Unknown(number))?;
        if item.status == Status::Done {
            return Ok(self.clone());
        }
        let value = format!("done ({})", one_line(date));
        let changed = self.with_field(item, item.status_value.clone(), "Status", &value);
        let changed = changed.set_branch(number, branch)?;
        let done = changed.item(number).map(|item| &item.status) == Some(&Status::Done);
        let whole = done && changed.items().len() == self.items().len();
        whole.then_some(changed).ok_or(RoadmapError::Tangled)
    }

    /// The roadmap with one more item after the others, and its number.
    /// Fails when the text has no place for it, as inside an open code fence.
    pub fn add(
        &self,
        title: &str,
        depends_on: &[u32],
        criteria: &[String],
    ) -> Result<(u32, Self), RoadmapError> {
        let highest = self.items().iter().map(|item| item.number).max();
        let number = highest.unwrap_or(0).checked_add(1);
        let number = number.ok_or(RoadmapError::Tangled)?;
        let depends = listed(depends_on);
        let mut block = format!(
            "## {number}. {}\n- Status: pending\n- Depends on: {depends}\n- Acceptance criteria:",
            one_line(title)
        );
        for criterion in criteria {
            block.push_str(&format!("\n  - {}", one_line(criterion)));
        }
        let changed = Self::parse(insert_block(&self.text, self.end_of_items(), &block));
        match changed.item(number) {
            Some(item) if item.title == one_line(title) => Ok((number, changed)),
            _ => Err(RoadmapError::Tangled),
        }
    }

    /// Where the last item's text ends; a person's sections may follow.
    fn end_of_items(&self) -> usize {
        let all = sections(&self.text);
        let is_item = |section: &Section<'_>| item::read(&self.text, section).is_some();
        let last = all
            .iter()
            .rfind(|section| section.level == 2 && is_item(section));
        last.map_or(self.text.len(), |section| {
            content_end(&self.text, &section.range)
        })
    }

    pub(crate) fn with_field(
        &self,
        item: &Item,
        value: Option<std::ops::Range<usize>>,
        name: &str,
        new: &str,
    ) -> Self {
        let text = &self.text;
        Self::parse(match value {
            // `- Status:` with nothing behind it needs its blank; a list begins on its own line.
            Some(range) if new.starts_with(['\n', '\r']) => {
                let start = text[..range.start].trim_end().len();
                splice(text, start..range.end, new)
            }
            Some(range) if text[..range.start].ends_with([':', '*']) => {
                splice(text, range, &format!(" {new}"))
            }
            Some(range) => splice(text, range, new),
            None => {
                let end = line_end(text);
                let before = &text[..item.heading_end];
                let newline = if before.ends_with('\n') { "" } else { end };
                let apart = new.starts_with(['\n', '\r']);
                let blank = if apart { "" } else { " " };
                let line = format!("{newline}- {name}:{blank}{new}{end}");
                splice(text, item.heading_end..item.heading_end, &line)
            }
        })
    }
}
