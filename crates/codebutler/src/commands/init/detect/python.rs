//! Python: the tools that its files mention, run by the environment manager
//! whose lock file is there, else in a virtual environment of the checkout.

use std::path::Path;

use super::{Detected, text};

const MARKERS: [&str; 6] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "tox.ini",
];

pub fn detect(folder: &Path) -> Option<Detected> {
    let texts: Vec<String> = MARKERS
        .iter()
        .filter_map(|name| text(folder, name))
        .collect();
    if texts.is_empty() {
        return None;
    }
    let mentions = |word: &str| texts.iter().any(|text| text.contains(word));
    let has = |name: &str| folder.join(name).exists();
    let (run, prepare) = environment(folder, &texts);
    let mut found = Detected {
        prepare,
        ..Detected::default()
    };
    if mentions("pytest") || has("pytest.ini") || has("conftest.py") || has("tests/conftest.py") {
        found.check("test", format!("{run} pytest"));
    } else if has("tests") || has("test") {
        let place = if has("tests") { "tests" } else { "test" };
        found.check("test", format!("{run} unittest discover -s {place}"));
    }
    if mentions("ruff") || has("ruff.toml") || has(".ruff.toml") {
        found.check("lint", format!("{run} ruff check ."));
    } else if mentions("flake8") || has(".flake8") {
        found.check("lint", format!("{run} flake8"));
    }
    if mentions("mypy") || has("mypy.ini") {
        found.check("types", format!("{run} mypy ."));
    }
    Some(found)
}

/// How a module is run, and what makes that possible.
fn environment(folder: &Path, texts: &[String]) -> (&'static str, Vec<String>) {
    let has = |name: &str| folder.join(name).exists();
    if has("uv.lock") {
        return ("uv run python -m", vec!["uv sync --locked".into()]);
    }
    if has("poetry.lock") {
        return ("poetry run python -m", vec!["poetry install".into()]);
    }
    if !texts.iter().any(|text| needs_packages(text)) && !has("requirements.txt") {
        // Nothing to install: the python that is there runs it, in every worktree.
        return ("python3 -m", Vec::new());
    }
    let mut prepare = vec!["python3 -m venv .venv".to_owned()];
    for name in ["requirements.txt", "requirements-dev.txt"] {
        if has(name) {
            prepare.push(format!(".venv/bin/pip install -r {name}"));
        }
    }
    if has("pyproject.toml") || has("setup.py") {
        prepare.push(".venv/bin/pip install -e .".into());
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
    use super::*;

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
