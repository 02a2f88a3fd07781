//! Skills in the form that other agents share: a folder with a `SKILL.md`, whose
//! front matter has a name and a description and whose body is the instruction.
//!
//! Such a file knows nothing of our roles. It belongs to the PM, who may hand it
//! on, unless its `metadata` names an `agent`; its only trigger is its name.
//! Braces in its text are its own: nothing is filled in.

use std::collections::BTreeMap;

use butler_protocol::Role;
use serde::Deserialize;

use crate::{
    Problem, Skill,
    markdown::outline::lines,
    one_line,
    skills::{template::Template, trigger::Trigger},
};

/// The form's own limits.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1024;

/// What we read of the front matter; the rest is for others.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FrontMatter {
    name: String,
    description: String,
    metadata: BTreeMap<String, Plain>,
}

/// People write numbers and booleans into metadata; only text concerns us.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Plain {
    Text(String),
    Other(serde::de::IgnoredAny),
}

/// Reads the `SKILL.md` of a folder. `file` is its path; the folder's name has
/// to be the skill's.
/// Errors: everything that is wrong with it, in the order of lines.
pub(crate) fn parse_skill_folder(file: &str, text: &str) -> Result<Skill, Vec<Problem>> {
    let problem = |line: usize, what: String| Problem::new(file, line, what);
    let Some((head, body)) = front_matter(text) else {
        let what = "missing front matter: begin with ---, name, description, ---";
        return Err(vec![problem(1, what.to_owned())]);
    };
    let head: FrontMatter = serde_saphyr::from_str(head).map_err(|error| {
        let line = error.location().map_or(1, |place| place.line());
        let line = usize::try_from(line).unwrap_or(1) + 1;
        let what = error.to_string();
        let what = what.lines().next().unwrap_or_default();
        vec![problem(
            line,
            format!("the front matter is no YAML: {what}"),
        )]
    })?;
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut problems = check(file, text, folder, &head, body);
    let agent = agent(file, text, &head, &mut problems);
    let trigger = match Trigger::parse(&head.name) {
        Ok(trigger) if problems.is_empty() => trigger,
        _ => return Err(problems),
    };
    Ok(Skill {
        name: head.name,
        description: one_line(&head.description),
        triggers: vec![trigger],
        agent,
        changes_code: false,
        prompt: Template::plain(body.trim()),
        folder: Some(folder.to_owned()),
    })
}

/// What is between the two lines of dashes, and what follows them.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = lines(text).into_iter();
    let first = rows.next().filter(|line| line.raw.trim_end() == "---")?;
    let last = rows.find(|line| line.raw.trim_end() == "---")?;
    Some((&text[first.end()..last.start], &text[last.end()..]))
}

fn check(file: &str, text: &str, folder: &str, head: &FrontMatter, body: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report =
        |key: &str, what: String| problems.push(Problem::new(file, line_of(text, key), what));
    let named = head.name.as_str();
    let stem = folder.rsplit('/').next().unwrap_or(folder);
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let name = if named.is_empty() {
        Some("missing name in the front matter".to_owned())
    } else if named.len() > NAME_CHARS || !named.bytes().all(fits) {
        let form = "lower-case letters, digits and dashes";
        Some(format!("name \"{named}\": {form}, {NAME_CHARS} at most"))
    } else {
        let other = format!("name \"{named}\" differs from the folder's name \"{stem}\"");
        (named != stem).then_some(other)
    };
    if let Some(what) = name {
        report("name", what);
    }
    let length = head.description.chars().count();
    if head.description.trim().is_empty() {
        let what = "missing description in the front matter";
        report("description", what.to_owned());
    } else if length > DESCRIPTION_CHARS {
        let what = format!("the description has {length} characters of {DESCRIPTION_CHARS}");
        report("description", what);
    }
    if body.trim().is_empty() {
        report("", "nothing follows the front matter".to_owned());
    }
    problems.sort();
    problems
}

fn agent(file: &str, text: &str, head: &FrontMatter, problems: &mut Vec<Problem>) -> Role {
    let Some(Plain::Text(word)) = head.metadata.get("agent") else {
        return Role::Pm;
    };
    word.parse().unwrap_or_else(|_| {
        let roles = Role::ALL.map(Role::as_str).join(", ");
        let what = format!("agent \"{word}\" is not a valid role ({roles})");
        problems.push(Problem::new(file, line_of(text, "agent"), what));
        Role::Pm
    })
}

/// The line of a key of the front matter, else the first.
fn line_of(text: &str, key: &str) -> usize {
    let start = format!("{key}:");
    let mut rows = lines(text).into_iter();
    let found = rows.find(|line| !key.is_empty() && line.text().starts_with(&start));
    found.map_or(1, |line| line.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Captures;

    const PDF: &str = "---\nname: pdf-forms\ndescription: >\n  Fill in PDF forms.\n  Use it for forms.\nlicense: MIT\nmetadata:\n  agent: coder\n  version: 2\n---\n\n# PDF forms\n\nRun `scripts/fill.py {{form}}`.\n";

    fn found(file: &str, text: &str) -> Vec<String> {
        let problems = parse_skill_folder(file, text).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_folder_is_a_skill_whose_text_is_left_alone() {
        let skill = parse_skill_folder(".claude/skills/pdf-forms/SKILL.md", PDF).unwrap();
        assert_eq!(skill.name, "pdf-forms");
        assert_eq!(skill.description, "Fill in PDF forms. Use it for forms.");
        assert_eq!(skill.agent, Role::Coder);
        assert_eq!(skill.folder.as_deref(), Some(".claude/skills/pdf-forms"));
        let text = skill.resolve(&Captures::new()).unwrap();
        assert_eq!(text, "# PDF forms\n\nRun `scripts/fill.py {{form}}`.");
        let windows = PDF.replace('\n', "\r\n");
        assert!(parse_skill_folder("pdf-forms/SKILL.md", &windows).is_ok());
        let nobody = PDF.replace("  agent: coder\n", "");
        let skill = parse_skill_folder("pdf-forms/SKILL.md", &nobody).unwrap();
        assert_eq!(skill.agent, Role::Pm);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let file = "skills/pdf-forms/SKILL.md";
        for (text, expected) in [
            ("# PDF\n".to_owned(), "SKILL.md:1: missing front matter"),
            (
                PDF.replace("---\n\n#", "#"),
                "SKILL.md:1: missing front matter",
            ),
            (
                PDF.replace("name: pdf-forms", "name: PDF"),
                "SKILL.md:2: name \"PDF\": lower-case",
            ),
            (
                PDF.replace("name: pdf-forms", "name: other"),
                "SKILL.md:2: name \"other\" differs from the folder's name \"pdf-forms\"",
            ),
            (
                PDF.replace("name: pdf-forms\n", ""),
                "SKILL.md:1: missing name",
            ),
            (
                PDF.replace("coder", "builder"),
                "SKILL.md:8: agent \"builder\" is not a valid role",
            ),
            (
                PDF.replace("license: MIT", "license: [MIT"),
                "the front matter is no YAML",
            ),
            (
                "---\nname: pdf-forms\ndescription: x\n---\n \n".to_owned(),
                "SKILL.md:1: nothing follows",
            ),
            (
                "---\nname: pdf-forms\n---\nx\n".to_owned(),
                "SKILL.md:1: missing description",
            ),
        ] {
            let found = found(file, &text);
            assert!(found[0].contains(expected), "{found:?} has no {expected}");
        }
    }
}
