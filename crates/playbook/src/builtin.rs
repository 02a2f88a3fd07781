//! The files that `init` seeds a repo with, built into the binary.

use butler_protocol::Role;

use crate::{Skill, Workflow, parse_workflows, read_skills};

/// A file of the playbook as shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinFile {
    /// Its name below `.codebutler/`.
    pub name: &'static str,
    pub text: &'static str,
}

/// Every shipped file, in the order in which they are seeded.
pub const fn builtin_files() -> &'static [BuiltinFile] {
    &FILES
}

/// The shipped file of a role.
pub const fn role_file(role: Role) -> BuiltinFile {
    match role {
        Role::Pm => FILES[0],
        Role::Coder => FILES[1],
        Role::Reviewer => FILES[2],
        Role::Researcher => FILES[3],
        Role::Artist => FILES[4],
        Role::Lead => FILES[5],
    }
}

/// A shipped file by its name below `.codebutler/`.
pub fn builtin_file(name: &str) -> Option<BuiltinFile> {
    FILES.iter().find(|file| file.name == name).copied()
}

/// The shipped skills.
pub fn builtin_skills() -> Vec<Skill> {
    let files: Vec<_> = FILES
        .iter()
        .filter(|file| file.name.starts_with("skills/"))
        .map(|file| (file.name.to_owned(), file.text.to_owned()))
        .collect();
    read_skills(&files).skills
}

/// The shipped workflows.
pub fn builtin_workflows() -> Vec<Workflow> {
    let file = builtin_file("workflows.md");
    file.map(|file| parse_workflows(file.name, file.text).0)
        .unwrap_or_default()
}

macro_rules! shipped {
    ($name:literal) => {
        BuiltinFile {
            name: $name,
            text: include_str!(concat!("../../../roles/", $name)),
        }
    };
}

const FILES: [BuiltinFile; 19] = [
    shipped!("pm.md"),
    shipped!("coder.md"),
    shipped!("reviewer.md"),
    shipped!("researcher.md"),
    shipped!("artist.md"),
    shipped!("lead.md"),
    shipped!("global.md"),
    shipped!("workflows.md"),
    shipped!("skills/changelog.md"),
    shipped!("skills/docs.md"),
    shipped!("skills/explain.md"),
    shipped!("skills/hotfix.md"),
    shipped!("skills/release.md"),
    shipped!("skills/review-pr.md"),
    shipped!("skills/security-scan.md"),
    shipped!("skills/self-document.md"),
    shipped!("skills/status.md"),
    shipped!("skills/test.md"),
    shipped!("skills/triage-issue.md"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_own_file_with_the_headings_that_learnings_need() {
        for role in Role::ALL {
            let file = role_file(role);
            assert_eq!(file.name, format!("{role}.md"));
            assert!(
                file.text.starts_with(&format!("# {}\n", role.title())),
                "{role}"
            );
            for heading in [
                "## Project Map",
                "## Learnings",
                "## Working With Other Roles",
                "## Archived Learnings",
            ] {
                assert!(file.text.contains(heading), "{role} lacks {heading}");
            }
        }
    }
}
