//! How much of a window the shipped texts take.

use butler_agent::small_spec;
use butler_playbook::{
    Extras, Profile, SMALL_TOKENS, Sources, builtin_file, builtin_skills, prompt_with, role_file,
    tokens,
};
use butler_policy::{default_tools, small_tools};
use butler_protocol::{Role, ToolSpec};

use crate::{
    offered::{existing, native},
    spans,
};

/// Prompt and tools together, by default.
const ALL_TOKENS: usize = 4_000;
/// The same for a small model.
const SMALL_ALL_TOKENS: usize = 2_500;

/// The whole prompt of a role may have this many tokens.
const fn budget(role: Role) -> usize {
    match role {
        Role::Pm => 1_900,
        Role::Lead => 1_600,
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
        left_out: &[],
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

/// What a role's model is told of its tools.
fn told(role: Role, names: &[&str]) -> Vec<ToolSpec> {
    let mut specs = native().offered(names);
    let chat = butler_agent::chat_specs(Some(role)).into_iter();
    specs.extend(chat.filter(|spec| names.contains(&spec.name.as_str())));
    assert_eq!(specs.len(), names.len(), "{role}");
    specs
}

fn tool_tokens(specs: &[ToolSpec]) -> usize {
    let spec = |spec: &ToolSpec| {
        tokens(&spec.name) + tokens(&spec.description) + tokens(&spec.parameters.to_string()) + 10
    };
    specs.iter().map(spec).sum()
}

/// What a role costs before anybody has said a word, where that is too much.
fn too_much(most: usize, told: impl Fn(Role) -> (String, Vec<ToolSpec>)) -> Vec<String> {
    let mut over = Vec::new();
    for role in Role::ALL {
        let (prompt, specs) = told(role);
        let (prompt, tools) = (tokens(&prompt), tool_tokens(&specs));
        if prompt + tools > most {
            over.push(format!("{role}: {prompt} and {tools} for tools"));
        }
    }
    over
}

#[test]
fn prompt_and_tools_fit_into_four_thousand_tokens() {
    let over = too_much(ALL_TOKENS, |role| {
        let names = default_tools(role);
        assert!(names.len() <= 12, "{role}: {} tools", names.len());
        (assembled(role, Profile::Full), told(role, names))
    });
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn a_small_model_is_told_little_and_of_no_tool_that_it_lacks() {
    let over = too_much(SMALL_ALL_TOKENS, |role| {
        let specs = told(role, small_tools(role)).into_iter();
        (
            assembled(role, Profile::Small),
            specs.map(small_spec).collect(),
        )
    });
    assert!(over.is_empty(), "{over:#?}");
    let mut strange = Vec::new();
    for role in Role::ALL {
        let own = small_tools(role);
        for tool in spans::tools(&assembled(role, Profile::Small)) {
            if !own.contains(&tool.as_str()) {
                strange.push(format!("the prompt tells the {role} of {tool}"));
            }
        }
        for spec in told(role, own).into_iter().map(small_spec) {
            let said = format!("{} {}", spec.description, spec.parameters);
            // Names that are English words are tools where they stand in brackets.
            let words = said.split(|c: char| !c.is_ascii_alphanumeric());
            let named = words.filter(|word| {
                let humps = word.chars().filter(char::is_ascii_uppercase).count() > 1;
                humps && existing().iter().any(|tool| tool == word) && !own.contains(word)
            });
            strange.extend(named.map(|tool| format!("{} tells the {role} of {tool}", spec.name)));
        }
    }
    assert!(strange.is_empty(), "{strange:#?}");
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
    for role in Role::ALL {
        for profile in [Profile::Full, Profile::Small] {
            let text = assembled(role, profile);
            let named = builtin_skills()
                .iter()
                .all(|skill| text.contains(&skill.name));
            assert_eq!(named, role == Role::Pm, "{role}");
            assert_eq!(
                text.contains("explain (target)"),
                role == Role::Pm,
                "{role}"
            );
        }
    }
}
