//! What a person's exact words set in motion, for the role that hears them. The
//! PM hears what nobody is named in: it follows a workflow itself, keeps a skill
//! of its own, and has the runtime pass on what belongs to somebody else. All of
//! that is free; only what no trigger fits costs a thought of the model.
//!
//! A skill that changes code goes to the Coder as a plan. The plan is made from
//! the words and the skill's file alone, so that the Coder's side can make it
//! again and compare: that is what opens its gate, not the PM's word.

use butler_protocol::{Complexity, Plan, PlanStep, Role};

use crate::{Captures, Intent, MenuItem, Playbook, Skill, Workflow};

/// What is to be done about a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortcut {
    /// No trigger: the model reads the message as it is.
    Open,
    /// It is for this role, and the model is told so beside the message.
    Own {
        /// What it is told.
        note: String,
    },
    /// It is for another role, which reports to the people itself.
    PassOn {
        /// Whom.
        to: Role,
        /// What that role is told.
        text: String,
    },
    /// It is a skill that changes code: the Coder gets this plan, which a
    /// person's exact words stand for.
    Build {
        /// The plan.
        plan: Box<Plan>,
    },
    /// Several fit equally well: the person chooses.
    Menu {
        /// What is shown.
        text: String,
        /// The names to choose from, in the same order: one button each.
        names: Vec<String>,
    },
}

impl Playbook {
    /// What `role` has to do about a person's message that starts something.
    #[must_use]
    pub fn shortcut(&self, role: Role, message: &str) -> Shortcut {
        match self.intent(message) {
            Intent::Open => Shortcut::Open,
            Intent::Workflow { workflow, captures } => follow(role, workflow, &captures),
            Intent::Skill { skill, captures } => start(role, skill, &captures),
            Intent::Menu(items) if role == Role::Pm => Shortcut::Menu {
                text: choices(&items),
                names: items.into_iter().map(|item| item.name).collect(),
            },
            Intent::Menu(_) => Shortcut::Open,
        }
    }

    /// The same once a person has chosen from the menu that `message` got: by
    /// number or by name. Any other answer is a message of its own.
    #[must_use]
    pub fn shortcut_chosen(&self, role: Role, message: &str, answer: &str) -> Option<Shortcut> {
        let Intent::Menu(items) = self.intent(message) else {
            return None;
        };
        let answer = answer.trim().trim_end_matches('.');
        let by_number = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let chosen = match by_number {
            Some(index) => items.get(index)?,
            None => items
                .iter()
                .find(|item| item.name.eq_ignore_ascii_case(answer))?,
        };
        if let Some(workflow) = self.workflows().iter().find(|one| one.name == chosen.name) {
            let captures = best(message, &workflow.triggers);
            return Some(follow(role, workflow, &captures));
        }
        let skill = self.skill(&chosen.name)?;
        Some(start(role, skill, &best(message, &skill.triggers)))
    }

    /// The plan that these words stand for, when they are exactly the trigger of
    /// a skill that declares that it changes code.
    #[must_use]
    pub fn plan_of(&self, message: &str) -> Option<Plan> {
        match self.intent(message) {
            Intent::Skill { skill, captures } => plan(skill, &captures),
            _ => None,
        }
    }

    /// What this repo's team can be asked for by name, for "help".
    #[must_use]
    pub fn help(&self) -> String {
        let workflows = self.workflows().iter().filter_map(|workflow| {
            let said = workflow.triggers.last()?.text();
            Some(format!("- `{said}` {}", workflow.description))
        });
        let skills = self.skills().skills.iter().filter_map(|skill| {
            let said = skill.triggers.first()?.text();
            Some(format!("- `{said}` {}", skill.description))
        });
        let lines: Vec<String> = workflows.chain(skills).collect();
        format!("This team also knows:\n{}", lines.join("\n"))
    }
}

/// Workflows are the PM's to begin; another role that was named reads on.
fn follow(role: Role, workflow: &Workflow, captures: &Captures) -> Shortcut {
    if role != Role::Pm {
        return Shortcut::Open;
    }
    let mut note = format!(
        "The message above is the trigger of the workflow `{}`: follow its steps.",
        workflow.name
    );
    note.push_str(&caught(captures));
    Shortcut::Own { note }
}

fn start(role: Role, skill: &Skill, captures: &Captures) -> Shortcut {
    // A trigger that lacks a value is the model's to complete.
    let Ok(prompt) = skill.resolve(captures) else {
        return Shortcut::Own {
            note: format!(
                "The message above means the skill `{}`, but lacks a value for it. Ask for it.",
                skill.name
            ),
        };
    };
    let files = skill.folder.as_ref().map_or_else(String::new, |folder| {
        format!(
            "\n\nThe skill's own files are in `{folder}/`; its scripts run in the sandbox only."
        )
    });
    let task = format!("{prompt}{files}");
    if skill.agent == role {
        return Shortcut::Own {
            note: format!(
                "The message above starts the skill `{}`. Do this:\n\n{task}",
                skill.name
            ),
        };
    }
    if role != Role::Pm {
        return Shortcut::Open;
    }
    if let Some(plan) = plan(skill, captures) {
        return Shortcut::Build {
            plan: Box::new(plan),
        };
    }
    Shortcut::PassOn {
        to: skill.agent,
        text: format!(
            "the skill **{}** was started in this thread.\n\n{task}\n\nReport to the people here with `SendMessage`. Nothing is to be handed over.",
            skill.name
        ),
    }
}

/// The numbered lines of the prompt are its steps, the rest says what it is for.
fn plan(skill: &Skill, captures: &Captures) -> Option<Plan> {
    if !skill.changes_code || skill.agent != Role::Coder {
        return None;
    }
    let prompt = skill.resolve(captures).ok()?;
    let mut summary = skill.description.clone();
    let mut steps: Vec<PlanStep> = Vec::new();
    for line in prompt
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        match (step(line), steps.last_mut()) {
            (Some(text), _) => steps.push(PlanStep {
                text: text.to_owned(),
                place: None,
            }),
            (None, Some(last)) => last.text.push_str(&format!(" {line}")),
            (None, None) => summary.push_str(&format!(" {line}")),
        }
    }
    if steps.is_empty() {
        steps.push(PlanStep {
            text: prompt.clone(),
            place: None,
        });
    }
    let values: Vec<_> = captures.values().map(String::as_str).collect();
    Some(Plan {
        title: format!("{}: {}", skill.name, values.join(", "))
            .trim_end_matches([':', ' '])
            .to_owned(),
        summary,
        steps,
        criteria: vec![format!("{} The checks pass.", skill.description)],
        files: Vec::new(),
        rejected: Vec::new(),
        complexity: Complexity::Medium,
        estimate: None,
    })
}

/// `3. text`, without its number.
fn step(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(['.', ')'])?;
    let counts = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    counts.then(|| text.trim()).filter(|text| !text.is_empty())
}

fn choices(items: &[MenuItem]) -> String {
    let mut text = "That fits more than one thing. Which do you mean?\n".to_owned();
    for (number, item) in (1..).zip(items) {
        text.push_str(&format!("\n{number}. {}: {}", item.name, item.description));
    }
    text.push_str("\n\nPress one, or answer with the number or the name.");
    text
}

fn caught(captures: &Captures) -> String {
    let pairs: Vec<_> = captures
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    if pairs.is_empty() {
        return String::new();
    }
    format!(" What it is about: {}.", pairs.join("; "))
}

/// What the most exact of the triggers caught.
fn best(message: &str, triggers: &[crate::Trigger]) -> Captures {
    let said = crate::skills::trigger::Said::new(message);
    let found = triggers.iter().filter_map(|trigger| trigger.matches(&said));
    let best = found.max_by_key(|found| found.exactness);
    best.map(|found| found.captures).unwrap_or_default()
}

#[cfg(test)]
#[path = "shortcut_tests.rs"]
mod tests;
