//! The system prompt of a role: its file, the team's file, the workflows where
//! they matter, the repo's own rules. Fixed order, no clock, nothing about the
//! thread: what changes from thread to thread arrives as a message.

pub(crate) mod overview;
pub(crate) mod small;
pub(crate) mod tokens;

use butler_protocol::Role;

use crate::{
    Skill, Trigger,
    markdown::{outline::sections, section::without_section},
    memory::relevance,
    parse_workflows,
};

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

/// What a prompt may have besides its sources.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// How much room there is.
    pub profile: Profile,
    /// The team's skills; the PM gets their index.
    pub skills: &'a [Skill],
    /// What the thread is about: decides which learnings are given whole when
    /// there are too many.
    pub task: &'a str,
}

/// How large a prompt may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// For models with a usual window.
    #[default]
    Full,
    /// For local models: at most [`SMALL_TOKENS`].
    Small,
}

/// The assembled prompt.
#[must_use]
pub fn prompt(role: Role, sources: &Sources) -> String {
    prompt_with(role, sources, &Extras::default())
}

/// The assembled prompt, with skills and for a profile.
#[must_use]
pub fn prompt_with(role: Role, sources: &Sources, extras: &Extras<'_>) -> String {
    let mut role_text = live(&sources.role);
    let mut global = live(&sources.global);
    relevance::choose([&mut role_text, &mut global], extras.task);
    let rules = sources.rules.as_ref().map(repo_rules).unwrap_or_default();
    if extras.profile == Profile::Small {
        let workflows = if plans_the_process(role) {
            workflow_names(&sources.workflows)
        } else {
            String::new()
        };
        return small::assemble(&role_text, &global, &workflows, &rules);
    }
    let mut parts = vec![role_text, global];
    if plans_the_process(role) {
        parts.push(live(&sources.workflows));
    }
    if role == Role::Pm {
        parts.push(skill_index(extras.skills));
    }
    parts.push(rules);
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n---\n\n")
}

/// The skills as the PM chooses from them.
#[must_use]
pub fn skill_index(skills: &[Skill]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text = "# Skills\n\nCommands this team keeps. One that is said word for word is started for you; when a request means one in other words, read its file under `.codebutler/skills/` and follow its prompt, or hand that prompt to its agent.\n".to_owned();
    for skill in skills {
        let triggers: Vec<_> = skill.triggers.iter().map(Trigger::text).collect();
        text.push_str(&format!(
            "\n- {} ({}): {} Said as: {}",
            skill.name,
            skill.agent,
            skill.description,
            triggers.join(", ")
        ));
        if let Some(folder) = &skill.folder {
            text.push_str(&format!(". In: {folder}/SKILL.md"));
        }
    }
    text
}

/// PM and Lead choose and evolve workflows; for the others they are noise.
fn plans_the_process(role: Role) -> bool {
    matches!(role, Role::Pm | Role::Lead)
}

fn workflow_names(text: &str) -> String {
    let (workflows, _) = parse_workflows("workflows.md", &live(text));
    let mut list = "## Workflows\n".to_owned();
    for workflow in &workflows {
        list.push_str(&format!("\n- {}: {}", workflow.name, workflow.description));
    }
    list
}

/// A file as it enters a prompt: without the archive and without sections that
/// nobody has filled yet.
fn live(text: &str) -> String {
    let text = without_section(text, "## Archived Learnings");
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for section in sections(&text) {
        if section.level == 2 && text[section.body.clone()].trim().is_empty() {
            out.push_str(&text[from..section.range.start]);
            from = section.range.end;
        }
    }
    out.push_str(&text[from..]);
    out.trim().to_owned()
}

fn repo_rules(rules: &RepoRules) -> String {
    let cut = rules.text.floor_char_boundary(RULES_CAP_BYTES);
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
