//! The few things of a `pyproject.toml` that a guess needs: its lists of
//! requirements. Not a reader of the format; what it does not understand it
//! leaves out, and a person sees the guess.

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Pyproject {
    /// Section, key and entries of each list of texts.
    lists: Vec<(String, String, Vec<String>)>,
    sections: Vec<String>,
}

impl Pyproject {
    /// Reads what can be read.
    pub(crate) fn read(text: &str) -> Self {
        let mut found = Self::default();
        let mut section = String::new();
        let mut open: Option<(String, String)> = None;
        for line in text.lines().map(str::trim) {
            if let Some((key, list)) = &mut open {
                list.push_str(line);
                if closes(list) {
                    let entries = texts(list);
                    found.lists.push((section.clone(), key.clone(), entries));
                    open = None;
                }
                continue;
            }
            if line.starts_with('[') && line.ends_with(']') && !line.contains('=') {
                section = line.trim_matches(['[', ']']).trim().to_owned();
                found.sections.push(section.clone());
            } else if let Some((key, value)) = line.split_once('=')
                && value.trim_start().starts_with('[')
            {
                let key = key.trim().trim_matches('"').to_owned();
                let list = value.trim().to_owned();
                if closes(&list) {
                    found.lists.push((section.clone(), key, texts(&list)));
                } else {
                    open = Some((key, list));
                }
            }
        }
        found
    }

    /// Whether it can be installed.
    pub(crate) fn installs(&self) -> bool {
        let known = ["project", "build-system", "tool.poetry"];
        self.sections
            .iter()
            .any(|section| known.contains(&section.as_str()))
    }

    /// The optional dependencies of these names.
    pub(crate) fn chosen_extras(&self, names: &[&str]) -> Vec<String> {
        self.named("project.optional-dependencies", names)
    }

    /// The dependency groups of these names.
    pub(crate) fn chosen_groups(&self, names: &[&str]) -> Vec<String> {
        self.named("dependency-groups", names)
    }

    fn named(&self, section: &str, names: &[&str]) -> Vec<String> {
        let of_section = self.lists.iter().filter(|(of, _, _)| of == section);
        of_section
            .filter(|(_, key, _)| names.contains(&key.as_str()))
            .map(|(_, key, _)| key.clone())
            .collect()
    }

    /// The names of all packages that it lists.
    pub(crate) fn requirements(&self) -> Vec<String> {
        let lists = self.lists.iter().filter(|(section, key, _)| {
            matches!(
                section.as_str(),
                "project.optional-dependencies" | "dependency-groups"
            ) || (section == "project" && key == "dependencies")
        });
        lists
            .flat_map(|(_, _, entries)| entries.iter().map(|entry| requirement_name(entry)))
            .collect()
    }
}

/// The name in `pytest-cov[toml] >= 4; python_version > "3.8"`.
pub(crate) fn requirement_name(text: &str) -> String {
    let end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let name = text.trim().split(end).next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Whether a list has come to its end: brackets in texts do not count.
fn closes(list: &str) -> bool {
    let mut depth = 0i32;
    let mut quote = None;
    for letter in list.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    depth <= 0
}

/// The texts in a list.
fn texts(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = list;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = &rest[start..=start];
        let after = &rest[start + 1..];
        let Some(end) = after.find(quote) else { break };
        found.push(after[..end].to_owned());
        rest = &after[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::init::detect::pyproject::*;

    #[test]
    fn lists_of_requirements_are_read_over_lines_and_brackets() {
        let project = Pyproject::read(
            "[build-system]\nrequires = [\"hatchling\"]\n[project]\nname = \"x\"\ndependencies = [\n  \"a[b]>=1\",\n]\n\
             [project.optional-dependencies]\ntest = ['pytest >= 7', \"Pytest-Cov\"]\ndocs = [\"sphinx\"]\n\
             [dependency-groups]\ndev = [\n  {include-group = \"x\"},\n  \"mypy\",\n]\n",
        );
        assert!(project.installs());
        assert_eq!(project.chosen_extras(&["test", "dev"]), ["test"]);
        assert_eq!(project.chosen_groups(&["test", "dev"]), ["dev"]);
        let names = project.requirements();
        for name in ["a", "pytest", "pytest-cov", "mypy"] {
            assert!(names.iter().any(|one| one == name), "{name}: {names:?}");
        }
        assert!(!Pyproject::read("[tool.ruff]\nselect = [\"E\"]\n").installs());
    }
}
