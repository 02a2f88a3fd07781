use std::fs;

use crate::commands::setup::init::detect::*;

/// Makes the files (name, text) in a scratch folder and compares what is found.
fn check(files: &[(&str, &str)], checks: &[(&str, &str)], prepare: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let found = Detected::of(dir.path());
    let found_checks: Vec<_> = found
        .checks
        .iter()
        .map(|(n, c)| (n.as_str(), c.as_str()))
        .collect();
    assert_eq!(found_checks, checks, "{files:?}");
    assert_eq!(found.prepare, prepare, "{files:?}");
}

#[test]
fn an_empty_folder_has_nothing() {
    check(&[], &[], &[]);
    check(&[("README.md", "cargo npm pytest")], &[], &[]);
}

#[test]
fn rust() {
    check(
        &[
            ("Cargo.toml", "[package]\nname = \"x\"\n"),
            ("Cargo.lock", ""),
        ],
        &[
            ("test", "cargo test"),
            ("lint", "cargo clippy --all-targets -- -D warnings"),
            ("format", "cargo fmt --all --check"),
        ],
        &["cargo fetch --locked"],
    );
    check(
        &[("Cargo.toml", "[workspace]\nmembers = []\n")],
        &[
            ("test", "cargo test --workspace"),
            (
                "lint",
                "cargo clippy --workspace --all-targets -- -D warnings",
            ),
            ("format", "cargo fmt --all --check"),
        ],
        &["cargo fetch"],
    );
}

#[test]
fn node_with_each_package_manager() {
    let package = r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "dev": "vite"},
        "devDependencies": {"vitest": "1"}}"#;
    for (lock, manager, install) in [
        ("package-lock.json", "npm", "npm ci"),
        ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn", "yarn install --frozen-lockfile"),
        ("bun.lock", "bun", "bun install --frozen-lockfile"),
        ("other", "npm", "npm install --no-package-lock"),
    ] {
        let (lint, test) = (format!("{manager} run lint"), format!("{manager} run test"));
        check(
            &[("package.json", package), (lock, "")],
            &[("lint", &lint), ("test", &test)],
            &[install],
        );
    }
}

#[test]
fn a_node_package_without_scripts_or_dependencies_is_left_alone() {
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[("package.json", placeholder)], &[], &[]);
    check(&[("package.json", "{ not json")], &[], &[]);
    check(&[("package.json", "[1]")], &[], &[]);
}

#[test]
fn python_with_each_manager() {
    let project =
        "[project]\nname = \"x\"\n[tool.ruff]\n[dependency-groups]\ndev = [\"pytest\", \"mypy\"]\n";
    for (lock, run, prepare) in [
        ("uv.lock", "uv run python -m", vec!["uv sync --locked"]),
        (
            "poetry.lock",
            "poetry run python -m",
            vec!["poetry install"],
        ),
        (
            "none",
            ".venv/bin/python -m",
            vec![
                "python3 -m venv --upgrade-deps .venv",
                ".venv/bin/pip install -e . --group dev",
                ".venv/bin/pip install ruff",
            ],
        ),
    ] {
        check(
            &[("pyproject.toml", project), (lock, "")],
            &[
                ("test", &format!("{run} pytest")),
                ("lint", &format!("{run} ruff check .")),
                ("types", &format!("{run} mypy .")),
            ],
            &prepare,
        );
    }
    // Tests that stand beside the code.
    let project = "[project]\nname = \"x\"\n";
    let run = "python3 -m unittest discover";
    for (place, file, text, found) in [
        ("x/__init__.py", "x/test_x.py", "import unittest\n", true),
        (
            "x/__init__.py",
            "test_x.py",
            "from unittest import TestCase\n",
            true,
        ),
        ("x/__init__.py", "x/test_x.py", "print('no test')\n", false),
        ("x/a.py", "x/test_x.py", "import unittest\n", false),
    ] {
        let files = [("pyproject.toml", project), (place, ""), (file, text)];
        let checks = [("test", run)];
        check(&files, if found { &checks } else { &[] }, &[]);
    }
    check(
        &[("requirements.txt", "flask\n"), ("tests/test_x.py", "")],
        &[("test", ".venv/bin/python -m unittest discover -s tests")],
        &[
            "python3 -m venv .venv",
            ".venv/bin/pip install -r requirements.txt",
        ],
    );
}

#[test]
fn python_installs_what_the_project_says_its_tests_need() {
    let project = "[project]\nname = \"x\"\n[project.optional-dependencies]\ntest = [\"pytest>=7\"]\ndocs = [\"sphinx\"]\n\
                   [tool.mypy]\nfiles = [\"src\", \"tests\"]\n";
    check(
        &[("pyproject.toml", project)],
        &[
            ("test", ".venv/bin/python -m pytest"),
            ("types", ".venv/bin/python -m mypy"),
        ],
        &[
            "python3 -m venv .venv",
            ".venv/bin/pip install -e '.[test]'",
            ".venv/bin/pip install mypy",
        ],
    );
    check(
        &[("pyproject.toml", project), ("uv.lock", "")],
        &[
            ("test", "uv run python -m pytest"),
            ("types", "uv run python -m mypy"),
        ],
        &["uv sync --locked --extra test"],
    );
    // Only settings of tools, nothing to install of its own.
    check(
        &[
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("requirements-dev.txt", "pytest==8\n"),
        ],
        &[("test", ".venv/bin/python -m pytest")],
        &[
            "python3 -m venv .venv",
            ".venv/bin/pip install -r requirements-dev.txt",
        ],
    );
}

#[test]
fn what_only_macs_build_is_found_by_its_marker_and_named_as_untested() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Package.swift"), "").unwrap();
    fs::write(dir.path().join("Podfile"), "").unwrap();
    let found = Detected::of(dir.path());
    assert_eq!(found.prepare, ["swift package resolve", "pod install"]);
    assert_eq!(found.untested, ["Swift packages", "CocoaPods"]);
}

#[test]
fn go_and_make() {
    check(
        &[("go.mod", "module x\nrequire example.com/y v1.0.0\n")],
        &[
            ("test", "go test ./..."),
            ("lint", "go vet ./..."),
            ("build", "go build ./..."),
        ],
        &["go mod download"],
    );
    check(
        &[("go.mod", "module x\n")],
        &[
            ("test", "go test ./..."),
            ("lint", "go vet ./..."),
            ("build", "go build ./..."),
        ],
        &[],
    );
    let makefile = "X := 1\nbuild:=no\n.PHONY: test\nlint test: deps\n\tcheck: x\nLINTER = a:b\n";
    check(
        &[("Makefile", makefile)],
        &[("test", "make test"), ("lint", "make lint")],
        &[],
    );
}

#[test]
fn several_languages_share_a_root_and_the_makefile_fills_gaps() {
    check(
        &[
            ("go.mod", "module x\n"),
            (
                "package.json",
                r#"{"scripts": {"test": "x", "build": "y"}}"#,
            ),
            ("Makefile", "test:\ncheck:\n"),
        ],
        &[
            ("build", "npm run build"),
            ("test", "npm run test"),
            ("go-test", "go test ./..."),
            ("lint", "go vet ./..."),
            ("go-build", "go build ./..."),
            ("check", "make check"),
        ],
        &[],
    );
}

#[test]
fn projects_one_level_down_are_found_when_the_root_has_none() {
    check(
        &[
            ("api/go.mod", "module x\n"),
            ("my web/package.json", r#"{"scripts": {"test": "x"}}"#),
            (
                "node_modules/other/package.json",
                r#"{"scripts": {"test": "x"}}"#,
            ),
            (".hidden/go.mod", ""),
        ],
        &[
            ("api-test", "cd api && go test ./..."),
            ("api-lint", "cd api && go vet ./..."),
            ("api-build", "cd api && go build ./..."),
            ("my web-test", "cd 'my web' && npm run test"),
        ],
        &[],
    );
}

#[test]
fn a_named_check_needs_both_parts() {
    assert_eq!(named_check("test = a=b"), Ok(("test".into(), "a=b".into())));
    for bad in ["", "x", "=x", "x=", " = "] {
        assert!(named_check(bad).is_err(), "{bad}");
    }
}

#[test]
fn types_are_checked_where_the_project_itself_checks_them() {
    let project = "[project]\nname = \"x\"\n[dependency-groups]\ndev = [\"mypy\"]\n";
    let tox = "[testenv:types]\ncommands =\n    mypy --strict lib tests/unit {posargs}\n    mypy lib tests/unit\n";
    check(
        &[
            ("pyproject.toml", project),
            ("uv.lock", ""),
            ("tox.ini", tox),
            ("lib/a.py", ""),
            ("tests/unit/b.py", ""),
        ],
        &[
            ("test", "uv run python -m unittest discover -s tests"),
            ("types", "uv run python -m mypy lib tests/unit"),
        ],
        &["uv sync --locked"],
    );
}

#[test]
fn a_tool_goes_with_the_last_check_that_needs_it() {
    let kept = [("types".to_owned(), ".venv/bin/python -m mypy .".to_owned())];
    let prepare = || {
        [
            "python3 -m venv .venv",
            ".venv/bin/pip install -r requirements.txt",
            ".venv/bin/pip install -e .",
            "cd sub && .venv/bin/pip install ruff",
            ".venv/bin/pip install mypy ruff",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let mut left = prepare();
    forget_tool(&mut left, ".venv/bin/python -m ruff check .", &kept);
    assert_eq!(left[..3], prepare()[..3]);
    assert_eq!(left[3..], [".venv/bin/pip install mypy"]);
    let mut same = prepare();
    forget_tool(&mut same, ".venv/bin/python -m mypy .", &kept);
    forget_tool(&mut same, "npm run lint", &kept);
    assert_eq!(same, prepare());
}
