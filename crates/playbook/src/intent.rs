//! What a message asks for, where code can tell: workflows first, then skills,
//! then a menu where two fit equally well. Everything else is for the PM, who
//! has the index of both.

use crate::{
    Skill, Workflow,
    skills::{
        template::Captures,
        trigger::{Match, Said, Trigger},
    },
};

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent<'a> {
    /// Exactly a workflow's trigger.
    Workflow {
        workflow: &'a Workflow,
        captures: Captures,
    },
    /// Exactly a skill's trigger.
    Skill {
        skill: &'a Skill,
        captures: Captures,
    },
    /// Several fit equally well: ask with buttons.
    Menu(Vec<MenuItem>),
    /// No trigger: the PM decides.
    Open,
}

/// One button of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuItem {
    pub kind: MenuKind,
    pub name: String,
    pub description: String,
}

/// What a menu item starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuKind {
    /// A way of working for several roles.
    Workflow,
    /// A command for one role.
    Skill,
}

/// Reads a message's intent from triggers alone.
pub fn intent<'a>(message: &str, workflows: &'a [Workflow], skills: &'a [Skill]) -> Intent<'a> {
    let said = Said::new(message);
    let mut found = best(workflows, |workflow| &workflow.triggers, &said);
    match found.len() {
        0 => {}
        1 => {
            let (workflow, captures) = found.remove(0);
            return Intent::Workflow { workflow, captures };
        }
        _ => return Intent::Menu(found.iter().map(|(workflow, _)| workflow.item()).collect()),
    }
    let mut found = best(skills, |skill| &skill.triggers, &said);
    match found.len() {
        0 => Intent::Open,
        1 => {
            let (skill, captures) = found.remove(0);
            Intent::Skill { skill, captures }
        }
        _ => Intent::Menu(found.iter().map(|(skill, _)| skill.item()).collect()),
    }
}

/// Everything there is to choose from, for "help" and for the PM's menu.
pub fn menu(workflows: &[Workflow], skills: &[Skill]) -> Vec<MenuItem> {
    let workflows = workflows.iter().map(Workflow::item);
    workflows.chain(skills.iter().map(Skill::item)).collect()
}

/// Those with the most exact match, each with what it caught.
fn best<'a, T>(
    all: &'a [T],
    triggers: impl Fn(&'a T) -> &'a [Trigger],
    said: &Said<'_>,
) -> Vec<(&'a T, Captures)> {
    let mut found: Vec<(&T, Match)> = Vec::new();
    for one in all {
        let matches = triggers(one)
            .iter()
            .filter_map(|trigger| trigger.matches(said));
        if let Some(exact) = matches.max_by_key(|found| found.exactness) {
            found.push((one, exact));
        }
    }
    let most = found.iter().map(|(_, found)| found.exactness).max();
    found.retain(|(_, found)| Some(found.exactness) == most);
    let found = found.into_iter();
    found.map(|(one, found)| (one, found.captures)).collect()
}

impl Workflow {
    fn item(&self) -> MenuItem {
        MenuItem {
            kind: MenuKind::Workflow,
            name: self.name.clone(),
            description: self.description.clone(),
        }
    }
}

impl Skill {
    fn item(&self) -> MenuItem {
        MenuItem {
            kind: MenuKind::Skill,
            name: self.name.clone(),
            description: self.description.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_skill, parse_workflows};

    fn skill(name: &str, triggers: &str) -> Skill {
        let text =
            format!("# {name}\n\nx\n\n## Trigger\n{triggers}\n\n## Agent\npm\n\n## Prompt\nx\n");
        parse_skill(&format!("{name}.md"), &text).unwrap()
    }

    fn name(intent: &Intent<'_>) -> String {
        match intent {
            Intent::Workflow { workflow, .. } => format!("workflow {}", workflow.name),
            Intent::Skill { skill, .. } => format!("skill {}", skill.name),
            Intent::Menu(items) => {
                let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
                format!("menu {}", names.join(" "))
            }
            Intent::Open => "open".to_owned(),
        }
    }

    #[test]
    fn workflows_win_over_skills_the_more_exact_wins_and_a_tie_asks() {
        let (workflows, _) = parse_workflows("w", "## learn\nTriggers: explain all\n");
        let skills = [
            skill("explain", "explain {target}, tell me {a}"),
            skill("notes", "explain notes, {b} me notes"),
        ];
        for (message, expected) in [
            ("explain all", "workflow learn"),
            ("Learn", "workflow learn"),
            ("explain some", "skill explain"),
            ("explain notes", "skill notes"),
            ("tell me notes", "menu explain notes"),
            ("explain", "open"),
            ("", "open"),
        ] {
            assert_eq!(
                name(&intent(message, &workflows, &skills)),
                expected,
                "{message}"
            );
        }
        assert_eq!(menu(&workflows, &skills).len(), 3);
    }
}
