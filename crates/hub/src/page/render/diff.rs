//! Reads unified diffs: the files of a change, their lines with numbers, and what is
//! new since an earlier round. Pure.

use std::{collections::HashMap, fmt::Write as _};

use maud::{Markup, html};
use sha2::{Digest, Sha256};

use crate::views::Side;

/// A diff inside a code block: each line in its colour.
pub(crate) fn lines(diff: &str) -> Markup {
    html! {
        @for line in diff.split_inclusive('\n') {
            span class=(line_class(line)) { (line) }
        }
    }
}

fn line_class(line: &str) -> &'static str {
    if line.starts_with("@@") {
        "hunk"
    } else if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
        "meta"
    } else if line.starts_with('+') {
        "add"
    } else if line.starts_with('-') {
        "del"
    } else {
        "same"
    }
}

/// One file of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileChange<'a> {
    pub(crate) path: &'a str,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    lines: Vec<&'a str>,
}

/// Cuts a diff of `git diff` into its files.
pub(crate) fn files(diff: &str) -> Vec<FileChange<'_>> {
    let mut found: Vec<FileChange<'_>> = Vec::new();
    let mut in_hunk = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let path = names.rsplit_once(" b/").map_or(names, |(_, path)| path);
            found.push(FileChange {
                path,
                added: 0,
                removed: 0,
                lines: Vec::new(),
            });
            in_hunk = false;
            continue;
        }
        let Some(file) = found.last_mut() else {
            continue;
        };
        in_hunk |= line.starts_with("@@");
        if !in_hunk {
            // Modes, index and names; a binary file has nothing else to show.
            if line.starts_with("Binary") || line.starts_with("rename ") {
                file.lines.push(line);
            }
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => file.added += 1,
            Some(b'-') => file.removed += 1,
            _ => {}
        }
        file.lines.push(line);
    }
    found
}

/// A line of a file's change, with its numbers in the old and the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) class: &'static str,
    pub(crate) old: Option<u32>,
    pub(crate) new: Option<u32>,
    pub(crate) mark: &'static str,
    pub(crate) text: &'a str,
}

impl Row<'_> {
    /// The number under which it can be commented on: what is gone by its old one.
    pub(crate) fn place(&self) -> Option<(Side, u32)> {
        let new = self.new.map(|number| (Side::New, number));
        new.or(self.old.map(|number| (Side::Old, number)))
    }

    fn number(&self, side: Side) -> Option<u32> {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }
}

impl<'a> FileChange<'a> {
    /// How many lines there are to draw.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// A hash of what the change does to this file.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.path);
        for line in &self.lines {
            hash.update("\n");
            hash.update(line);
        }
        let bytes = hash.finalize();
        bytes.iter().take(16).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// What stands in these lines; nothing unless the change shows all of them.
    pub(crate) fn quote(&self, side: Side, first: u32, last: u32) -> Option<String> {
        let rows = self.rows();
        let found = rows.iter().filter(|row| {
            let number = row.number(side);
            number.is_some_and(|number| (first..=last).contains(&number))
        });
        let texts: Vec<&str> = found.map(|row| row.text).collect();
        let wanted = last.checked_sub(first)?.checked_add(1)?;
        (texts.len() == wanted as usize).then(|| texts.join("\n"))
    }

    /// Which lines the change did not have in an earlier round, and what it had then
    /// and has no more.
    pub(crate) fn since(&self, last: Option<&FileChange<'a>>) -> (Vec<bool>, Vec<&'a str>) {
        let mut before: HashMap<&str, usize> = HashMap::new();
        let changed = |line: &&&str| line.starts_with(['+', '-']);
        for line in last.iter().flat_map(|last| &last.lines).filter(changed) {
            *before.entry(line).or_default() += 1;
        }
        let mut is_fresh = |line: &str| {
            if !line.starts_with(['+', '-']) {
                return false;
            }
            match before.get_mut(line) {
                Some(count @ 1..) => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        };
        let fresh = self.lines.iter().map(|line| is_fresh(line)).collect();
        let mut gone = Vec::new();
        for line in last.iter().flat_map(|last| &last.lines).filter(changed) {
            if let Some(count @ 1..) = before.get_mut(line) {
                *count -= 1;
                gone.push(*line);
            }
        }
        (fresh, gone)
    }

    /// Every line with its numbers.
    pub(crate) fn rows(&self) -> Vec<Row<'a>> {
        let (mut old, mut new) = (0, 0);
        let count = |number: &mut u32| {
            *number += 1;
            Some(*number - 1)
        };
        let rows = self.lines.iter().map(|line| {
            let text = line.get(1..).unwrap_or_default();
            let row = |class, old, new, mark| Row {
                class,
                old,
                new,
                mark,
                text,
            };
            match line.as_bytes().first() {
                Some(b'+') => row("add", None, count(&mut new), "+"),
                Some(b'-') => row("del", count(&mut old), None, "−"),
                Some(b' ') => row("same", count(&mut old), count(&mut new), " "),
                _ => {
                    if line.starts_with("@@") {
                        (old, new) = starts_of(line);
                    }
                    Row {
                        class: "hunk",
                        old: None,
                        new: None,
                        mark: "",
                        text: line,
                    }
                }
            }
        });
        rows.collect()
    }
}

/// `@@ -12,3 +15,4 @@`: the first old and new line.
fn starts_of(hunk: &str) -> (u32, u32) {
    let number = |mark: char| {
        let part = hunk.split(' ').find_map(|word| word.strip_prefix(mark))?;
        part.split(',').next()?.parse().ok()
    };
    (number('-').unwrap_or(0), number('+').unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use crate::page::render::diff::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,2 +3,3 @@ fn main()\n same\n-old <b>\n+new <b>\n++++ four\ndiff --git a/x.png b/x.png\nBinary files differ\n";

    #[test]
    fn a_change_is_cut_into_files_and_counted() {
        let files = files(DIFF);
        assert_eq!(files.len(), 2);
        assert_eq!(
            (files[0].path, files[0].added, files[0].removed),
            ("src/a.rs", 2, 1)
        );
        assert_eq!((files[1].path, files[1].added), ("x.png", 0));
    }

    #[test]
    fn lines_are_quoted_by_their_numbers_and_only_whole() {
        let files = files(DIFF);
        let quote = |side, first, last| files[0].quote(side, first, last);
        assert_eq!(quote(Side::New, 3, 4).as_deref(), Some("same\nnew <b>"));
        assert_eq!(quote(Side::Old, 4, 4).as_deref(), Some("old <b>"));
        for (first, last) in [(2, 3), (5, 9), (4, 3), (0, u32::MAX)] {
            assert_eq!(quote(Side::New, first, last), None, "{first}-{last}");
        }
    }

    #[test]
    fn what_is_new_since_a_round_is_what_that_round_did_not_have() {
        let last = "diff --git a/src/a.rs b/src/a.rs\n@@ -3,2 +3,3 @@\n same\n-old <b>\n+other\n++++ four\n";
        let (now, last) = (files(DIFF), files(last));
        let (fresh, gone) = now[0].since(last.first());
        let fresh: Vec<_> = now[0]
            .rows()
            .into_iter()
            .zip(fresh)
            .filter(|(_, new)| *new)
            .collect();
        assert_eq!(fresh.len(), 1, "{fresh:?}");
        assert_eq!(fresh[0].0.text, "new <b>");
        assert_eq!(gone, ["+other"]);
        assert_eq!(now[0].since(now.first()), (vec![false; 5], vec![]));
        assert_ne!(now[0].digest(), last[0].digest());
    }

    #[test]
    fn what_is_no_diff_gives_nothing_and_does_not_fail() {
        for odd in [
            "",
            "@@",
            "+x",
            "diff --git ",
            "diff --git a b\n@@ -x +y @@\n\n+ü",
        ] {
            for file in files(odd) {
                let _ = (file.rows(), file.digest(), file.since(None));
            }
            let _ = lines(odd).into_string();
        }
        assert_eq!(starts_of("@@ -12,3 +15 @@"), (12, 15));
    }
}
