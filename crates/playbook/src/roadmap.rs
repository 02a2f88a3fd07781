//! The roadmap: what is planned, what waits for what, what could start now.
//! Read tolerantly, because people edit it; written back by splices.

pub(crate) mod change;
pub(crate) mod edit;
pub(crate) mod graph;
pub(crate) mod item;

use std::collections::{BTreeMap, BTreeSet};

use crate::{Item, Problem, Status, markdown::outline::sections};

/// `roadmap.md`, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roadmap {
    pub(crate) text: String,
    items: Vec<Item>,
}

impl Roadmap {
    /// Reads a file. Sections whose heading has no number are a person's own.
    pub fn parse(text: impl Into<String>) -> Self {
        let text = text.into();
        let items = sections(&text)
            .iter()
            .filter(|section| section.level == 2)
            .filter_map(|section| item::read(&text, section))
            .collect();
        Self { items, text }
    }

    /// The file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All items, as the file orders them.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// An item by its number; the first, when a number is there twice.
    pub fn item(&self, number: u32) -> Option<&Item> {
        self.items.iter().find(|item| item.number == number)
    }

    /// What stands in the file about an item, its heading included.
    pub fn words_of(&self, number: u32) -> Option<&str> {
        let item = self.item(number)?;
        Some(self.text[item.section.clone()].trim_end())
    }

    /// Pending items whose dependencies are all done, as the file orders them.
    pub fn ready(&self) -> Vec<&Item> {
        let is_ready = |item: &&Item| {
            item.status == Status::Pending
                && self.waiting_on(item).is_empty()
                && self.item(item.number) == Some(item)
        };
        self.items.iter().filter(is_ready).collect()
    }

    /// The dependencies of an item that are not done; missing ones count.
    pub fn waiting_on(&self, item: &Item) -> Vec<u32> {
        let done = |item: &Item| item.status == Status::Done;
        let mut waiting = item.depends_on.clone();
        waiting.retain(|number| !self.item(*number).is_some_and(done));
        waiting
    }

    /// Groups of items that wait for each other, each in ascending order.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        let mut reach: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for item in &self.items {
            let known = reach.entry(item.number);
            known.or_insert_with(|| self.reachable(item));
        }
        let reaches = |from: u32, to: u32| reach.get(&from).is_some_and(|all| all.contains(&to));
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let circular = reach
            .keys()
            .copied()
            .filter(|number| reaches(*number, *number));
        for number in circular {
            if groups.iter().any(|group| group.contains(&number)) {
                continue;
            }
            let both = |other: &u32| reaches(number, *other) && reaches(*other, number);
            groups.push(reach.keys().copied().filter(both).collect());
        }
        groups
    }

    /// Everything an item depends on, directly or not.
    fn reachable(&self, item: &Item) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        let mut open = item.depends_on.clone();
        while let Some(number) = open.pop() {
            if seen.insert(number)
                && let Some(next) = self.item(number)
            {
                open.extend(&next.depends_on);
            }
        }
        seen
    }

    /// What a person should fix: cycles, numbers that are missing or there
    /// twice, words that are no status.
    pub fn problems(&self, file: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        for item in &self.items {
            let mut report = |what: String| problems.push(Problem::new(file, item.line, what));
            if self.item(item.number) != Some(item) {
                report(format!("item {} is there twice", item.number));
            }
            let number = item.number;
            if let Status::Unknown(word) = &item.status {
                let known = "pending, in_progress, done or blocked";
                report(format!("item {number}: status \"{word}\" is not {known}"));
            }
            let needs = item.depends_on.iter();
            for missing in needs.filter(|number| self.item(**number).is_none()) {
                report(format!(
                    "item {number} depends on {missing}, which does not exist"
                ));
            }
        }
        for group in self.cycles() {
            let first = group.first().and_then(|first| self.item(*first));
            let line = first.map_or(1, |item| item.line);
            let what = match group.as_slice() {
                [alone] => format!("item {alone} depends on itself"),
                several => {
                    let names: Vec<_> = several.iter().map(ToString::to_string).collect();
                    format!("items {} wait for each other", names.join(", "))
                }
            };
            problems.push(Problem::new(file, line, what));
        }
        problems.sort();
        problems
    }
}

#[cfg(test)]
#[path = "roadmap_tests.rs"]
mod tests;
