//! The system prompt of a role: its file, the team's file, the index of workflows
//! and skills where they are chosen, the repo's own rules. Fixed order, no clock, nothing about the
//! thread: what changes from thread to thread arrives as a message.

pub(crate) mod lacking;
pub(crate) mod overview;
pub(crate) mod small;
pub(crate) mod tokens;

use butler_policy::{small_tools, tools_with_rights};
use butler_protocol::Role;

use crate::{
    Memory, Skill,
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
    pub name: String,
    pub text: String,
}

/// What a prompt may have besides its sources.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    pub profile: Profile,
    /// The team's skills; the PM gets their index.
    pub skills: &'a [Skill],
    /// What the thread is about: decides which learnings are given whole when
    /// there are too many.
    pub task: &'a str,
    /// Ids of learnings that this thread does without, for a trial.
    pub left_out: &'a [String],
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
pub fn prompt(role: Role, sources: &Sources) -> String {
    prompt_with(role, sources, &Extras::default())
}

/// The assembled prompt, with skills and for a profile.
pub fn prompt_with(role: Role, sources: &Sources, extras: &Extras<'_>) -> String {
    let given = |text: &str| match extras.left_out {
        [] => live(text),
        out => {
            let memory = Memory::parse("", live(text)).leaving_out(out);
            memory.text().to_owned()
        }
    };
    let mut role_text = given(&sources.role);
    let mut global = given(&sources.global);
    relevance::choose([&mut role_text, &mut global], extras.task);
    let rules = sources.rules.as_ref().map(repo_rules).unwrap_or_default();
    let workflows = live(&sources.workflows);
    let index = index(role, extras.profile, &workflows, extras.skills);
    if extras.profile == Profile::Small {
        let told = |text: &str| lacking::without_tools(text, &lacking(role));
        return small::assemble(&told(&role_text), &told(&global), &index, &rules);
    }
    let mut parts = vec![role_text, global, index];
    parts.push(rules);
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n---\n\n")
}

/// The tools that somebody has and a small model of this role has not.
fn lacking(role: Role) -> Vec<&'static str> {
    let own = small_tools(role);
    let others = tools_with_rights().filter(|tool| !own.contains(tool));
    others.collect()
}

/// What there is to choose from, for those who choose: the PM starts workflows and
/// skills by their names, the Lead keeps the workflows. For the others they are
/// noise. The steps come with `Start`, or with the words that name one.
fn index(role: Role, profile: Profile, workflows: &str, skills: &[Skill]) -> String {
    let mut text = match role {
        Role::Pm | Role::Lead => around_workflows(workflows),
        _ => return String::new(),
    };
    let (known, _) = parse_workflows("workflows.md", workflows);
    let skills = if role == Role::Pm { skills } else { &[] };
    if known.is_empty() && skills.is_empty() {
        return text.trim_end().to_owned();
    }
    let needed = |skill: &Skill| match skill.needs().as_slice() {
        [] => skill.name.clone(),
        needs => format!("{} ({})", skill.name, needs.join(", ")),
    };
    if profile == Profile::Small {
        let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
        text.push_str(&format!("\nWorkflows: {}.", names.join(", ")));
        let names: Vec<String> = skills.iter().map(needed).collect();
        if !names.is_empty() {
            text.push_str(&format!("\nSkills (what they need): {}.", names.join(", ")));
        }
        return text;
    }
    for workflow in &known {
        text.push_str(&format!("\n- {}: {}", workflow.name, workflow.description));
    }
    if !skills.is_empty() {
        text.push_str("\n\nSkills, with the values that they need:\n");
    }
    for skill in skills {
        text.push_str(&format!("\n- {}: {}", needed(skill), skill.description));
    }
    text
}

/// What a team says about its workflows as a whole: before them, and what it
/// learned about its own process.
fn around_workflows(text: &str) -> String {
    let all = sections(text);
    let mut second = all.iter().filter(|section| section.level == 2);
    let first = second.clone().next();
    let before = &text[..first.map_or(text.len(), |section| section.range.start)];
    let learned = second.find(|section| section.title == "Learnings");
    let learned = learned.map_or("", |section| &text[section.range.clone()]);
    let parts = [before.trim(), learned.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = parts.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
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
            let chooses = matches!(role, Role::Pm | Role::Lead);
            assert_eq!(text.contains("# Workflows"), chooses);
            assert!(
                !text.contains("Triggers:"),
                "the steps come when they are asked for"
            );
        }
    }

    #[test]
    fn what_a_team_says_of_its_process_stays_and_the_steps_do_not() {
        let mut sources = shipped(Role::Lead);
        sources.workflows = "# Workflows\n\nShip on Fridays.\n\n## spike\n\nTry it.\nTriggers: try {x}\n\n1. PM: tries.\n\n## Learnings\n\n### Ask early\nx\n".to_owned();
        let text = prompt(Role::Lead, &sources);
        for kept in ["Ship on Fridays.", "### Ask early", "\n- spike: Try it."] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        assert!(!text.contains("PM: tries."), "{text}");
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
