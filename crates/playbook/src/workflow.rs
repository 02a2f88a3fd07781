//! Workflows: how a kind of request goes through the team. One file for all of
//! them, `workflows.md`, a level-two section each; a line `Triggers: …` names
//! the phrases that choose one without a model.

use butler_protocol::Role;

use crate::{
    Problem,
    markdown::outline::{lines, sections},
    skills::{skill::phrases, trigger::Trigger},
};

/// One way of working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its name, as in `bugfix`.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// What chooses it. Its own name, said alone, always does.
    pub triggers: Vec<Trigger>,
    /// Its text, as the file has it.
    pub text: String,
}

impl Workflow {
    /// Whose the first step is: the role that it names, or the PM.
    pub fn begins_with(&self) -> Role {
        let mut steps = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("1. "));
        let named = steps.next().and_then(|step| step.split_once(':'));
        let mut roles = Role::ALL.into_iter();
        let first = named.and_then(|(name, _)| roles.find(|role| role.title() == name));
        first.unwrap_or(Role::Pm)
    }
}

/// The workflows of a file and what is wrong with it.
pub fn parse_workflows(file: &str, text: &str) -> (Vec<Workflow>, Vec<Problem>) {
    let mut workflows: Vec<Workflow> = Vec::new();
    let mut problems = Vec::new();
    let mut shapes: Vec<String> = Vec::new();
    for section in sections(text).iter().filter(|section| section.level == 2) {
        if matches!(section.title, "" | "Learnings" | "Archived Learnings") {
            continue;
        }
        if workflows.iter().any(|other| other.name == section.title) {
            let what = format!("workflow \"{}\" is there twice", section.title);
            problems.push(Problem::new(file, section.line, what));
            continue;
        }
        let body = lines(text)
            .into_iter()
            .filter(|line| section.body.contains(&line.start));
        let mut description = String::new();
        let mut triggers: Vec<Trigger> = Trigger::parse(section.title).into_iter().collect();
        for line in body.filter(|line| !line.fenced) {
            match line.text().strip_prefix("Triggers:") {
                Some(listed) => {
                    for phrase in phrases(listed) {
                        match Trigger::parse(phrase) {
                            Ok(trigger) => triggers.push(trigger),
                            Err(what) => problems.push(Problem::new(file, line.number, what)),
                        }
                    }
                }
                None if description.is_empty() => description = line.text().to_owned(),
                None => {}
            }
        }
        for trigger in &triggers {
            if shapes.contains(&trigger.shape()) {
                let what = format!("duplicate trigger \"{}\"", trigger.text());
                problems.push(Problem::new(file, section.line, what));
            }
            shapes.push(trigger.shape());
        }
        workflows.push(Workflow {
            name: section.title.to_owned(),
            description,
            triggers,
            text: text[section.range.clone()].trim_end().to_owned(),
        });
    }
    (workflows, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_descriptions_and_triggers_with_their_problems() {
        let text = "# Workflows\n\n## learn\nRead the repo.\nTriggers: re-learn, refresh knowledge, {x}\n1. Step\n\n## learn\n\n## develop\nTriggers: re-learn\n";
        let (workflows, problems) = parse_workflows("workflows.md", text);
        assert_eq!(workflows.len(), 2);
        assert_eq!(workflows[0].description, "Read the repo.");
        let phrases: Vec<_> = workflows[0].triggers.iter().map(Trigger::text).collect();
        assert_eq!(phrases, ["learn", "re-learn", "refresh knowledge"]);
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "workflows.md:5: trigger \"{x}\" has no words of its own",
                "workflows.md:8: workflow \"learn\" is there twice",
                "workflows.md:10: duplicate trigger \"re-learn\"",
            ]
        );
    }
}
