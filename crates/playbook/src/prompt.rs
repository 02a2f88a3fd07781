//! The system prompt of a role: its file, the team's file, the workflows where
//! they matter, the repo's own rules. Fixed order, no clock, nothing about the
//! thread: what changes from thread to thread arrives as a message.

use butler_vocab::Role;

use crate::section::without_section;

/// More of a repo's rule file than this does not enter the prompt.
const RULES_CAP_BYTES: usize = 8 * 1024;

/// The texts a prompt is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// `<role>.md`.
    pub role: String,
    /// `global.md`.
    pub global: String,
    /// `workflows.md`.
    pub workflows: String,
    /// `AGENTS.md` or `CLAUDE.md` of the default branch.
    pub rules: Option<RepoRules>,
}

/// A rule file that the repo brought along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoRules {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The assembled prompt.
#[must_use]
pub fn prompt(role: Role, sources: &Sources) -> String {
    let mut parts = vec![live(&sources.role), live(&sources.global)];
    if plans_the_process(role) {
        parts.push(live(&sources.workflows));
    }
    if let Some(rules) = &sources.rules {
        parts.push(repo_rules(rules));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n---\n\n")
}

/// PM and Lead choose and evolve workflows; for the others they are noise.
fn plans_the_process(role: Role) -> bool {
    matches!(role, Role::Pm | Role::Lead)
}

fn live(text: &str) -> String {
    without_section(text, "## Archived Learnings")
        .trim()
        .to_owned()
}

fn repo_rules(rules: &RepoRules) -> String {
    let cut = floor_char_boundary(&rules.text, RULES_CAP_BYTES);
    let mut text = format!(
        "# What this repository says about itself ({})\n\n{}",
        rules.name,
        rules.text[..cut].trim()
    );
    if cut < rules.text.len() {
        text.push_str(&format!("\n\n(cut here; read {} for the rest)", rules.name));
    }
    text
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builtin_files, role_file};

    fn shipped(role: Role) -> Sources {
        let text = |name: &str| {
            builtin_files()
                .iter()
                .find(|file| file.name == name)
                .map(|file| file.text.to_owned())
                .unwrap()
        };
        Sources {
            role: role_file(role).text.to_owned(),
            global: text("global.md"),
            workflows: text("workflows.md"),
            rules: None,
        }
    }

    #[test]
    fn the_same_sources_give_the_same_bytes_without_the_archive() {
        for role in Role::ALL {
            let text = prompt(role, &shipped(role));
            assert_eq!(text, prompt(role, &shipped(role)));
            assert!(!text.contains("Archived Learnings"));
            assert_eq!(text.contains("# Workflows"), plans_the_process(role));
        }
    }

    #[test]
    fn a_prompt_leaves_room_for_tools_in_eight_thousand_tokens() {
        for role in Role::ALL {
            let bytes = prompt(role, &shipped(role)).len();
            assert!(bytes < 4 * 4000, "{role}: {bytes} bytes");
        }
    }

    #[test]
    fn rules_of_the_repo_are_capped_and_say_so() {
        let mut sources = shipped(Role::Coder);
        sources.rules = Some(RepoRules {
            name: "AGENTS.md".into(),
            text: "é".repeat(RULES_CAP_BYTES),
        });
        let text = prompt(Role::Coder, &sources);
        assert!(text.ends_with("(cut here; read AGENTS.md for the rest)"));
    }
}
