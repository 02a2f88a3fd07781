//! Programs that may fetch a package and run it at once. What is installed here
//! already is judged like any command; what has to come from outside is code
//! that nobody in this repository has seen.

use super::super::{analyzer::Analyzer, args::Args, text::Text};

/// Checkers that projects call this way every day. They fetch at most themselves.
const CHECKERS: [&str; 33] = [
    "ava",
    "biome",
    "black",
    "c8",
    "commitlint",
    "eslint",
    "flake8",
    "isort",
    "jest",
    "knip",
    "markdownlint",
    "markdownlint-cli",
    "markdownlint-cli2",
    "mocha",
    "mypy",
    "nox",
    "nyc",
    "oxlint",
    "playwright",
    "pre-commit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "standard",
    "stylelint",
    "tox",
    "tsc",
    "typescript",
    "vitest",
    "xo",
    "yamllint",
];

/// Those that look into the project first; the others always fetch.
const LOCAL_FIRST: [&str; 4] = ["npx", "bunx", "npm", "bun"];

impl Analyzer<'_> {
    /// Asks when `fetcher` runs a package that it has to fetch.
    pub(super) fn fetched(&mut self, fetcher: &str, args: Args<'_>, inner: &[Text]) {
        let Some(package) = inner.first() else {
            return;
        };
        let (name, version) = split_version(package.as_str());
        if CHECKERS.contains(&name) {
            return;
        }
        // Flags behind the package are the package's own.
        let own = Args(&args.0[..args.0.len() - inner.len()]);
        let kept_local = own.any(&["--no", "--no-install", "--offline"]);
        let told =
            version.is_some() || own.any(&["-y", "--yes", "-p", "--package", "--from", "--with"]);
        if !kept_local && (told || !LOCAL_FIRST.contains(&fetcher)) {
            self.ask(
                format!("`{fetcher}` fetches `{}` and runs it", package.as_str()),
                true,
            );
        }
    }
}

/// `name@version` or `name==version`; a scope begins with `@` as well.
fn split_version(package: &str) -> (&str, Option<&str>) {
    let scope = usize::from(package.starts_with('@'));
    let rest = package.get(scope..).unwrap_or_default();
    let end = rest.find('@').or_else(|| rest.find("=="));
    match end {
        Some(at) => (&package[..scope + at], Some(&rest[at + 1..])),
        None => (package, None),
    }
}

#[cfg(test)]
mod tests {
    use super::split_version;

    #[test]
    fn a_scope_is_no_version() {
        assert_eq!(split_version("@scope/tool"), ("@scope/tool", None));
        assert_eq!(split_version("@scope/tool@1"), ("@scope/tool", Some("1")));
        assert_eq!(split_version("tool@latest"), ("tool", Some("latest")));
        assert_eq!(split_version("@"), ("@", None));
    }
}
