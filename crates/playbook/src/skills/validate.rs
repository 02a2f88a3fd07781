//! All skills of a repo at once: the good ones, and what is wrong with the
//! others. Two skills with one trigger are both reported and the later is left
//! out, because nobody could say which was meant.

use std::collections::BTreeMap;

use crate::{Problem, Skill, skills::skill};

/// The skills that can run, and the problems of those that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// By name.
    pub skills: Vec<Skill>,
    /// By file and line.
    pub problems: Vec<Problem>,
}

/// Reads skill files, each as (path, text). The order of files does not matter.
pub(crate) fn read_skills(files: &[(String, String)]) -> Skills {
    let mut files: Vec<_> = files.iter().collect();
    files.sort();
    let mut read = Skills::default();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in files {
        let draft = skill::draft(path, text);
        let mut problems = draft.problems;
        let mut own: Vec<String> = Vec::new();
        for (line, trigger) in &draft.triggers {
            let shape = trigger.shape();
            let what = format!("duplicate trigger \"{}\"", trigger.text());
            let mut problem = Problem::new(path, *line, what);
            if own.contains(&shape) {
                problems.push(problem);
            } else if let Some(other) = seen.get(&shape) {
                problem.also = Some(other.clone());
                problems.push(problem);
            }
            own.push(shape);
        }
        match draft.skill {
            Some(skill) if problems.is_empty() => {
                let shapes = own.into_iter().map(|shape| (shape, path.clone()));
                seen.extend(shapes);
                read.skills.push(skill);
            }
            _ => {
                for shape in own {
                    seen.entry(shape).or_insert_with(|| path.clone());
                }
            }
        }
        problems.sort();
        read.problems.extend(problems);
    }
    read.skills.sort_by(|one, other| one.name.cmp(&other.name));
    read
}

/// Everything that is wrong with the skill files of a repo.
pub fn validate_skills(files: &[(String, String)]) -> Vec<Problem> {
    read_skills(files).problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# deploy\n\nDeploys.\n\n## Trigger\ndeploy, deploy to {env}\n\n## Agent\ncoder\n\n## Prompt\nDeploy to {{env | default: \"staging\"}}.\n";

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        let files: Vec<_> = files.iter().map(owned).collect();
        let found: Vec<_> = validate_skills(&files)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_good_file_has_no_problem() {
        check(&[("deploy.md", GOOD)], &[]);
    }

    #[test]
    fn each_error_of_the_specification_in_its_wording_with_its_line() {
        let without = |section: &str| {
            let cut = crate::without_section(GOOD, &format!("## {section}"));
            cut.replace("{{env | default: \"staging\"}}", "x")
        };
        check(
            &[("deploy.md", &without("Agent"))],
            &["deploy.md:1: missing ## Agent section"],
        );
        check(
            &[("deploy.md", &without("Trigger"))],
            &["deploy.md:1: missing ## Trigger section"],
        );
        check(
            &[("deploy.md", &without("Prompt"))],
            &["deploy.md:1: missing ## Prompt section"],
        );
        check(
            &[("deploy.md", &GOOD.replace("# deploy\n\nDeploys.\n", ""))],
            &["deploy.md:1: missing # name section"],
        );
        check(
            &[("deploy.md", &GOOD.replace("coder", "builder"))],
            &[
                "deploy.md:9: agent \"builder\" is not a valid role (pm, coder, reviewer, researcher, artist, lead)",
            ],
        );
        let release = GOOD
            .replace("# deploy", "# release")
            .replace("deploy, deploy to {env}", "release {env}, Deploy");
        check(
            &[("release.md", &release), ("deploy.md", GOOD)],
            &["deploy.md and release.md:6: duplicate trigger \"Deploy\""],
        );
        check(
            &[("deploy.md", &GOOD.replace("deploy to {env}", "ship"))],
            &["deploy.md:12: {{env}} used in prompt but no {env} in triggers"],
        );
        check(
            &[(
                "deploy.md",
                &GOOD.replace("Deploy to {{env | default: \"staging\"}}.\n", " \n"),
            )],
            &["deploy.md:11: ## Prompt section is empty"],
        );
    }

    #[test]
    fn what_the_specification_forgot() {
        check(
            &[("skills/ship.md", GOOD)],
            &["skills/ship.md:1: name \"deploy\" differs from the file's name \"ship\""],
        );
        check(
            &[("deploy.md", &GOOD.replace("Deploys.\n", ""))],
            &["deploy.md:1: missing one-line description under # name"],
        );
        check(
            &[(
                "deploy.md",
                &GOOD.replace("deploy, ", "{env}, deploy to {target}, "),
            )],
            &[
                "deploy.md:6: duplicate trigger \"deploy to {env}\"",
                "deploy.md:6: trigger \"{env}\" has no words of its own",
            ],
        );
        check(
            &[("deploy.md", &GOOD.replace("default:", "otherwise"))],
            &[
                "deploy.md:12: {{env | otherwise \"staging\"}}: only | default: \"…\" may follow a name",
            ],
        );
        check(
            &[("deploy.md", "")],
            &[
                "deploy.md:1: missing # name section",
                "deploy.md:1: missing ## Agent section",
                "deploy.md:1: missing ## Prompt section",
                "deploy.md:1: missing ## Trigger section",
            ],
        );
    }

    #[test]
    fn one_bad_file_does_not_stop_the_others() {
        let files = [
            ("deploy.md".to_owned(), GOOD.to_owned()),
            ("broken.md".to_owned(), "# broken\n".to_owned()),
        ];
        let read = read_skills(&files);
        assert_eq!(read.skills.len(), 1);
        assert_eq!(read.skills[0].name, "deploy");
        assert!(!read.problems.is_empty());
    }
}
