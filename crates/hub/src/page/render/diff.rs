//! Unified diffs to HTML: the lines of one, and a whole change file by file
//! with line numbers. Pure; every character of the diff is escaped.

use maud::{Markup, html};

use crate::page::render::code;

/// The most lines of one file that are drawn; the rest is counted and said.
const FILE_LINES: usize = 3_000;

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

/// A whole change, file by file, each one folded into its heading.
pub(crate) fn change(diff: &str) -> Markup {
    let files = files(diff);
    html! {
        @for (index, file) in files.iter().enumerate() {
            details.filediff open[files.len() <= 8] #{ "file" (index) } {
                summary {
                    code { (file.path) }
                    span.counts {
                        span.plus { "+" (file.added) } " " span.minus { "−" (file.removed) }
                    }
                }
                (table(file))
            }
        }
    }
}

/// A line of the table, with its numbers in the old and the new file.
struct Row<'a> {
    class: &'static str,
    old: Option<u64>,
    new: Option<u64>,
    mark: &'static str,
    text: &'a str,
}

fn rows<'a>(lines: &[&'a str]) -> Vec<Row<'a>> {
    let (mut old, mut new) = (0, 0);
    let count = |number: &mut u64| {
        *number += 1;
        Some(*number - 1)
    };
    lines
        .iter()
        .take(FILE_LINES)
        .map(|line| {
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
        })
        .collect()
}

fn table(file: &FileChange<'_>) -> Markup {
    let language = code::language_of(file.path);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Changes in " (file.path) } {
            table.diff {
                tbody {
                    @for row in rows(&file.lines) {
                        tr class=(row.class) {
                            @if row.class == "hunk" {
                                td colspan="3" { (row.text) }
                            } @else {
                                td.no { @if let Some(old) = row.old { (old) } }
                                td.no { @if let Some(new) = row.new { (new) } }
                                td { (marked(row.mark, row.text, language)) }
                            }
                        }
                    }
                }
            }
            @if file.lines.len() > FILE_LINES {
                p.soft { (file.lines.len() - FILE_LINES) " more lines are not shown here." }
            }
        }
    }
}

fn marked(mark: &str, line: &str, language: &str) -> Markup {
    html! { span.mark { (mark) } (code::highlight(line, language)) }
}

/// `@@ -12,3 +15,4 @@`: the first old and new line.
fn starts_of(hunk: &str) -> (u64, u64) {
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
    fn lines_have_their_numbers_and_no_markup_of_their_own() {
        let html = change(DIFF).into_string();
        assert!(
            html.contains("<td class=\"no\">4</td><td class=\"no\"></td>"),
            "{html}"
        );
        assert!(
            html.contains("&lt;b&gt;") && !html.contains("<b>"),
            "{html}"
        );
        assert!(html.contains("Binary files differ"), "{html}");
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
            let _ = change(odd).into_string();
            let _ = lines(odd).into_string();
        }
        assert_eq!(starts_of("@@ -12,3 +15 @@"), (12, 15));
    }
}
