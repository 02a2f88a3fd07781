//! What the team may remember, or let go: a learning, or a change to a project
//! map, a workflow, a skill or a role's text. Pure: a file's text in, its new text out.
//! Each proposal is one card; what was accepted is exactly what is written.

use butler_playbook::{FILE_BUDGET_TOKENS, Learning, Memory, MemoryError, Pruning, validate};
use butler_policy::Scope;
use butler_protocol::{Change, Proposal};

/// Whether it is a file that the team may write for itself.
///
/// # Errors
/// Says which files those are.
pub(crate) fn check(proposal: &Proposal) -> Result<(), String> {
    if Scope::Memory.allows(&proposal.path()) {
        return Ok(());
    }
    Err(format!(
        "`{}` is not a file of the team's memory: name global.md, workflows.md, a role's file or one under skills/",
        proposal.file
    ))
}

/// The file's text with the proposal in it. What is there already stays as it is,
/// and what is gone already stays gone, so that a repeat changes nothing.
///
/// # Errors
/// When the passage is not there any more, or the file may not grow.
pub(crate) fn apply(proposal: &Proposal, text: &str) -> Result<String, String> {
    let memory = Memory::parse(&proposal.file, text);
    let changed = match proposal.change.clone() {
        Change::Passage { old, new, .. } => return replace(text, &old, &new),
        Change::Learning {
            title,
            when,
            rule,
            example,
            confidence,
            source,
        } => {
            let learning = Learning {
                title,
                when,
                rule,
                example,
                confidence,
                source,
            };
            added(&memory, learning)
        }
        Change::Pruning {
            title,
            reason,
            fate,
        } => memory.prune(&[Pruning {
            title,
            reason,
            fate,
        }]),
    };
    match changed {
        Ok(memory) => Ok(memory.text().to_owned()),
        Err(MemoryError::Taken(_) | MemoryError::Unknown(_)) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The memory with a learning. One of the same title that says something else stays:
/// both were accepted.
fn added(memory: &Memory, mut learning: Learning) -> Result<Memory, MemoryError> {
    let title = learning.title.clone();
    for number in 2_u32.. {
        match memory.add(&learning, FILE_BUDGET_TOKENS) {
            Err(MemoryError::Taken(_)) if !memory.says(&learning) => {
                learning.title = format!("{title} ({number})");
            }
            made => return made,
        }
    }
    Err(MemoryError::Taken(title))
}

/// What is wrong with a file after a change and was not before: what `codebutler
/// validate` would say, and the headings that code looks for.
pub(crate) fn made_worse(file: &str, before: &str, after: &str) -> Vec<String> {
    let found = |text: &str| -> Vec<String> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let problems = validate(&[(file.to_owned(), text.to_owned())]);
        problems.into_iter().map(|one| one.what).collect()
    };
    let known = found(before);
    let mut worse = found(after);
    worse.retain(|what| !known.contains(what));
    let heading = |text: &str, name: &str| sections(text).iter().any(|(_, own)| *own == name);
    for name in [MAP, "## Learnings", "## Working With Other Roles", ARCHIVE] {
        if heading(before, name) && !heading(after, name) {
            worse.push(format!("it loses `{name}`"));
        }
    }
    worse
}

/// Where what was learned goes when it leaves the prompt.
const ARCHIVE: &str = "## Archived Learnings";
/// Where a passage without a place belongs.
const MAP: &str = "## Project Map";

/// The sections of a file: where each begins, and its heading.
fn sections(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut at, mut fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && line.starts_with("## ") {
            found.push((at, line.trim_end()));
        }
        at += line.len();
    }
    found
}

/// Adds a passage that replaces nothing: a section of its own at the end of what
/// enters a prompt, anything else to the project map where there is one.
fn add(text: &str, new: &str) -> String {
    let sections = sections(text);
    let archive = sections.iter().find(|(_, heading)| *heading == ARCHIVE);
    let end = archive.map_or(text.len(), |(at, _)| *at);
    if text[..end].contains(new) {
        return text.to_owned();
    }
    let is_section = new.trim_start().starts_with('#');
    let map = sections.iter().position(|(_, heading)| *heading == MAP);
    let at = match map.filter(|_| !is_section) {
        Some(map) => sections.get(map + 1).map_or(text.len(), |(at, _)| *at),
        None => end,
    };
    let (before, after) = (text[..at].trim_end(), &text[at..]);
    let last = before.lines().last().unwrap_or_default();
    let gap = match before {
        "" => "",
        _ if last.starts_with("- ") && new.starts_with("- ") => "\n",
        _ => "\n\n",
    };
    let end = if after.is_empty() { "\n" } else { "\n\n" };
    format!("{before}{gap}{}{end}{after}", new.trim_end())
}

fn replace(text: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Ok(add(text, new));
    }
    match text.matches(old).count() {
        1 => Ok(text.replacen(old, new, 1)),
        0 if !new.is_empty() && text.contains(new) => Ok(text.to_owned()),
        0 => Err("the passage to replace is not in the file".to_owned()),
        more => Err(format!(
            "the passage to replace is in the file {more} times; add a line around it"
        )),
    }
}

#[cfg(test)]
#[path = "learnings_properties.rs"]
mod properties;

#[cfg(test)]
mod tests {
    use butler_protocol::{Confidence, Fate};

    use super::*;

    fn learning() -> Proposal {
        Proposal {
            file: "coder.md".into(),
            change: Change::Learning {
                title: "Name every caller".into(),
                when: "a flag is planned".into(),
                rule: "list the callers".into(),
                example: "thread-1".into(),
                confidence: Confidence::Medium,
                source: "thread-1, 2026-01-02".into(),
            },
        }
    }

    fn passage(file: &str, old: &str, new: &str) -> Proposal {
        Proposal {
            file: file.into(),
            change: Change::Passage {
                old: old.into(),
                new: new.into(),
                why: "it is so".into(),
            },
        }
    }

    #[test]
    fn a_learning_is_written_once_however_often_it_is_applied() {
        let text = "# Coder\n\n## Learnings\n\n## Archived Learnings\n";
        let once = apply(&learning(), text).unwrap();
        assert!(once.contains("### Name every caller\n- **When:** a flag is planned"));
        assert_eq!(apply(&learning(), &once).unwrap(), once);
    }

    #[test]
    fn a_passage_is_replaced_where_it_stands_alone() {
        let text = "## Project Map\n- a.sh: all\n";
        let change = passage("coder.md", "- a.sh: all", "- a.sh: reads\n- b.sh: writes");
        let new = apply(&change, text).unwrap();
        assert_eq!(new, "## Project Map\n- a.sh: reads\n- b.sh: writes\n");
        assert_eq!(apply(&change, &new).unwrap(), new);
        assert!(apply(&passage("coder.md", "gone", "x"), text).is_err());
        assert!(apply(&passage("coder.md", "a", "x"), text).is_err());
        let grown = apply(&passage("workflows.md", "", "## hotfix\n1. fix"), text).unwrap();
        assert!(
            grown.ends_with("- a.sh: all\n\n## hotfix\n1. fix\n"),
            "{grown}"
        );
        // Nothing that was accepted lands where no prompt reads it.
        let file = "# Coder\n\n## Project Map\n\n## Learnings\n\n## Archived Learnings\nold\n";
        let map = apply(&passage("coder.md", "", "- a.sh: all"), file).unwrap();
        let expected = "# Coder\n\n## Project Map\n\n- a.sh: all\n\n## Learnings\n\n## Archived Learnings\nold\n";
        assert_eq!(map, expected);
        let map = apply(&passage("coder.md", "", "- b.sh: more"), &map).unwrap();
        assert!(
            map.contains("- a.sh: all\n- b.sh: more\n\n## Learnings"),
            "{map}"
        );
        let rules = apply(&passage("coder.md", "", "## Tabs\nAlways."), file).unwrap();
        assert!(
            rules.ends_with("## Tabs\nAlways.\n\n## Archived Learnings\nold\n"),
            "{rules}"
        );
        assert_eq!(
            apply(&passage("coder.md", "", "- a.sh: all"), &map).unwrap(),
            map
        );
        let bare = apply(&passage("x.md", "", "new"), "## Archived Learnings\nnew\n").unwrap();
        assert_eq!(bare, "new\n\n## Archived Learnings\nnew\n");
        let first = apply(&passage("JOURNEY.md", "", "## Today\nDone."), "");
        assert_eq!(first.as_deref(), Ok("## Today\nDone.\n"));
    }

    #[test]
    fn a_learning_goes_once_and_leaves_its_reason_in_the_archive() {
        let text = "# Coder\n\n## Learnings\n\n## Archived Learnings\n";
        let grown = apply(&learning(), text).unwrap();
        let goes = |fate| Proposal {
            file: "coder.md".into(),
            change: Change::Pruning {
                title: "Name every caller".into(),
                reason: "it is about a.sh, which is gone".into(),
                fate,
            },
        };
        let archived = apply(&goes(Fate::Archive), &grown).unwrap();
        let (live, archive) = archived.split_once("## Archived Learnings").unwrap();
        assert!(!live.contains("Name every caller"), "{archived}");
        assert!(
            archive.contains("Name every caller") && archive.contains("a.sh, which is gone"),
            "{archived}"
        );
        assert_eq!(apply(&goes(Fate::Archive), &archived).unwrap(), archived);
        let removed = apply(&goes(Fate::Remove), &grown).unwrap();
        assert!(!removed.contains("Name every caller"), "{removed}");
    }

    #[test]
    fn a_change_that_breaks_a_file_is_seen_before_anybody_reads_it() {
        let flows = "# Workflows\n\n## implement\n\nNew.\n\n1. PM: plan.\n";
        let twice = apply(
            &passage("workflows.md", "", "## implement\n\nAgain."),
            flows,
        )
        .unwrap();
        let worse = made_worse("workflows.md", flows, &twice);
        assert!(worse[0].contains("is there twice"), "{worse:?}");
        let role = "# Coder\n\n## Learnings\n\n## Archived Learnings\n";
        let gone = apply(&passage("coder.md", "## Learnings\n\n", "x\n"), role).unwrap();
        assert_eq!(
            made_worse("coder.md", role, &gone),
            ["it loses `## Learnings`"]
        );
        let skill = "# a\n\nx\n\n## Trigger\na\n\n## Agent\npm\n";
        let new = made_worse("skills/a.md", "", skill);
        assert!(
            new.contains(&"missing ## Prompt section".to_owned()),
            "{new:?}"
        );
        // What was wrong before is nobody's doing now.
        assert_eq!(
            made_worse("skills/a.md", skill, skill),
            Vec::<String>::new()
        );
    }

    #[test]
    fn rules_and_code_are_not_memory() {
        for file in [
            "config.json",
            "policy.json",
            "../src/main.rs",
            "mcp.json",
            "threads/x.md",
        ] {
            assert!(check(&passage(file, "", "x")).is_err(), "{file}");
        }
        for file in ["global.md", "coder.md", "workflows.md", "skills/x.md"] {
            assert!(check(&passage(file, "", "x")).is_ok(), "{file}");
        }
    }
}
