//! One look at everything a team keeps under `.codebutler/`.

use butler_protocol::Role;

use crate::{Memory, Problem, Research, Roadmap, parse_workflows, validate_skills};

/// Everything that is wrong with the files of a playbook, each given as (path
/// below `.codebutler/`, text): skills, workflows, the roadmap, learnings, research.
/// Files of other kinds are left alone.
pub fn validate(files: &[(String, String)]) -> Vec<Problem> {
    let is_skill = |path: &str| {
        let name = path.strip_prefix("skills/");
        name.is_some_and(|name| name.ends_with(".md") && !name.contains('/'))
    };
    let mut skills = Vec::new();
    let mut research = Vec::new();
    let mut global = "";
    let mut problems = Vec::new();
    for (path, text) in files {
        let is_role = Role::ALL.iter().any(|role| *path == format!("{role}.md"));
        match path.as_str() {
            path if is_skill(path) => skills.push((path.to_owned(), text.clone())),
            "workflows.md" => problems.extend(parse_workflows(path, text).1),
            "roadmap.md" => problems.extend(Roadmap::parse(text.as_str()).problems(path)),
            path if path.starts_with("research/") && path.ends_with(".md") => {
                research.push((path.to_owned(), text.clone()));
            }
            _ if is_role || path == "global.md" => {
                if path == "global.md" {
                    global = text;
                }
                problems.extend_from_slice(Memory::parse(path, text.as_str()).problems());
            }
            _ => {}
        }
    }
    problems.extend(validate_skills(&skills));
    problems.extend(Research::new(research, global).problems("global.md"));
    problems.sort();
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin_files;

    #[test]
    fn each_kind_of_file_is_looked_at() {
        let shipped: Vec<_> = builtin_files()
            .iter()
            .map(|file| (file.name.to_owned(), file.text.to_owned()))
            .collect();
        assert_eq!(validate(&shipped), []);
        let lesson = "## Learnings\n### A\n- **When:** a\n- **Rule:** b\n- **Example:** c\n- **Confidence:** low\n";
        let files = [
            ("skills/a.md", "# a\n\nx\n\n## Trigger\na\n\n## Agent\npm\n"),
            ("skills/deep/SKILL.md", ""),
            ("workflows.md", "## a\nx\n\n## a\n"),
            ("roadmap.md", "## 1. A\nDepends on: 1\n"),
            ("coder.md", lesson),
            ("global.md", lesson),
            ("research/a.md", lesson),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()));
        let found: Vec<_> = validate(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "coder.md:2: learning \"A\" has no **Source:**",
                "global.md:2: learning \"A\" has no **Source:**",
                "research/a.md:1: missing # title",
                "research/a.md:1: missing ## Sources section",
                "research/a.md:1: missing date: write \"Found on 2026-02-20.\"",
                "research/a.md:1: not in the research index of global.md",
                "roadmap.md:1: item 1 depends on itself",
                "skills/a.md:1: missing ## Prompt section",
                "workflows.md:4: workflow \"a\" is there twice",
            ]
        );
    }
}
