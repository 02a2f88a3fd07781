//! A new release brings better role texts; the team has made the old ones its
//! own. This puts the two together: what only the release changed is taken, what
//! only the team changed stays, and where both did, a person decides.
//!
//! With the text that was shipped when the file was made (or last updated) that
//! is a merge of three texts, line by line. Without it nobody can tell who
//! changed what, so every section that differs is a question.

use similar::{MergeResolution, TextDiff, TextMerge};

use crate::markdown::outline::{Section, sections};

/// Sections that a team fills; a release never has anything to say there.
const OWN: [&str; 4] = [
    "Project Map",
    "Learnings",
    "Research Index",
    "Archived Learnings",
];

/// Whose text to take where both sides changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Nobody's: say where.
    Nothing,
    /// The team's.
    Ours,
    /// The release's.
    Shipped,
}

/// A file brought up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The file. With open conflicts it has the team's words there.
    pub text: String,
    /// Places that need a decision, and got none.
    pub conflicts: Vec<Conflict>,
}

/// A place that both sides changed, or may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The line in the team's file, from 1.
    pub line: usize,
    /// What the team has there.
    pub ours: String,
    /// What is shipped now.
    pub shipped: String,
}

/// Brings a team's file up to date. `base` is the text that was shipped when the
/// file was made or last updated, when it is known.
pub fn update(base: Option<&str>, ours: &str, shipped: &str, take: Take) -> Updated {
    match base {
        Some(base) => three_way(base, ours, shipped, take),
        None => by_section(ours, shipped, take),
    }
}

/// The changes from one text to another, as `diff -u` shows them.
pub fn diff(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let (before, after) = (format!("{name} (yours)"), format!("{name} (shipped)"));
    unified.header(&before, &after).to_string()
}

fn three_way(base: &str, ours: &str, shipped: &str, take: Take) -> Updated {
    let merge = TextMerge::from_lines(base, ours, shipped);
    let mut text = String::with_capacity(ours.len().max(shipped.len()));
    let mut conflicts = Vec::new();
    for region in merge.regions() {
        let theirs = region.theirs_range().filter_map(|at| merge.theirs_line(at));
        let theirs: String = theirs.collect();
        let mine = region.ours_range().filter_map(|at| merge.ours_line(at));
        let mine: String = mine.collect();
        match (region.resolution(), take) {
            (MergeResolution::Theirs, _) | (MergeResolution::Conflict, Take::Shipped) => {
                push(&mut text, &theirs);
            }
            (MergeResolution::Conflict, Take::Nothing) => {
                conflicts.push(Conflict {
                    line: region.ours_range().start + 1,
                    ours: mine.clone(),
                    shipped: theirs,
                });
                push(&mut text, &mine);
            }
            _ => push(&mut text, &mine),
        }
    }
    Updated { text, conflicts }
}

/// A last line without its end must not swallow the next.
fn push(text: &mut String, lines: &str) {
    if !text.is_empty() && !text.ends_with(['\n', '\r']) && !lines.is_empty() {
        text.push('\n');
    }
    text.push_str(lines);
}

fn by_section(ours: &str, shipped: &str, take: Take) -> Updated {
    let theirs = parts(shipped);
    let mut text = String::with_capacity(ours.len());
    let mut conflicts = Vec::new();
    let mine = parts(ours);
    for part in &mine {
        let other = theirs.iter().find(|other| other.title == part.title);
        let same = other.is_none_or(|other| other.text.trim() == part.text.trim());
        let keep = same || OWN.contains(&part.title) || take == Take::Ours;
        let Some(other) = other.filter(|_| !keep) else {
            push(&mut text, part.text);
            continue;
        };
        if take == Take::Shipped {
            push(&mut text, other.text);
            continue;
        }
        conflicts.push(Conflict {
            line: part.line,
            ours: part.text.to_owned(),
            shipped: other.text.to_owned(),
        });
        push(&mut text, part.text);
    }
    for part in theirs {
        if mine.iter().any(|own| own.title == part.title) || take == Take::Ours {
            continue;
        }
        // The team may have thrown it out on purpose.
        if take == Take::Shipped {
            push(&mut text, part.text);
        } else {
            conflicts.push(Conflict {
                line: ours.lines().count().max(1),
                ours: String::new(),
                shipped: part.text.to_owned(),
            });
        }
    }
    Updated { text, conflicts }
}

struct Part<'a> {
    title: &'a str,
    line: usize,
    text: &'a str,
}

/// What is before the first level-two heading, and each section of level two.
fn parts(text: &str) -> Vec<Part<'_>> {
    let all = sections(text);
    let second: Vec<&Section<'_>> = all.iter().filter(|section| section.level == 2).collect();
    let starts_at = |index: usize| {
        let section = second.get(index);
        section.map_or(text.len(), |section| section.range.start)
    };
    let mut parts = vec![Part {
        title: "",
        line: 1,
        text: &text[..starts_at(0)],
    }];
    parts.extend(second.iter().enumerate().map(|(index, section)| Part {
        title: section.title,
        line: section.line,
        text: &text[starts_at(index)..starts_at(index + 1)],
    }));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str =
        "# Coder\n\nBuild.\n\n## Rules\n\n- one\n- two\n\n## Output\n\nA text.\n\n## Learnings\n";

    #[test]
    fn what_one_side_changed_is_taken_from_it() {
        let ours = BASE.replace("Build.", "Build with care.") + "\n### Ours\n- **Rule:** x\n";
        let shipped = BASE
            .replace("A text.", "A better text.")
            .replace("- two\n", "- two\n- three\n");
        let updated = update(Some(BASE), &ours, &shipped, Take::Nothing);
        assert_eq!(updated.conflicts, []);
        for kept in ["Build with care.", "A better text.", "- three", "### Ours"] {
            assert!(updated.text.contains(kept), "{kept}:\n{}", updated.text);
        }
        let again = update(Some(&shipped), &updated.text, &shipped, Take::Nothing);
        assert_eq!(again.text, updated.text, "a second update changes nothing");
    }

    #[test]
    fn what_both_changed_is_left_until_somebody_decides() {
        let ours = BASE.replace("- two", "- our two");
        let shipped = BASE
            .replace("- two", "- their two")
            .replace("A text.", "A better text.");
        let open = update(Some(BASE), &ours, &shipped, Take::Nothing);
        let expected = Conflict {
            line: 8,
            ours: "- our two\n".into(),
            shipped: "- their two\n".into(),
        };
        assert_eq!(open.conflicts, [expected]);
        assert!(open.text.contains("- our two") && open.text.contains("A better text."));
        let ours_kept = update(Some(BASE), &ours, &shipped, Take::Ours);
        assert_eq!((ours_kept.text, ours_kept.conflicts), (open.text, vec![]));
        let taken = update(Some(BASE), &ours, &shipped, Take::Shipped);
        assert_eq!(taken.text, shipped);
    }

    #[test]
    fn without_a_base_every_section_that_differs_is_a_question() {
        let ours = BASE.replace("- two", "- our two") + "\n### Ours\nx\n\n## Extra\n\nmine\n";
        let shipped = BASE.replace("A text.", "A better text.") + "\n## New\n\ntheirs\n";
        let open = update(None, &ours, &shipped, Take::Nothing);
        assert_eq!(open.text, ours);
        let lines: Vec<_> = open
            .conflicts
            .iter()
            .map(|conflict| conflict.line)
            .collect();
        assert_eq!(lines, [5, 10, 21], "{:?}", open.conflicts);
        let taken = update(None, &ours, &shipped, Take::Shipped).text;
        for kept in [
            "- two\n",
            "A better text.",
            "### Ours",
            "## Extra",
            "## New",
        ] {
            assert!(taken.contains(kept), "{kept}:\n{taken}");
        }
        assert_eq!(update(None, &ours, &shipped, Take::Ours).text, ours);
    }

    #[test]
    fn a_diff_names_both_sides() {
        let text = diff("coder.md", "a\nb\n", "a\nc\n");
        assert!(
            text.starts_with("--- coder.md (yours)\n+++ coder.md (shipped)\n"),
            "{text}"
        );
        assert!(text.contains("\n-b\n+c\n"));
        assert_eq!(diff("coder.md", "a\n", "a\n"), "");
    }
}
