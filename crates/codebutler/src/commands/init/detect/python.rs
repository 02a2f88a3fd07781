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
    let (run, prepare) = environment(folder);
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
fn environment(folder: &Path) -> (&'static str, Vec<String>) {
    let has = |name: &str| folder.join(name).exists();
    if has("uv.lock") {
        return ("uv run python -m", vec!["uv sync --locked".into()]);
    }
    if has("poetry.lock") {
        return ("poetry run python -m", vec!["poetry install".into()]);
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
