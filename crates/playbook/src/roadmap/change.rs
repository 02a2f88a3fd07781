//! A whole change of the roadmap: several operations, checked together before
//! anything is written. Each touches the item it is about; what a person wrote
//! around the items stays as it is, to the byte.

use std::{collections::BTreeSet, ops::Range};

use butler_protocol::{RoadmapChange, RoadmapItem};

use crate::{
    Item, Roadmap, Status,
    markdown::outline::{line_end, splice},
    one_line,
    roadmap::edit::RoadmapError,
};

impl Roadmap {
    /// The roadmap after all of these changes.
    /// Errors: everything that is wrong with them, a line each: items that do not exist, and
    /// what the whole would leave broken that was not broken before.
    pub fn apply(&self, changes: &[RoadmapChange]) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let mut roadmap = self.clone();
        for (number, change) in (1..).zip(changes) {
            match roadmap.with(change) {
                Ok(changed) => roadmap = changed,
                Err(error) => wrong.push(format!("change {number} ({change}): {error}")),
            }
        }
        let told = |roadmap: &Self| -> BTreeSet<String> {
            let problems = roadmap.problems("").into_iter();
            problems.map(|problem| problem.what).collect()
        };
        wrong.extend(told(&roadmap).difference(&told(self)).cloned());
        match wrong.is_empty() {
            true => Ok(roadmap),
            false => Err(wrong),
        }
    }

    /// The same changes with the numbers that new items get.
    pub fn numbered(&self, mut changes: Vec<RoadmapChange>) -> Vec<RoadmapChange> {
        let highest = self.items().iter().map(|item| item.number).max();
        let mut free = highest.unwrap_or(0);
        let mut next = || {
            free = free.saturating_add(1);
            Some(free)
        };
        for change in &mut changes {
            match change {
                RoadmapChange::Add(new) => new.number = next(),
                RoadmapChange::Split { item, into } => {
                    for (at, piece) in into.iter_mut().enumerate() {
                        piece.number = if at == 0 { Some(*item) } else { next() };
                    }
                }
                _ => {}
            }
        }
        changes
    }

    fn with(&self, change: &RoadmapChange) -> Result<Self, RoadmapError> {
        match change {
            RoadmapChange::Add(new) => {
                let (number, changed) = self.add(&new.title, &new.depends_on, &new.criteria)?;
                as_approved(new, number)?;
                Ok(changed)
            }
            RoadmapChange::Change {
                item,
                title,
                depends_on,
                criteria,
            } => {
                let (title, needs) = (title.as_deref(), depends_on.as_deref());
                self.reworded(*item, title, needs, criteria.as_deref())
            }
            RoadmapChange::Move { item, before } => self.moved(*item, *before),
            RoadmapChange::Split { item, into } => self.split(*item, into),
            RoadmapChange::Status { item, status } => {
                self.set_status(*item, &Status::read(&status.to_string()))
            }
            RoadmapChange::Block { item, reason } => {
                self.set_status(*item, &Status::Blocked(one_line(reason)))
            }
        }
    }

    fn reworded(
        &self,
        number: u32,
        title: Option<&str>,
        depends_on: Option<&[u32]>,
        criteria: Option<&[String]>,
    ) -> Result<Self, RoadmapError> {
        let mut roadmap = self.clone();
        if let Some(criteria) = criteria {
            let item = roadmap.known(number)?;
            let end = line_end(&roadmap.text);
            let lines = criteria
                .iter()
                .map(|one| format!("{end}  - {}", one_line(one)));
            let (lines, value) = (lines.collect::<String>(), item.criteria_value.clone());
            roadmap = roadmap.with_field(item, value, "Acceptance criteria", &lines);
        }
        if let Some(depends_on) = depends_on {
            let item = roadmap.known(number)?;
            let value = item.depends_value.clone();
            roadmap = roadmap.with_field(item, value, "Depends on", &listed(depends_on));
        }
        if let Some(title) = title {
            let range = roadmap.known(number)?.title_range.clone();
            let apart = roadmap.text[..range.start].ends_with([' ', '\t']);
            let blank = if apart { "" } else { " " };
            let title = format!("{blank}{}", one_line(title));
            roadmap = Self::parse(splice(&roadmap.text, range, &title));
        }
        let read = roadmap.known(number).map_err(|_| RoadmapError::Tangled)?;
        let same = title.is_none_or(|title| read.title == one_line(title))
            && depends_on.is_none_or(|numbers| read.depends_on == once(numbers))
            && criteria.is_none_or(|all| {
                let lines = all.iter().map(|one| one_line(one));
                read.criteria == lines.collect::<Vec<_>>()
            });
        same.then_some(roadmap).ok_or(RoadmapError::Tangled)
    }

    fn moved(&self, number: u32, before: Option<u32>) -> Result<Self, RoadmapError> {
        let own = self.known(number)?.section.clone();
        let target = match before {
            Some(before) => self.known(before)?.section.start,
            None => self.items().last().map_or(own.end, |last| last.section.end),
        };
        if own.contains(&target) || target == own.end {
            return Ok(self.clone());
        }
        let changed = Self::parse(carried(&self.text, &own, target));
        let order = |roadmap: &Self| -> BTreeSet<u32> {
            roadmap.items().iter().map(|item| item.number).collect()
        };
        let whole = order(&changed) == order(self) && changed.items().len() == self.items().len();
        whole.then_some(changed).ok_or(RoadmapError::Tangled)
    }

    fn split(&self, number: u32, into: &[RoadmapItem]) -> Result<Self, RoadmapError> {
        let old = self.known(number)?.clone();
        let [first, rest @ ..] = into else {
            return Err(RoadmapError::NoPieces);
        };
        if rest.is_empty() {
            return Err(RoadmapError::NoPieces);
        }
        let needs =
            |piece: &RoadmapItem| once(&[old.depends_on.as_slice(), &piece.depends_on].concat());
        let (title, criteria) = (Some(first.title.as_str()), Some(first.criteria.as_slice()));
        let mut roadmap = self.reworded(number, title, Some(&needs(first)), criteria)?;
        let follower = self.after(&old);
        let mut pieces = vec![number];
        for piece in rest {
            let (new, changed) = roadmap.add(&piece.title, &needs(piece), &piece.criteria)?;
            as_approved(piece, new)?;
            roadmap = changed.moved(new, follower)?;
            pieces.push(new);
        }
        let waits = |item: &&Item| item.depends_on.contains(&number);
        for waiting in self.items().iter().filter(waits) {
            let numbers = once(&[waiting.depends_on.as_slice(), &pieces].concat());
            roadmap = roadmap.reworded(waiting.number, None, Some(&numbers), None)?;
        }
        Ok(roadmap)
    }

    /// The item that stands behind this one.
    fn after(&self, item: &Item) -> Option<u32> {
        let items = self.items().iter();
        let mut later = items.skip_while(|one| one.number != item.number);
        later.nth(1).map(|next| next.number)
    }

    fn known(&self, number: u32) -> Result<&Item, RoadmapError> {
        self.item(number).ok_or(RoadmapError::Unknown(number))
    }
}

/// Refuses another number than the one that was shown.
fn as_approved(item: &RoadmapItem, number: u32) -> Result<(), RoadmapError> {
    match item.number {
        Some(shown) if shown != number => Err(RoadmapError::Renumbered(shown, number)),
        _ => Ok(()),
    }
}

/// The text with a section of it carried elsewhere, an empty line behind it.
fn carried(text: &str, own: &Range<usize>, target: usize) -> String {
    let end = line_end(text);
    let mut block = text[own.clone()].to_owned();
    let mut rest = splice(text, own.clone(), "");
    let mut at = match target > own.start {
        true => target - own.len(),
        false => target,
    };
    for (part, place) in [(&mut block, None), (&mut rest, Some(at))] {
        // What stands before a heading ends with an empty line.
        let place = place.unwrap_or(part.len());
        let before = &part[..place];
        let lacks = match before {
            "" => 0,
            _ if before.ends_with("\n\n") || before.ends_with("\n\r\n") => 0,
            _ if before.ends_with('\n') => 1,
            _ => 2,
        };
        part.insert_str(place, &end.repeat(lacks));
        if place == at {
            at += end.len() * lacks;
        }
    }
    splice(&rest, at..at, &block)
}

/// Each number once, in its order.
fn once(numbers: &[u32]) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let mut numbers = numbers.to_vec();
    numbers.retain(|number| seen.insert(*number));
    numbers
}

/// The value of "Depends on".
pub(crate) fn listed(numbers: &[u32]) -> String {
    if numbers.is_empty() {
        return "—".to_owned();
    }
    let numbers: Vec<_> = once(numbers).iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
