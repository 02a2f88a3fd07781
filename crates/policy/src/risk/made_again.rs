//! What is made again by a build, a test or an install: losing it costs time, not
//! work. Known by name; where a repository keeps its own work under such a name, it
//! is saved before the command runs, like everything that git does not ignore.

/// Folders, and files, as they are called everywhere.
const NAMES: [&str; 36] = [
    "build",
    "target",
    "dist",
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".eggs",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".cache",
    ".coverage",
    "coverage",
    "htmlcov",
    ".nyc_output",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".angular",
    ".turbo",
    ".parcel-cache",
    ".vite",
    ".gradle",
    ".build",
    ".dart_tool",
    "_build",
    "zig-out",
    ".zig-cache",
    "DerivedData",
    ".DS_Store",
    ".tsbuildinfo",
];

/// Endings of files that a compiler writes.
const ENDINGS: [&str; 12] = [
    ".pyc",
    ".pyo",
    ".o",
    ".obj",
    ".class",
    ".rlib",
    ".rmeta",
    ".gcda",
    ".gcno",
    ".tsbuildinfo",
    ".egg-info",
    ".profraw",
];

/// Whether a name, or a pattern for names, stands for nothing else.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.contains(&name)
        || name.starts_with("cmake-build-") && !name.contains('/')
        || matches!(name, "*.py[co]" | "*.py[cod]")
        || ENDINGS.iter().any(|ending| {
            name.strip_suffix(ending)
                .is_some_and(|stem| !stem.is_empty() && !stem.contains('/'))
        })
}

/// Whether a path is one of them or lies in one. `..` is resolved already.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/').any(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_program_makes_counts() {
        for path in [
            "build",
            "a/node_modules/x",
            "__pycache__",
            "x.pyc",
            "*.pyc",
            "target/debug",
        ] {
            assert!(is_path(path), "{path}");
        }
        for path in [
            "src",
            ".",
            "",
            "builds",
            "rebuild",
            "*",
            "*.py",
            ".git",
            "docs/a.md",
            ".o",
        ] {
            assert!(!is_path(path), "{path}");
        }
    }
}
