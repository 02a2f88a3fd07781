//! What the team may remember, or let go: a learning, or a change to a project
//! map, a workflow, a skill or a role's text. Pure: a file's text in, its new text out.
//! Each proposal is one card; what was accepted is exactly what is written.

use butler_playbook::{FILE_BUDGET_TOKENS, Fate, Learning, Memory, MemoryError, Pruning};
use butler_policy::Scope;
use butler_protocol::{Confidence, Sha256Hex};
use serde::{Deserialize, Serialize};

/// One thing to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Below `.codebutler/`.
    pub file: String,
    /// What is done to it.
    pub change: Change,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Change {
    /// One more learning.
    Learning {
        title: String,
        when: String,
        rule: String,
        example: String,
        confidence: Confidence,
        source: String,
    },
    /// A passage replaced by another; an empty `old` adds to the project map, or
    /// as a section of its own.
    Passage {
        old: String,
        new: String,
        why: String,
    },
    /// A learning that goes.
    Pruning {
        title: String,
        reason: String,
        fate: Fate,
    },
}

impl Proposal {
    /// The hash of exactly what would be written.
    pub fn sha256(&self) -> Sha256Hex {
        Sha256Hex::of(serde_json::to_string(self).unwrap_or_default())
    }

    /// Its path in the repository.
    pub fn path(&self) -> String {
        format!(".codebutler/{}", self.file)
    }

    /// Whether it is a file that the team may write for itself.
    ///
    /// # Errors
    /// Says which files those are.
    pub fn check(&self) -> Result<(), String> {
        if Scope::Memory.allows(&self.path()) {
            return Ok(());
        }
        Err(format!(
            "`{}` is not a file of the team's memory: name global.md, workflows.md, a role's file or one under skills/",
            self.file
        ))
    }

    /// The file's text with the proposal in it. What is there already stays as
    /// it is, so that a repeat changes nothing.
    ///
    /// # Errors
    /// When the passage is not there any more, or the file may not grow.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        match &self.change {
            Change::Learning { .. } => self.learn(text),
            Change::Passage { old, new, .. } => replace(text, old, new),
            Change::Pruning {
                title,
                reason,
                fate,
            } => self.let_go(text, title, reason, *fate),
        }
    }

    /// What is gone already stays gone.
    fn let_go(&self, text: &str, title: &str, reason: &str, fate: Fate) -> Result<String, String> {
        let pruning = Pruning {
            title: title.to_owned(),
            reason: reason.to_owned(),
            fate,
        };
        match Memory::parse(&self.file, text).prune(&[pruning]) {
            Ok(memory) => Ok(memory.text().to_owned()),
            Err(MemoryError::Unknown(_)) => Ok(text.to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn learn(&self, text: &str) -> Result<String, String> {
        let Some(learning) = self.learning() else {
            return Ok(text.to_owned());
        };
        match Memory::parse(&self.file, text).add(&learning, FILE_BUDGET_TOKENS) {
            Ok(memory) => Ok(memory.text().to_owned()),
            Err(MemoryError::Taken(_)) => Ok(text.to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn learning(&self) -> Option<Learning> {
        let Change::Learning {
            title,
            when,
            rule,
            example,
            confidence,
            source,
        } = &self.change
        else {
            return None;
        };
        Some(Learning {
            title: title.clone(),
            when: when.clone(),
            rule: rule.clone(),
            example: example.clone(),
            confidence: *confidence,
            source: source.clone(),
        })
    }

    /// What the card shows: the text as it will stand in the file.
    pub fn render(&self) -> String {
        match &self.change {
            Change::Learning { .. } => {
                let block = self.learning().map(|learning| learning.render());
                format!("For `{}`\n\n{}", self.file, block.unwrap_or_default())
            }
            Change::Passage { old, new, why } => {
                let lines = |mark: &str, text: &str| -> String {
                    text.lines().map(|line| format!("{mark}{line}\n")).collect()
                };
                format!(
                    "For `{}`: {why}\n\n```diff\n{}{}```",
                    self.file,
                    lines("-", old),
                    lines("+", new)
                )
            }
            Change::Pruning {
                title,
                reason,
                fate,
            } => {
                let what = match fate {
                    Fate::Archive => "Out of the prompt, kept in the archive of the file",
                    Fate::Remove => "Out of the file",
                };
                format!(
                    "**{title}**, a learning in `{}`: {reason}.\n\n{what}.",
                    self.file
                )
            }
        }
    }

    /// One line that names it.
    pub fn title(&self) -> String {
        match &self.change {
            Change::Learning { title, .. } => format!("{title} ({})", self.file),
            Change::Passage { why, .. } => format!("{why} ({})", self.file),
            Change::Pruning { title, .. } => format!("{title} goes ({})", self.file),
        }
    }
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
mod tests {
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
        let once = learning().apply(text).unwrap();
        assert!(once.contains("### Name every caller\n- **When:** a flag is planned"));
        assert_eq!(learning().apply(&once).unwrap(), once);
    }

    #[test]
    fn a_passage_is_replaced_where_it_stands_alone() {
        let text = "## Project Map\n- a.sh: all\n";
        let change = passage("coder.md", "- a.sh: all", "- a.sh: reads\n- b.sh: writes");
        let new = change.apply(text).unwrap();
        assert_eq!(new, "## Project Map\n- a.sh: reads\n- b.sh: writes\n");
        assert_eq!(change.apply(&new).unwrap(), new);
        assert!(passage("coder.md", "gone", "x").apply(text).is_err());
        assert!(passage("coder.md", "a", "x").apply(text).is_err());
        let grown = passage("workflows.md", "", "## hotfix\n1. fix")
            .apply(text)
            .unwrap();
        assert!(
            grown.ends_with("- a.sh: all\n\n## hotfix\n1. fix\n"),
            "{grown}"
        );
        // Nothing that was accepted lands where no prompt reads it.
        let file = "# Coder\n\n## Project Map\n\n## Learnings\n\n## Archived Learnings\nold\n";
        let map = passage("coder.md", "", "- a.sh: all").apply(file).unwrap();
        let expected = "# Coder\n\n## Project Map\n\n- a.sh: all\n\n## Learnings\n\n## Archived Learnings\nold\n";
        assert_eq!(map, expected);
        let map = passage("coder.md", "", "- b.sh: more").apply(&map).unwrap();
        assert!(
            map.contains("- a.sh: all\n- b.sh: more\n\n## Learnings"),
            "{map}"
        );
        let rules = passage("coder.md", "", "## Tabs\nAlways.")
            .apply(file)
            .unwrap();
        assert!(
            rules.ends_with("## Tabs\nAlways.\n\n## Archived Learnings\nold\n"),
            "{rules}"
        );
        assert_eq!(
            passage("coder.md", "", "- a.sh: all").apply(&map).unwrap(),
            map
        );
        let bare = passage("x.md", "", "new")
            .apply("## Archived Learnings\nnew\n")
            .unwrap();
        assert_eq!(bare, "new\n\n## Archived Learnings\nnew\n");
        let first = passage("JOURNEY.md", "", "## Today\nDone.").apply("");
        assert_eq!(first.as_deref(), Ok("## Today\nDone.\n"));
    }

    #[test]
    fn a_learning_goes_once_and_leaves_its_reason_in_the_archive() {
        let text = "# Coder\n\n## Learnings\n\n## Archived Learnings\n";
        let grown = learning().apply(text).unwrap();
        let goes = |fate| Proposal {
            file: "coder.md".into(),
            change: Change::Pruning {
                title: "Name every caller".into(),
                reason: "it is about a.sh, which is gone".into(),
                fate,
            },
        };
        let archived = goes(Fate::Archive).apply(&grown).unwrap();
        let (live, archive) = archived.split_once("## Archived Learnings").unwrap();
        assert!(!live.contains("Name every caller"), "{archived}");
        assert!(
            archive.contains("Name every caller") && archive.contains("a.sh, which is gone"),
            "{archived}"
        );
        assert_eq!(goes(Fate::Archive).apply(&archived).unwrap(), archived);
        let removed = goes(Fate::Remove).apply(&grown).unwrap();
        assert!(!removed.contains("Name every caller"), "{removed}");
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
            assert!(passage(file, "", "x").check().is_err(), "{file}");
        }
        for file in ["global.md", "coder.md", "workflows.md", "skills/x.md"] {
            assert!(passage(file, "", "x").check().is_ok(), "{file}");
        }
    }
}
