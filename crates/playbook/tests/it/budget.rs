//! How much of a window the shipped texts take.

use butler_playbook::{
    Extras, Profile, SMALL_TOKENS, Sources, builtin_file, builtin_skills, prompt_with, role_file,
    skill_index, tokens,
};
use butler_protocol::Role;

use crate::offered::{native, offered};

/// Prompt and tools together, by default.
const ALL_TOKENS: usize = 8_000;
/// A chat tool's description and schema; the longest has about this.
const CHAT_TOOL_TOKENS: usize = 420;

/// The whole prompt of a role may have this many tokens.
const fn budget(role: Role) -> usize {
    match role {
        Role::Pm => 3_400,
        Role::Lead => 2_300,
        Role::Coder => 1_400,
        Role::Reviewer => 1_300,
        Role::Researcher | Role::Artist => 1_100,
    }
}

pub(crate) fn assembled(role: Role, profile: Profile) -> String {
    let text = |name: &str| builtin_file(name).unwrap().text.to_owned();
    let sources = Sources {
        role: role_file(role).text.to_owned(),
        global: text("global.md"),
        workflows: text("workflows.md"),
        rules: None,
    };
    let skills = builtin_skills();
    let extras = Extras {
        profile,
        skills: &skills,
        task: "",
    };
    prompt_with(role, &sources, &extras)
}

#[test]
fn every_prompt_keeps_to_its_budget() {
    for role in Role::ALL {
        let spent = tokens(&assembled(role, Profile::Full));
        assert!(
            spent <= budget(role),
            "{role}: {spent} of {} tokens",
            budget(role)
        );
        // A budget far above the need would notice nothing.
        assert!(
            spent * 10 >= budget(role) * 8,
            "{role}: {spent} of {} tokens",
            budget(role)
        );
    }
}

#[test]
fn prompt_and_tools_fit_into_eight_thousand_tokens() {
    let registry = native();
    for role in Role::ALL {
        let offered = offered(role);
        assert!(offered.len() <= 12, "{role}: {} tools", offered.len());
        let names: Vec<&str> = offered.iter().map(String::as_str).collect();
        let specs = registry.offered(&names);
        let tools: usize = specs
            .iter()
            .map(|spec| tokens(&spec.description) + tokens(&spec.parameters.to_string()) + 10)
            .sum();
        let chat = (names.len() - specs.len()) * CHAT_TOOL_TOKENS;
        let all = tokens(&assembled(role, Profile::Full)) + tools + chat;
        assert!(all <= ALL_TOKENS, "{role}: {all} tokens");
    }
}

#[test]
fn small_prompts_are_small_and_keep_what_matters() {
    for role in Role::ALL {
        let text = assembled(role, Profile::Small);
        assert!(
            tokens(&text) < SMALL_TOKENS,
            "{role}: {} tokens",
            tokens(&text)
        );
        for part in [
            "## First step",
            "## Rules\n",
            "## Output",
            "## Rules for everybody",
        ] {
            assert!(text.contains(part), "{role} lost {part}");
        }
    }
}

#[test]
fn only_the_pm_gets_the_index_of_skills() {
    let index = skill_index(&builtin_skills());
    assert_eq!(index.matches("\n- ").count(), 11);
    for role in Role::ALL {
        let text = assembled(role, Profile::Full);
        assert_eq!(text.contains(&index), role == Role::Pm, "{role}");
    }
    assert_eq!(skill_index(&[]), "");
}
