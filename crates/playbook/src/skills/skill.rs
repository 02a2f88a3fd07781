//! Skills: reusable commands that a team keeps as Markdown files. One agent,
//! one prompt, and the phrases that start it.
//!
//! A file that has a problem is no skill: it is reported with its line and left
//! out, and the others work.

use butler_protocol::Role;

use crate::{
    Problem,
    markdown::outline::{Section, lines, sections},
    skills::{
        template::{Captures, MissingValues, Template},
        trigger::Trigger,
    },
};

/// A skill that can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is also its file's.
    pub name: String,
    /// One line for lists.
    pub description: String,
    pub triggers: Vec<Trigger>,
    pub agent: Role,
    /// Whether its file declares, with `## Changes` and the word `code`, that it
    /// changes code. Only such a skill may stand in for an approved plan.
    pub changes_code: bool,
    /// What that agent is told.
    pub prompt: Template,
    /// The folder of a `SKILL.md`, whose other files the agent may need.
    pub folder: Option<String>,
}

impl Skill {
    /// What the agent is told, with values in place of variables.
    /// Errors: names the variables that have neither value nor default.
    pub fn resolve(&self, captures: &Captures) -> Result<String, MissingValues> {
        self.prompt.fill(captures)
    }

    /// The values without which it cannot be done.
    pub fn needs(&self) -> Vec<String> {
        let missing = self.prompt.fill(&Captures::new()).err();
        missing.map_or_else(Vec::new, |missing| missing.0)
    }
}

/// A skill read from its file, with what is wrong with it.
pub(crate) struct Draft {
    pub skill: Option<Skill>,
    /// Triggers with their lines, for comparison with other files.
    pub triggers: Vec<(usize, Trigger)>,
    pub problems: Vec<Problem>,
}

/// Reads one skill file. `file` names it in problems; its last part without
/// `.md` has to be the skill's name.
/// Errors: everything that is wrong with it, in the order of lines.
pub fn parse_skill(file: &str, text: &str) -> Result<Skill, Vec<Problem>> {
    let draft = draft(file, text);
    draft.skill.ok_or(draft.problems)
}

pub(crate) fn draft(file: &str, text: &str) -> Draft {
    let mut reader = Reader {
        file,
        text,
        sections: sections(text),
        problems: Vec::new(),
    };
    let name = reader.name();
    let description = reader.description();
    let triggers = reader.triggers();
    let agent = reader.agent();
    let changes_code = reader.changes_code();
    let prompt = reader.prompt(&triggers);
    let mut problems = reader.problems;
    problems.sort();
    let parts = (name, description, agent, prompt);
    let skill = match parts {
        (Some(name), Some(description), Some(agent), Some(prompt)) if problems.is_empty() => {
            Some(Skill {
                name,
                description,
                triggers: triggers.iter().map(|(_, one)| one.clone()).collect(),
                agent,
                changes_code,
                prompt,
                folder: None,
            })
        }
        _ => None,
    };
    Draft {
        skill,
        triggers,
        problems,
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    sections: Vec<Section<'a>>,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn problem(&mut self, line: usize, what: impl Into<String>) {
        self.problems.push(Problem::new(self.file, line, what));
    }

    fn name(&mut self) -> Option<String> {
        let names = |section: &&Section<'_>| section.level == 1 && !section.title.is_empty();
        let Some(name) = self.sections.iter().find(names).cloned() else {
            self.problem(1, "missing # name section");
            return None;
        };
        let (title, stem) = (name.title, file_stem(self.file));
        if title != stem {
            let what = format!("name \"{title}\" differs from the file's name \"{stem}\"");
            self.problem(name.line, what);
        }
        Some(title.to_owned())
    }

    /// The first line with something on it after the name.
    fn description(&mut self) -> Option<String> {
        let mut sections = self.sections.iter();
        let name = sections.find(|section| section.level == 1)?.clone();
        let first = lines(self.text)
            .into_iter()
            .skip(name.line)
            .find(|line| !line.text().is_empty())
            .filter(|line| line.heading().is_none());
        if first.is_none() {
            self.problem(name.line, "missing one-line description under # name");
        }
        first.map(|line| line.text().to_owned())
    }

    /// The lines of a required section, with their numbers.
    fn required(&mut self, title: &str) -> Option<Vec<(usize, &'a str)>> {
        let is_it = |section: &&Section<'_>| {
            section.level == 2 && section.title.eq_ignore_ascii_case(title)
        };
        let Some(section) = self.sections.iter().find(is_it).cloned() else {
            self.problem(1, format!("missing ## {title} section"));
            return None;
        };
        let body = lines(self.text).into_iter();
        let body = body.filter(|line| section.body.contains(&line.start));
        let body: Vec<_> = body.map(|line| (line.number, line.text())).collect();
        if body.iter().all(|(_, line)| line.is_empty()) {
            self.problem(section.line, format!("## {title} section is empty"));
            return None;
        }
        Some(body)
    }

    fn triggers(&mut self) -> Vec<(usize, Trigger)> {
        let mut triggers: Vec<(usize, Trigger)> = Vec::new();
        for (line, text) in self.required("Trigger").unwrap_or_default() {
            for phrase in phrases(text) {
                match Trigger::parse(phrase) {
                    Ok(trigger) => triggers.push((line, trigger)),
                    Err(what) => self.problem(line, what),
                }
            }
        }
        triggers
    }

    fn agent(&mut self) -> Option<Role> {
        let body = self.required("Agent")?;
        let (line, word) = body.into_iter().find(|(_, line)| !line.is_empty())?;
        let agent = word.trim_matches('`').parse().ok();
        if agent.is_none() {
            let roles = Role::ALL.map(Role::as_str).join(", ");
            let what = format!("agent \"{word}\" is not a valid role ({roles})");
            self.problem(line, what);
        }
        agent
    }

    fn changes_code(&mut self) -> bool {
        let declared = self
            .sections
            .iter()
            .any(|section| section.title == "Changes");
        let body = declared.then(|| self.required("Changes")).flatten();
        let mut body = body.unwrap_or_default().into_iter();
        let said = body.find(|(_, line)| !line.is_empty());
        if let Some((line, other)) = said.filter(|(_, word)| *word != "code") {
            let what = format!("## Changes says \"{other}\"; it can only say \"code\"");
            self.problem(line, what);
        }
        said.is_some_and(|(_, word)| word == "code")
    }

    fn prompt(&mut self, triggers: &[(usize, Trigger)]) -> Option<Template> {
        self.required("Prompt")?;
        let section = crate::markdown::outline::section(self.text, 2, "Prompt")?;
        let body = &self.text[section.body.clone()];
        let start = section.body.start + (body.len() - body.trim_start().len());
        let line_of = |at: usize| {
            let before = &self.text[..start + at];
            before.matches('\n').count() + 1
        };
        let (template, bad) = Template::parse(body.trim());
        let bad = bad.iter().map(|bad| {
            let what = format!("{}: only | default: \"…\" may follow a name", bad.text);
            Problem::new(self.file, line_of(bad.at), what)
        });
        let mut found: Vec<Problem> = bad.collect();
        let mut reported: Vec<&str> = Vec::new();
        for variable in template.variables() {
            let name = variable.name.as_str();
            let mut known = triggers.iter().flat_map(|(_, one)| one.parameters());
            if reported.contains(&name) || known.any(|parameter| parameter == name) {
                continue;
            }
            reported.push(name);
            let what = format!("{{{{{name}}}}} used in prompt but no {{{name}}} in triggers");
            found.push(Problem::new(self.file, line_of(variable.range.start), what));
        }
        self.problems.extend(found);
        Some(template)
    }
}

/// The phrases of a line: commas between them, perhaps a list mark before.
pub(crate) fn phrases(line: &str) -> impl Iterator<Item = &str> {
    let listed = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let line = listed.unwrap_or(line);
    line.split(',')
        .map(|phrase| phrase.trim().trim_matches('`'))
        .filter(|phrase| !phrase.is_empty())
}

/// The name of a file without its folders and `.md`.
pub(crate) fn file_stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".md").unwrap_or(name)
}

/// The file of a new skill, ready to be written.
pub fn render_skill(skill: &Skill) -> String {
    let triggers: Vec<_> = skill.triggers.iter().map(Trigger::text).collect();
    format!(
        "# {}\n\n{}\n\n## Trigger\n{}\n\n## Agent\n{}\n\n{}## Prompt\n{}\n",
        skill.name,
        skill.description,
        triggers.join(", "),
        skill.agent,
        match skill.changes_code {
            true => "## Changes\ncode\n\n",
            false => "",
        },
        skill.prompt.text().trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOY: &str = "# deploy\n\nDeploy the project.\n\n## Trigger\ndeploy, deploy to {environment}\n\n## Agent\ncoder\n\n## Prompt\nDeploy to {{environment | default: \"staging\"}}.\n\n1. Run `./deploy.sh {{environment}}`\n";

    #[test]
    fn the_file_of_the_specification_reads_and_renders() {
        let skill = parse_skill("skills/deploy.md", DEPLOY).unwrap();
        assert_eq!(skill.description, "Deploy the project.");
        assert_eq!(skill.agent, Role::Coder);
        assert_eq!(skill.triggers.len(), 2);
        assert_eq!(
            skill.resolve(&Captures::new()).unwrap(),
            "Deploy to staging.\n\n1. Run `./deploy.sh staging`"
        );
        assert_eq!(render_skill(&skill), DEPLOY);
        let windows = DEPLOY.replace('\n', "\r\n");
        assert_eq!(
            parse_skill("deploy.md", &windows).unwrap().triggers,
            skill.triggers
        );
    }
}
