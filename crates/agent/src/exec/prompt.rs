//! What the model is told about itself: the role's own text, what the folder
//! says, and what is different without a team.

use butler_playbook::{Extras, Profile, RepoRules, Sources, builtin_files, prompt_with, role_file};
use butler_protocol::Role;

const ALONE: &str = include_str!("alone.md");

/// Texts that the folder brings along; what is missing is taken as shipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecFiles {
    /// `.codebutler/<role>.md`.
    pub role: Option<String>,
    /// `.codebutler/global.md`.
    pub global: Option<String>,
    /// `AGENTS.md` or the like, by name.
    pub rules: Option<(String, String)>,
}

/// The whole prompt.
pub(super) fn assemble(role: Role, files: &ExecFiles, profile: Profile) -> String {
    let shipped = |name: &str| {
        let mut files = builtin_files().iter();
        files
            .find(|file| file.name == name)
            .map_or("", |file| file.text)
    };
    let sources = Sources {
        role: files
            .role
            .clone()
            .unwrap_or_else(|| role_file(role).text.to_owned()),
        global: files
            .global
            .clone()
            .unwrap_or_else(|| shipped("global.md").to_owned()),
        workflows: String::new(),
        rules: files
            .rules
            .clone()
            .map(|(name, text)| RepoRules { name, text }),
    };
    let extras = Extras {
        left_out: &[],
        profile,
        ..Extras::default()
    };
    let text = prompt_with(role, &sources, &extras);
    format!("{text}\n\n---\n\n{}", ALONE.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_that_there_is_no_team_and_the_folders_own_rules_are_in() {
        let files = ExecFiles {
            rules: Some(("AGENTS.md".into(), "Tabs, please.".into())),
            ..ExecFiles::default()
        };
        for role in Role::ALL {
            let text = assemble(role, &files, Profile::Full);
            assert!(text.contains("Tabs, please."));
            let alone = text.rfind("# You work alone here");
            assert!(alone > text.rfind("Tabs, please."), "{role}");
        }
    }
}
