//! The roadmap as a picture of lines: each item below the one it waits for
//! longest, with what else it needs beside it. Items in a circle, or behind one,
//! come last: nothing can start there.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Item, Roadmap, Status};

/// Below this many columns nothing is moved further to the right.
const DEEPEST: usize = 60;

impl Roadmap {
    /// The dependency graph as text, one line per item.
    pub fn graph(&self) -> String {
        let levels = self.levels();
        let mut below: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut roots = Vec::new();
        let (placed, stuck): (Vec<&Item>, Vec<&Item>) = self
            .first_of_each()
            .partition(|item| levels.contains_key(&item.number));
        for item in placed {
            let known = item
                .depends_on
                .iter()
                .filter(|number| levels.contains_key(number));
            match known.max_by_key(|number| (levels[number], **number)) {
                Some(last) => below.entry(*last).or_default().push(item.number),
                None => roots.push(item.number),
            }
        }
        let mut lines = Vec::new();
        for root in roots {
            self.draw(root, &below, &mut lines);
        }
        if !stuck.is_empty() {
            lines.push(String::new());
            lines.push("Cannot start, because of a circle:".to_owned());
            lines.extend(stuck.into_iter().map(|item| self.line(item, None)));
        }
        lines.join("\n")
    }

    /// Where a number is there twice the first counts, as everywhere; the other
    /// is a problem, and would make circles that nobody wrote.
    fn first_of_each(&self) -> impl Iterator<Item = &Item> {
        let items = self.items().iter();
        items.filter(|item| self.item(item.number) == Some(item))
    }

    /// How many items must be done one after the other before each; those that
    /// wait for a circle have no place.
    fn levels(&self) -> BTreeMap<u32, usize> {
        let circles: BTreeSet<u32> = self.cycles().into_iter().flatten().collect();
        let mut levels: BTreeMap<u32, usize> = BTreeMap::new();
        loop {
            let before = levels.len();
            for item in self.first_of_each() {
                if levels.contains_key(&item.number) || circles.contains(&item.number) {
                    continue;
                }
                // A number that does not exist holds nothing up here; it is a problem of its own.
                let needs = item.depends_on.iter();
                let needs = needs.filter(|number| self.item(**number).is_some());
                let known = needs.map(|number| levels.get(number).copied());
                let known: Option<Vec<usize>> = known.collect();
                if let Some(known) = known {
                    let level = known.iter().max().map_or(0, |deepest| deepest + 1);
                    levels.insert(item.number, level);
                }
            }
            if levels.len() == before {
                return levels;
            }
        }
    }

    /// One tree, from its root down. No recursion: a chain may be long.
    fn draw(&self, root: u32, below: &BTreeMap<u32, Vec<u32>>, lines: &mut Vec<String>) {
        let mut open = vec![(root, None, String::new(), String::new())];
        while let Some((number, parent, start, rest)) = open.pop() {
            let Some(item) = self.item(number) else {
                continue;
            };
            lines.push(format!("{start}{}", self.line(item, parent)));
            let children = below.get(&number).map_or(&[][..], Vec::as_slice);
            for (index, child) in children.iter().enumerate().rev() {
                let last = index + 1 == children.len();
                let (branch, trunk) = match last {
                    true => ("└─ ", "   "),
                    false => ("├─ ", "│  "),
                };
                let deep = rest.chars().count() >= DEEPEST;
                let deeper = format!("{rest}{}", if deep { "" } else { trunk });
                open.push((*child, Some(number), format!("{rest}{branch}"), deeper));
            }
        }
    }

    fn line(&self, item: &Item, parent: Option<u32>) -> String {
        let waiting = self.waiting_on(item);
        let state = match &item.status {
            Status::Pending if waiting.is_empty() => "ready".to_owned(),
            Status::Pending => format!("waiting on {}", list(&waiting)),
            Status::InProgress => match &item.branch {
                Some(branch) => format!("in progress on {branch}"),
                None => "in progress".to_owned(),
            },
            Status::Blocked(reason) if !reason.is_empty() => format!("blocked: {reason}"),
            other => other.to_string(),
        };
        let mark = match &item.status {
            Status::Done => "✔",
            Status::InProgress => "▶",
            Status::Blocked(_) => "✖",
            Status::Unknown(_) => "?",
            Status::Pending if waiting.is_empty() => "●",
            Status::Pending => "○",
        };
        let mut also = item.depends_on.clone();
        also.retain(|number| Some(*number) != parent);
        let also = match (parent, also.is_empty()) {
            (Some(_), false) => format!(" (also after {})", list(&also)),
            _ => String::new(),
        };
        format!("{mark} {}. {}, {state}{also}", item.number, item.title)
    }
}

fn list(numbers: &[u32]) -> String {
    let words: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_hang_below_what_they_wait_for_and_circles_come_last() {
        let text = "## 1. Auth\n- Status: done\n## 2. API\n- Status: in_progress\n- Branch: codebutler/api\n- Depends on: 1\n## 3. UI\n- Depends on: 1, 2\n## 4. Mail\n## 5. Bill\n- Status: blocked (which provider?)\n- Depends on: 1\n## 6. A\n- Depends on: 7\n## 7. B\n- Depends on: 6\n## 8. C\n- Depends on: 7\n";
        assert_eq!(
            Roadmap::parse(text).graph(),
            "✔ 1. Auth, done\n\
             ├─ ▶ 2. API, in progress on codebutler/api\n\
             │  └─ ○ 3. UI, waiting on 2 (also after 1)\n\
             └─ ✖ 5. Bill, blocked: which provider?\n\
             ● 4. Mail, ready\n\
             \n\
             Cannot start, because of a circle:\n\
             ○ 6. A, waiting on 7\n\
             ○ 7. B, waiting on 6\n\
             ○ 8. C, waiting on 7"
        );
        assert_eq!(Roadmap::parse("").graph(), "");
        let twice = "## 1. A\n## 2. B\n- Depends on: 1\n## 1. C\n- Depends on: 2\n";
        assert_eq!(
            Roadmap::parse(twice).graph(),
            "● 1. A, ready\n└─ ○ 2. B, waiting on 1"
        );
        let chain: String = (1..300u32)
            .map(|number| format!("## {number}. A\n- Depends on: {}\n", number - 1))
            .collect();
        let graph = Roadmap::parse(chain).graph();
        assert_eq!(graph.lines().count(), 299);
        assert!(graph.lines().all(|line| line.chars().count() < 120));
    }
}
