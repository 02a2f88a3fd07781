//! The change as whoever reviews it is given it: the list of files, then the diff,
//! file by file. A file that is long is cut, what does not fit is only named; both
//! are said at the top, because what was not shown whole was not read.

use std::fmt::Write;

use butler_protocol::CommitSha;

/// More of a change than this is not worth its tokens in one piece.
const ALL_BYTES: usize = 20 * 1024;
/// The same for one file.
const FILE_BYTES: usize = 7 * 1024;

/// What is shown of a change.
pub(crate) struct Change<'a> {
    /// The commit.
    pub(crate) head: &'a CommitSha,
    /// Since which earlier commit and round, where that is known.
    pub(crate) since: Option<(&'a CommitSha, u32)>,
    /// The unified diff.
    pub(crate) diff: &'a str,
}

impl Change<'_> {
    /// The text.
    pub(crate) fn text(&self) -> String {
        let files = files(self.diff);
        let mut shown = String::new();
        let (mut cut, mut left_out) = (Vec::new(), Vec::new());
        for file in &files {
            if shown.len() + file.text.len().min(FILE_BYTES) > ALL_BYTES {
                left_out.push(file.path);
            } else if file.text.len() <= FILE_BYTES {
                shown.push_str(file.text);
            } else {
                cut.push(file.path);
                shown.push_str(&file.beginning());
            }
        }
        let mut text = self.opening(&files);
        for file in &files {
            let (added, removed) = file.counts();
            let _ = writeln!(text, "- {} +{added} -{removed}", file.path);
        }
        for (how, paths) in [("Cut below", cut), ("Not shown", left_out)] {
            if !paths.is_empty() {
                let _ = writeln!(
                    text,
                    "{how}, to be read with GitDiff(path) or Read before you judge: {}",
                    paths.join(", ")
                );
            }
        }
        format!("{text}\n{shown}")
    }

    fn opening(&self, files: &[File<'_>]) -> String {
        let head = short(self.head);
        match (self.since, files.is_empty()) {
            (None, _) => format!("The whole change at {head}:\n"),
            (Some((before, round)), true) => format!(
                "Nothing changed between {} (round {round}) and {head}.\n",
                short(before)
            ),
            (Some((before, round)), false) => format!(
                "What changed between {} (round {round}) and {head}, without what came from the \
                 default branch:\n",
                short(before)
            ),
        }
    }
}

fn short(head: &CommitSha) -> &str {
    head.as_str().get(..8).unwrap_or(head.as_str())
}

/// One file of a diff.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn counts(&self) -> (usize, usize) {
        let hunks = self.text.split_once("\n@@").map_or("", |(_, hunks)| hunks);
        let count = |sign: char| hunks.lines().filter(|line| line.starts_with(sign)).count();
        (count('+'), count('-'))
    }

    /// Its first lines, under a head that does not claim to be the whole.
    fn beginning(&self) -> String {
        let cut = self.text.floor_char_boundary(FILE_BYTES);
        let end = self.text[..cut].rfind('\n').map_or(cut, |end| end + 1);
        let rest = self.text[end..].lines().count();
        let hunks = self.text[..end]
            .split_once('\n')
            .map_or("", |(_, rest)| rest);
        format!(
            "(the beginning of {})\n{hunks}(… {rest} more lines)\n",
            self.path
        )
    }
}

/// The files of a unified diff. Lines of a file never begin like a head: each has a
/// sign before it.
fn files(diff: &str) -> Vec<File<'_>> {
    const HEAD: &str = "diff --git a/";
    let mut starts: Vec<usize> = diff
        .match_indices("\ndiff --git a/")
        .map(|(at, _)| at + 1)
        .collect();
    if diff.starts_with(HEAD) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| {
            let text = &diff[*start..end];
            let head = text.lines().next()?;
            let (_, path) = head.split_once(" b/")?;
            Some(File { path, text })
        })
        .collect()
}

/// The lines that a diff added or changed, by file, in the numbers of the new one.
pub(crate) fn changed_lines(diff: &str) -> Vec<(String, u64, u64)> {
    let mut changed = Vec::new();
    for file in files(diff) {
        let heads = file.text.lines().filter(|line| line.starts_with("@@ "));
        let ranges = heads.filter_map(|line| {
            let new = line.split('+').nth(1)?.split([' ', ',']);
            let mut numbers = new.map_while(|word| word.parse::<u64>().ok());
            let start = numbers.next()?;
            Some((start, start + numbers.next().unwrap_or(1)))
        });
        changed.extend(ranges.map(|(from, to)| (file.path.to_owned(), from, to)));
        if !file.text.contains("\n@@ ") {
            // Not text, or only moved: all of it.
            changed.push((file.path.to_owned(), 0, u64::MAX));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(path: &str, lines: usize) -> String {
        let added: String = (0..lines)
            .map(|n| format!("+line {n} of some length\n"))
            .collect();
        format!(
            "diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -3,2 +3,{} @@ fn x\n context\n-old\n{added}",
            lines + 1
        )
    }

    #[test]
    fn small_files_are_whole_long_ones_are_cut_and_the_rest_is_named() {
        let head = CommitSha::new("0123456789abcdef");
        let diff = [
            diff("a.rs", 3),
            diff("long.rs", 600),
            diff("b.rs", 200),
            diff("c.rs", 200),
            diff("d.rs", 200),
        ]
        .concat();
        let change = Change {
            head: &head,
            since: None,
            diff: &diff,
        };
        let text = change.text();
        assert!(text.len() < ALL_BYTES + 1000, "{}", text.len());
        assert!(
            text.starts_with("The whole change at 01234567:\n- a.rs +3 -1\n- long.rs +600 -1\n")
        );
        assert!(text.contains("diff --git a/a.rs b/a.rs\n"), "{text}");
        assert!(!text.contains("diff --git a/long.rs"), "{text}");
        assert!(text.contains(
            "Cut below, to be read with GitDiff(path) or Read before you judge: long.rs\n"
        ));
        assert!(
            text.contains(
                "Not shown, to be read with GitDiff(path) or Read before you judge: d.rs\n"
            )
        );
        assert!(text.contains("(the beginning of long.rs)\n"));
    }

    #[test]
    fn a_later_round_says_since_when() {
        let (before, head) = (CommitSha::new("aaaaaaaaaa"), CommitSha::new("bbbbbbbbbb"));
        let mut change = Change {
            head: &head,
            since: Some((&before, 1)),
            diff: "",
        };
        assert_eq!(
            change.text(),
            "Nothing changed between aaaaaaaa (round 1) and bbbbbbbb.\n\n"
        );
        let changed = diff("a.rs", 1);
        change.diff = &changed;
        assert!(
            change
                .text()
                .starts_with("What changed between aaaaaaaa (round 1) and bbbbbbbb,")
        );
    }

    #[test]
    fn changed_lines_are_those_of_the_new_file() {
        let diff = format!(
            "{}{}diff --git a/p.png b/p.png\nBinary files differ\n",
            diff("a.rs", 4),
            "diff --git a/b c.rs b/b c.rs\n@@ -1 +1 @@\n-x\n+y\n"
        );
        assert_eq!(
            changed_lines(&diff),
            [
                ("a.rs".to_owned(), 3, 8),
                ("b c.rs".to_owned(), 1, 2),
                ("p.png".to_owned(), 0, u64::MAX)
            ]
        );
    }
}
