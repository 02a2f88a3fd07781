//! Python: the tools that its files mention, run by the environment manager
//! whose lock file is there, else in a virtual environment of the checkout, with
//! what the project itself says its tests need.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::commands::setup::init::detect::{
    Detected,
    pyproject::{Pyproject, requirement_name},
    text,
};

const MARKERS: [&str; 6] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "tox.ini",
];

/// What people call the packages that only checks need.
const FOR_TESTS: [&str; 6] = ["test", "tests", "testing", "dev", "develop", "lint"];

/// Files with the same.
const REQUIREMENTS: [&str; 6] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
];

/// Whether tests of the standard library stand beside the code: in the root, or in a
/// package of it.
fn beside_the_code(folder: &Path) -> bool {
    let names = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let is_test = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("test")
            && name.ends_with(".py")
            && fs::read_to_string(file).is_ok_and(|text| text.contains("unittest"))
    };
    let top = names(folder);
    let packages = top.iter().filter(|dir| dir.join("__init__.py").is_file());
    let mut within = packages.flat_map(|dir| names(dir));
    top.iter().any(is_test) || within.any(|file| is_test(&file))
}

pub(crate) fn detect(folder: &Path) -> Option<Detected> {
    let texts: Vec<String> = MARKERS
        .iter()
        .filter_map(|name| text(folder, name))
        .collect();
    if texts.is_empty() {
        return None;
    }
    let mentions = |word: &str| texts.iter().any(|text| text.contains(word));
    let has = |name: &str| folder.join(name).exists();
    let mut tools = Vec::new();
    let mut checks = Vec::new();
    if mentions("pytest") || has("pytest.ini") || has("conftest.py") || has("tests/conftest.py") {
        tools.push("pytest");
        checks.push(("test", "pytest".to_owned()));
    } else if has("tests") || has("test") {
        let place = if has("tests") { "tests" } else { "test" };
        checks.push(("test", format!("unittest discover -s {place}")));
    } else if beside_the_code(folder) {
        checks.push(("test", "unittest discover".to_owned()));
    }
    if mentions("ruff") || has("ruff.toml") || has(".ruff.toml") {
        tools.push("ruff");
        checks.push(("lint", "ruff check .".to_owned()));
    } else if mentions("flake8") || has(".flake8") {
        tools.push("flake8");
        checks.push(("lint", "flake8".to_owned()));
    }
    if mentions("mypy") || has("mypy.ini") {
        tools.push("mypy");
        checks.push(("types", mypy(folder, &texts)));
    }
    let (run, prepare) = environment(folder, &texts, &tools);
    let mut found = Detected {
        prepare,
        ..Detected::default()
    };
    for (name, command) in checks {
        found.check(name, format!("{run} {command}"));
    }
    Some(found)
}

/// With the files that the project's own configuration names, where it does.
fn mypy(folder: &Path, texts: &[String]) -> String {
    let own = [text(folder, "mypy.ini"), text(folder, ".mypy.ini")];
    let named = |text: &String| {
        let sections = text.split("\n[");
        sections
            .filter(|section| {
                let head = section.lines().next().unwrap_or_default();
                head.trim_start_matches('[')
                    .trim_end_matches(']')
                    .trim_end()
                    == "tool.mypy"
                    || head.trim_start_matches('[').starts_with("mypy]")
            })
            .any(|section| {
                let mut keys = section.lines().filter_map(|line| line.split_once('='));
                keys.any(|(key, _)| matches!(key.trim(), "files" | "packages" | "modules"))
            })
    };
    if own.iter().flatten().chain(texts).any(named) {
        return "mypy".to_owned();
    }
    if let Some(said) = as_the_project_runs_it(folder) {
        return said;
    }
    let place = if folder.join("src").is_dir() {
        "src"
    } else {
        "."
    };
    format!("mypy {place}")
}

/// How the project's own commands call it, where they name its files.
fn as_the_project_runs_it(folder: &Path) -> Option<String> {
    const COMMANDS: [&str; 4] = ["tox.ini", "noxfile.py", "Makefile", "justfile"];
    let texts = COMMANDS.iter().filter_map(|name| text(folder, name));
    let places = |line: &str| -> Option<String> {
        let (_, after) = line.split_once("mypy ")?;
        let words = after
            .split_whitespace()
            .filter(|word| !word.starts_with('-'));
        let words: Vec<&str> = words.collect();
        let there = |word: &&str| folder.join(word).exists();
        (!words.is_empty() && words.iter().all(there)).then(|| format!("mypy {}", words.join(" ")))
    };
    texts
        .into_iter()
        .find_map(|text| text.lines().find_map(places))
}

/// Takes a tool out of what is installed when the check that needed it is left out
/// and no other one needs it. What the project itself asks for stays.
pub(crate) fn forget_tool(prepare: &mut Vec<String>, left_out: &str, kept: &[(String, String)]) {
    let tool_of = |command: &str| {
        let (_, module) = command.split_once("python -m ")?;
        module.split_whitespace().next().map(str::to_owned)
    };
    let Some(tool) = tool_of(left_out) else {
        return;
    };
    if kept
        .iter()
        .any(|(_, command)| tool_of(command).as_ref() == Some(&tool))
    {
        return;
    }
    prepare.retain_mut(|command| {
        let Some((before, tools)) = command.split_once("pip install ") else {
            return true;
        };
        let ours = |word: &str| !word.starts_with('-') && !word.contains(['\'', '.', '/']);
        if !tools.split_whitespace().all(ours) {
            return true;
        }
        let left: Vec<&str> = tools
            .split_whitespace()
            .filter(|one| *one != tool)
            .collect();
        let (keep, text) = (
            !left.is_empty(),
            format!("{before}pip install {}", left.join(" ")),
        );
        *command = text;
        keep
    });
}

/// How a module is run, and what makes that possible.
fn environment(folder: &Path, texts: &[String], tools: &[&str]) -> (&'static str, Vec<String>) {
    let has = |name: &str| folder.join(name).exists();
    let project = Pyproject::read(&text(folder, "pyproject.toml").unwrap_or_default());
    let extras = project.chosen_extras(&FOR_TESTS);
    if has("uv.lock") {
        let extras = extras.iter().map(|extra| format!(" --extra {extra}"));
        let sync = format!("uv sync --locked{}", extras.collect::<String>());
        return ("uv run python -m", vec![sync]);
    }
    if has("poetry.lock") {
        return ("poetry run python -m", vec!["poetry install".into()]);
    }
    if !texts.iter().any(|text| needs_packages(text)) && !has("requirements.txt") {
        // Nothing to install: the python that is there runs it, in every worktree.
        return ("python3 -m", Vec::new());
    }
    let groups = project.chosen_groups(&FOR_TESTS);
    // Groups are known to newer installers than those that come with Python.
    let newest = if groups.is_empty() {
        ""
    } else {
        " --upgrade-deps"
    };
    let mut prepare = vec![format!("python3 -m venv{newest} .venv")];
    let mut listed = project.requirements();
    for name in REQUIREMENTS {
        if let Some(text) = text(folder, name) {
            listed.extend(text.lines().map(requirement_name));
            prepare.push(format!(".venv/bin/pip install -r {name}"));
        }
    }
    if project.installs() || has("setup.py") {
        let extras = match extras.as_slice() {
            [] => String::new(),
            extras => format!("[{}]", extras.join(",")),
        };
        let own = if extras.is_empty() {
            ".".to_owned()
        } else {
            format!("'.{extras}'")
        };
        let groups = groups.iter().map(|group| format!(" --group {group}"));
        prepare.push(format!(
            ".venv/bin/pip install -e {own}{}",
            groups.collect::<String>()
        ));
    }
    // In setup.py and setup.cfg a list is code, so a tool that stands there counts.
    let code = ["setup.py", "setup.cfg"].map(|name| text(folder, name).unwrap_or_default());
    let missing: Vec<&str> = tools
        .iter()
        .filter(|tool| !listed.iter().any(|name| name == *tool))
        .filter(|tool| {
            !code.iter().any(|text| {
                text.contains(&format!("\"{tool}")) || text.contains(&format!("'{tool}"))
            })
        })
        .copied()
        .collect();
    if !missing.is_empty() {
        prepare.push(format!(".venv/bin/pip install {}", missing.join(" ")));
    }
    (".venv/bin/python -m", prepare)
}

/// Whether a project file names anything beyond the standard library: a list of
/// dependencies that is not empty, or a tool that has to be installed.
fn needs_packages(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "install_requires",
        "tests_require",
        "setup_requires",
        "extras_require",
        "optional-dependencies",
        "dependency-groups",
        "[tool.poetry",
        "pytest",
        "ruff",
        "flake8",
        "mypy",
        "deps",
    ];
    let named = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let list = key.trim() == "dependencies" && value.trim() != "[]";
        list || WORDS.iter().any(|word| line.contains(word))
    };
    text.lines().any(named)
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::init::detect::python::*;

    #[test]
    fn a_project_of_the_standard_library_alone_needs_no_environment() {
        for plain in [
            "[project]\nname = \"tally\"\nversion = \"1\"\n",
            "[project]\ndependencies = []\n",
            "from setuptools import setup\nsetup(name='x')\n",
        ] {
            assert!(!needs_packages(plain), "{plain}");
        }
        for needy in [
            "[project]\ndependencies = [\n  \"requests\",\n]\n",
            "setup(install_requires=['x'])",
            "[project.optional-dependencies]\ntest = [\"pytest\"]\n",
            "[tool.ruff]\n",
        ] {
            assert!(needs_packages(needy), "{needy}");
        }
    }
}
