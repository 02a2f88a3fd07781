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

/// The workflow that builds one item of the roadmap.
pub const ONE_ITEM: &str = "roadmap-implement";

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
        to: Role,
        /// What that role is told.
        text: String,
    },
    /// It is a skill that changes code: the Coder gets this plan, which a
    /// person's exact words stand for.
    Build { plan: Box<Plan> },
    /// Several fit equally well: the person chooses.
    Menu {
        text: String,
        /// The names to choose from, in the same order: one button each.
        names: Vec<String>,
    },
}

impl Playbook {
    /// What `role` has to do about a person's message that starts something.
    pub fn shortcut(&self, role: Role, message: &str) -> Shortcut {
        match self.intent(message) {
            Intent::Open => Shortcut::Open,
            Intent::Workflow { workflow, captures } => self.follow(role, workflow, &captures),
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
    pub fn shortcut_chosen(&self, role: Role, message: &str, answer: &str) -> Option<Shortcut> {
        let answer = answer.trim().trim_end_matches('.');
        let number = answer.parse::<usize>().ok();
        let by_number = number.and_then(|number| number.checked_sub(1));
        let name = match (self.intent(message), by_number) {
            (Intent::Menu(items), Some(index)) => items.get(index)?.name.clone(),
            (Intent::Menu(items), None) => {
                let mut named = items.iter();
                named.find(|item| same(&item.name, answer))?.name.clone()
            }
            // A menu that the PM put together has names only.
            (_, None) => answer.to_owned(),
            (_, Some(_)) => return None,
        };
        match self.named(&name)? {
            Named::Workflow(workflow) => {
                let captures = best(message, &workflow.triggers);
                Some(self.follow(role, workflow, &captures))
            }
            Named::Skill(skill) => Some(start(role, skill, &best(message, &skill.triggers))),
        }
    }

    /// The same for a name that the model chose, with the values that it gives, as
    /// `target: notes.sh`; a skill that needs one value takes it without its name.
    /// Errors: what is wrong with the name, or which values are missing.
    pub fn shortcut_named(
        &self,
        role: Role,
        name: &str,
        values: &[String],
    ) -> Result<Shortcut, String> {
        match self.named(name) {
            None => Err(self.unknown(name)),
            Some(Named::Workflow(workflow)) => {
                let about = [("request".to_owned(), values.join("; "))];
                let about = about.into_iter().filter(|_| !values.is_empty());
                Ok(self.follow(role, workflow, &about.collect()))
            }
            Some(Named::Skill(skill)) => match skill.resolve(&given(skill, values)) {
                Ok(_) => Ok(start(role, skill, &given(skill, values))),
                Err(missing) => {
                    let (skill, first) = (&skill.name, missing.0.first());
                    let first = first.map_or("name", String::as_str);
                    Err(format!(
                        "the skill `{skill}` has {missing}; give each in `values`, as in \"{first}: …\", or ask the person"
                    ))
                }
            },
        }
    }

    /// Which item of the roadmap these words ask for; without a number, the next one.
    /// Nothing when they ask for none.
    pub fn item_asked(&self, message: &str) -> Option<Option<u32>> {
        match self.intent(message) {
            Intent::Workflow { workflow, captures } if workflow.name == ONE_ITEM => {
                match captures.get("number") {
                    None => Some(None),
                    Some(number) => number.trim().trim_start_matches('#').parse().ok().map(Some),
                }
            }
            _ => None,
        }
    }

    /// A menu of these, as the person reads it, and the names as the playbook has them.
    /// Errors: every name that nothing has.
    pub fn menu_of(&self, names: &[String]) -> Result<(String, Vec<String>), String> {
        let all = self.menu();
        let mut items: Vec<MenuItem> = Vec::new();
        let mut strange = Vec::new();
        for name in names {
            match all.iter().find(|item| same(&item.name, name)) {
                None => strange.push(name.as_str()),
                Some(item) if items.contains(item) => {}
                Some(item) => items.push(item.clone()),
            }
        }
        if !strange.is_empty() {
            return Err(self.unknown(&strange.join("`, `")));
        }
        if items.len() < 2 {
            return Err("a menu has at least two; with one, give it as `name`".to_owned());
        }
        let mut text = "Which of these do you mean?\n".to_owned();
        for item in &items {
            text.push_str(&format!("\n- {}: {}", item.name, item.description));
        }
        text.push_str("\n\nPress one, answer with its name, or say what you want instead.");
        Ok((text, items.into_iter().map(|item| item.name).collect()))
    }

    /// Workflows are the PM's to begin, unless their first step is another role's;
    /// a third one that was named reads on.
    fn follow(&self, role: Role, workflow: &Workflow, captures: &Captures) -> Shortcut {
        let first = workflow.begins_with();
        if role != Role::Pm && role != first {
            return Shortcut::Open;
        }
        let name = &workflow.name;
        let mut note = format!("The request starts the workflow `{name}`: follow its steps.");
        note.push_str(&caught(captures));
        for one in self.with_those_it_goes_on_with(workflow) {
            note.push_str(&format!("\n\n{}", one.text));
        }
        match role == first {
            true => Shortcut::Own { note },
            false => Shortcut::PassOn {
                to: first,
                text: note,
            },
        }
    }

    /// A workflow, and those whose steps it takes: "As implement from 2".
    fn with_those_it_goes_on_with<'a>(&'a self, workflow: &'a Workflow) -> Vec<&'a Workflow> {
        let mut all = vec![workflow];
        let mut at = 0;
        while let Some(one) = all.get(at).copied() {
            at += 1;
            for part in one.text.split("As ").skip(1) {
                let name = part.split([' ', '.', ';', ',']).next().unwrap_or_default();
                let mut known = self.workflows().iter();
                if let Some(next) = known.find(|other| other.name == name)
                    && !all.iter().any(|other| other.name == next.name)
                {
                    all.push(next);
                }
            }
        }
        all
    }

    fn named(&self, name: &str) -> Option<Named<'_>> {
        let mut workflows = self.workflows().iter();
        if let Some(workflow) = workflows.find(|workflow| same(&workflow.name, name)) {
            return Some(Named::Workflow(workflow));
        }
        let mut skills = self.skills().skills.iter();
        let skill = skills.find(|skill| same(&skill.name, name));
        skill.map(Named::Skill)
    }

    fn unknown(&self, name: &str) -> String {
        let all = self.menu();
        let names: Vec<&str> = all.iter().map(|item| item.name.as_str()).collect();
        let names = names.join(", ");
        format!("there is no workflow or skill `{name}`; there are {names}")
    }

    /// The plan that these words stand for, when they are exactly the trigger of
    /// a skill that declares that it changes code.
    pub fn plan_of(&self, message: &str) -> Option<Plan> {
        match self.intent(message) {
            Intent::Skill { skill, captures } => plan(skill, &captures),
            _ => None,
        }
    }

    /// What this repo's team can be asked for by name, for "help".
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

/// The values of a skill as a model writes them: with the name of the variable, or
/// bare where only one is needed.
fn given(skill: &Skill, values: &[String]) -> Captures {
    let mut captures = Captures::new();
    let needs = skill.needs();
    for value in values {
        let named = value.split_once([':', '=']).and_then(|(name, value)| {
            let mut variables = skill.prompt.variables().iter();
            let known = variables.find(|one| same(&one.name, name))?;
            Some((known.name.clone(), value.trim().to_owned()))
        });
        let bare = || Some((needs.first()?.clone(), value.trim().to_owned()));
        let pair = named.or_else(bare);
        if let Some((name, value)) = pair.filter(|(_, value)| !value.is_empty()) {
            captures.entry(name).or_insert(value);
        }
    }
    captures
}

/// What a name stands for.
enum Named<'a> {
    Workflow(&'a Workflow),
    Skill(&'a Skill),
}

/// Whether two names are the same, as people and models write them.
fn same(name: &str, said: &str) -> bool {
    let plain = |text: &str| text.trim().trim_matches('`').replace(['_', ' '], "-");
    plain(name).eq_ignore_ascii_case(&plain(said))
}

fn start(role: Role, skill: &Skill, captures: &Captures) -> Shortcut {
    // A request that lacks a value is the model's to complete.
    let prompt = match skill.resolve(captures) {
        Ok(prompt) => prompt,
        Err(missing) => {
            let how = match role {
                Role::Pm => "Take it from the thread and call `Start` with it, or ask for it.",
                _ => "Ask for it.",
            };
            let name = &skill.name;
            return Shortcut::Own {
                note: format!("The request means the skill `{name}`, but has {missing}. {how}"),
            };
        }
    };
    let mut task = prompt;
    if let Some(folder) = &skill.folder {
        task.push_str(&format!(
            "\n\nThe skill's own files are in `{folder}/`; its scripts run in the sandbox only."
        ));
    }
    let name = &skill.name;
    if skill.agent == role {
        let note = format!("The request starts the skill `{name}`. Do this:\n\n{task}");
        return Shortcut::Own { note };
    }
    if role != Role::Pm {
        return Shortcut::Open;
    }
    if let Some(plan) = plan(skill, captures).map(Box::new) {
        return Shortcut::Build { plan };
    }
    Shortcut::PassOn {
        to: skill.agent,
        text: format!(
            "the skill **{name}** was started in this thread.\n\n{task}\n\nReport to the people here with `SendMessage`. Nothing is to be handed over."
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
    let planned = |text: &str| PlanStep {
        text: text.to_owned(),
        place: None,
    };
    let lines = prompt.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        match (step(line), steps.last_mut()) {
            (Some(text), _) => steps.push(planned(text)),
            (None, Some(last)) => last.text.push_str(&format!(" {line}")),
            (None, None) => summary.push_str(&format!(" {line}")),
        }
    }
    if steps.is_empty() {
        steps.push(planned(&prompt));
    }
    let values: Vec<_> = captures.values().map(String::as_str).collect();
    let title = format!("{}: {}", skill.name, values.join(", "));
    Some(Plan {
        title: title.trim_end_matches([':', ' ']).to_owned(),
        summary,
        steps,
        criteria: vec![format!("{} The checks pass.", skill.description)],
        files: Vec::new(),
        rejected: Vec::new(),
        complexity: Complexity::Medium,
        estimate: None,
        cap: None,
        model: None,
        design: None,
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
    let pairs = captures
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    match pairs.collect::<Vec<_>>().join("; ").as_str() {
        "" => String::new(),
        pairs => format!(" What it is about: {pairs}."),
    }
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
