//! Everything a team keeps for its agents, as it is on one commit of the default
//! branch (or on disk, for somebody who tries something out). Whoever reads the
//! files decides which; this decides what they mean.
//!
//! Where a repo has no file of its own, the shipped one holds. Skills are taken
//! together: a team that keeps any has chosen which.

use std::collections::BTreeMap;

use butler_protocol::Role;

use crate::{
    BuiltinFile, Extras, Intent, MenuItem, Problem, Profile, RepoRules, Research, Roadmap, Skill,
    Skills, Sources, Workflow, builtin_file, builtin_files, intent, menu, parse_skill_folder,
    parse_workflows, prompt_with, read_skills,
};

/// The folder of a team's own files.
const HOME: &str = ".codebutler/";
/// Where skills of the shared form are, the first to have a name wins.
const FOLDERS: [&str; 3] = [".codebutler/skills/", ".agents/skills/", ".claude/skills/"];
/// Rule files of the repo itself; the first that is there counts.
const RULES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// More nested rule files than this are not named.
const NESTED: usize = 20;

/// What a team keeps for its agents.
#[derive(Debug, Clone, Default)]
pub struct Playbook {
    files: BTreeMap<String, String>,
    skills: Skills,
    workflows: Vec<Workflow>,
}

impl Playbook {
    /// Whether a path of the repo, from its root, belongs to a playbook.
    pub fn wants(path: &str) -> bool {
        let own = path
            .strip_prefix(HOME)
            .filter(|name| name.ends_with(".md"))
            .is_some_and(|name| {
                let folder = name.split_once('/').map(|(folder, _)| folder);
                matches!(folder, None | Some("skills" | "research"))
            });
        let shared = skill_folder(path).is_some();
        let name = path.rsplit('/').next();
        own || shared || name.is_some_and(|name| RULES.contains(&name))
    }

    /// A playbook of files, each given as (path from the repo's root, text).
    /// Files of other kinds are left out.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = files.into_iter().filter(|(path, _)| Self::wants(path));
        let mut book = Self {
            files: files.collect(),
            ..Self::default()
        };
        book.skills = book.read_skills();
        book.workflows = parse_workflows("workflows.md", book.text("workflows.md")).0;
        book
    }

    /// A file by its name below `.codebutler/`: the team's, else the shipped one.
    pub fn text(&self, name: &str) -> &str {
        let own = self.own(name);
        let shipped = || builtin_file(name).map_or("", |file| file.text);
        own.unwrap_or_else(shipped)
    }

    /// A file of the team's own by its name below `.codebutler/`.
    pub fn own(&self, name: &str) -> Option<&str> {
        self.files.get(&format!("{HOME}{name}")).map(String::as_str)
    }

    /// The team's own files, each as (name below `.codebutler/`, text).
    pub fn own_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter();
        files.filter_map(|(path, text)| Some((path.strip_prefix(HOME)?, text.as_str())))
    }

    /// The same with one more file.
    pub(crate) fn with_file(&self, path: String, text: String) -> Self {
        let files = self.files.clone().into_iter();
        Self::new(files.chain([(path, text)]))
    }

    /// The skills that can run, and what is wrong with the others.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// A skill by its name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.skills.iter().find(|skill| skill.name == name)
    }

    /// The workflows.
    pub fn workflows(&self) -> &[Workflow] {
        &self.workflows
    }

    /// The roadmap; empty where there is none.
    pub fn roadmap(&self) -> Roadmap {
        Roadmap::parse(self.text("roadmap.md"))
    }

    /// What is kept of research.
    pub fn research(&self) -> Research {
        let files = self.below("research/");
        Research::new(files, self.text("global.md"))
    }

    /// What a message asks for, where triggers tell.
    pub fn intent(&self, message: &str) -> Intent<'_> {
        intent(message, &self.workflows, &self.skills.skills)
    }

    /// Everything there is to choose from.
    pub fn menu(&self) -> Vec<MenuItem> {
        menu(&self.workflows, &self.skills.skills)
    }

    /// What a role's prompt is made of.
    pub fn sources(&self, role: Role) -> Sources {
        Sources {
            role: self.text(&format!("{role}.md")).to_owned(),
            global: self.text("global.md").to_owned(),
            workflows: self.text("workflows.md").to_owned(),
            rules: self.rules(),
        }
    }

    /// The prompt of a role for its next activation; `task` is what the thread
    /// is about, as far as it is known.
    pub fn prompt(&self, role: Role, profile: Profile, task: &str, left_out: &[String]) -> String {
        let extras = Extras {
            profile,
            skills: &self.skills.skills,
            task,
            left_out,
        };
        prompt_with(role, &self.sources(role), &extras)
    }

    /// Everything that is wrong with the team's own files.
    pub fn problems(&self) -> Vec<Problem> {
        let own = self
            .own_files()
            .map(|(name, text)| (name.to_owned(), text.to_owned()));
        let own: Vec<_> = own.collect();
        // Skills are judged here, because those of other folders count too.
        let mut problems = crate::validate(&own);
        problems.retain(|problem| !problem.file.starts_with("skills/"));
        problems.extend(self.skills.problems.iter().cloned());
        problems.sort();
        problems
    }

    /// The repo's own rule file, and where there are more.
    fn rules(&self) -> Option<RepoRules> {
        let nested = |name: &str| -> Vec<&str> {
            let ending = format!("/{name}");
            let paths = self.files.keys().filter(|path| path.ends_with(&ending));
            paths.take(NESTED).map(String::as_str).collect()
        };
        let is_there = |name: &&str| self.files.contains_key(*name) || !nested(name).is_empty();
        let name = RULES.into_iter().find(is_there)?;
        let mut text = self.files.get(name).cloned().unwrap_or_default();
        let list = nested(name).join(", ");
        if !list.is_empty() {
            text = format!(
                "Folders with rules of their own, to be read before work there: {list}.\n\n{text}"
            );
        }
        Some(RepoRules {
            name: name.to_owned(),
            text,
        })
    }

    fn below(&self, folder: &str) -> Vec<(String, String)> {
        let files = self
            .own_files()
            .filter(|(name, _)| name.starts_with(folder));
        files
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    }

    fn read_skills(&self) -> Skills {
        let mut files = self.below("skills/");
        if files.is_empty() {
            let shipped = builtin_files().iter();
            files = shipped
                .filter(|file| file.name.starts_with("skills/"))
                .map(|BuiltinFile { name, text }| ((*name).to_owned(), (*text).to_owned()))
                .collect();
        }
        files.retain(|(path, _)| path.matches('/').count() == 1);
        let mut read = read_skills(&files);
        for folder in FOLDERS {
            for (path, text) in &self.files {
                if skill_folder(path) == Some(folder) {
                    add(&mut read, path, text);
                }
            }
        }
        read.skills.sort_by(|one, other| one.name.cmp(&other.name));
        read.problems.sort();
        read
    }
}

/// The place of shared skills that a `SKILL.md` is in.
fn skill_folder(path: &str) -> Option<&'static str> {
    FOLDERS.into_iter().find(|folder| {
        let rest = path.strip_prefix(folder);
        let name = rest.and_then(|rest| rest.strip_suffix("/SKILL.md"));
        name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
    })
}

/// Adds a skill of the shared form. Several tools often find one skill in
/// several places; only different texts under one name are worth a word.
fn add(read: &mut Skills, path: &str, text: &str) {
    // Problems name our own files from `.codebutler/` on.
    let file = path.strip_prefix(HOME).unwrap_or(path);
    match parse_skill_folder(file, text) {
        Err(problems) => read.problems.extend(problems),
        Ok(mut skill) => {
            skill.folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
            let same = read.skills.iter().find(|other| other.name == skill.name);
            match same {
                None => read.skills.push(skill),
                Some(other) if other.prompt.text() == skill.prompt.text() => {}
                Some(_) => {
                    let name = &skill.name;
                    let what = format!("there is another skill \"{name}\"; this one is left out");
                    read.problems.push(Problem::new(file, 1, what));
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
