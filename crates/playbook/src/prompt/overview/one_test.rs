//! How one test is run, told from the command that runs them all. A runner that
//! is not known here is not guessed at.

use super::code;

/// Words of a command that name a runner, and what follows for one test. The
/// command is kept up to these words, so that what stands before them (`uv run`,
/// `.venv/bin/python -m`) stays.
const RUNNERS: &[(&[&str], &str)] = &[
    (&["cargo", "nextest", "run"], "test_name"),
    (&["cargo", "test"], "test_name"),
    (&["go", "test"], "./path/to/package -run '^TestName$'"),
    (&["pytest"], "path/to/test_file.py::test_name"),
    (&["unittest"], "package.module.TestClass.test_name"),
    (&["tox"], "-- path/to/test_file.py::test_name"),
    (&["manage.py", "test"], "app.tests.TestClass.test_name"),
    (&["vitest", "run"], "path/to/file.test.ts -t 'name'"),
    (&["vitest"], "run path/to/file.test.ts -t 'name'"),
    (&["jest"], "path/to/file.test.js -t 'name'"),
    (&["mocha"], "path/to/file.js -g 'name'"),
    (&["ava"], "path/to/file.js --match 'name'"),
    (&["bun", "test"], "path/to/file.test.ts -t 'name'"),
    (&["deno", "test"], "path/to/file.ts --filter 'name'"),
    (
        &["node", "--test"],
        "--test-name-pattern 'name' path/to/file.js",
    ),
    (&["rspec"], "path/to/file_spec.rb:12"),
    (&["phpunit"], "--filter testName path/to/FileTest.php"),
    (&["mix", "test"], "path/to/file_test.exs:12"),
    (&["gradlew", "test"], "--tests 'package.ClassTest.method'"),
    (&["gradle", "test"], "--tests 'package.ClassTest.method'"),
    (&["mvn", "test"], "-Dtest='ClassTest#method'"),
    (&["dotnet", "test"], "--filter 'FullyQualifiedName~Name'"),
    (&["swift", "test"], "--filter 'Class/method'"),
    (&["ctest"], "-R 'name'"),
];

/// Runners of the script in `package.json`, which `npm test -- …` reaches.
const SCRIPTS: &[&str] = &["npm", "pnpm", "yarn"];

/// The command for one test as code; nothing when the runner is not known.
pub(super) fn command(all: &str, script: Option<&str>) -> Option<String> {
    let words: Vec<&str> = all.split_whitespace().collect();
    // What is more than one command is not cut in the middle.
    if words.iter().any(|word| is_joint(word)) {
        return None;
    }
    if let Some(known) = known(&words) {
        return Some(code(&known));
    }
    by_script(&words, script).map(|command| code(&command))
}

fn known(words: &[&str]) -> Option<String> {
    for (names, rest) in RUNNERS {
        let at = words.windows(names.len()).position(|part| {
            let mut both = part.iter().zip(*names);
            both.all(|(word, name)| word.rsplit('/').next() == Some(name))
        });
        if let Some(at) = at {
            let kept = words[..at + names.len()].join(" ");
            return Some(format!("{kept} {rest}"));
        }
    }
    None
}

/// `npm test` runs what the manifest says; its runner takes what comes after `--`.
fn by_script(words: &[&str], script: Option<&str>) -> Option<String> {
    let runs = match words {
        [program, "test" | "t", ..] | [program, "run", "test", ..] => SCRIPTS.contains(program),
        _ => false,
    };
    let script: Vec<&str> = script.filter(|_| runs)?.split_whitespace().collect();
    if script.iter().any(|word| is_joint(word)) {
        return None;
    }
    // Node takes its flags before the paths that the script names, not behind them.
    if script.starts_with(&["node", "--test"]) {
        return known(&script);
    }
    let rest = RUNNERS.iter().find_map(|(names, rest)| {
        let found = script.windows(names.len()).any(|part| part == *names);
        found.then_some(*rest)
    })?;
    let kept = if words.get(1) == Some(&"run") { 3 } else { 2 };
    let dashes = if words.first() == Some(&"yarn") {
        ""
    } else {
        "-- "
    };
    // A script that names the mode already would get it twice.
    let rest = rest.strip_prefix("run ").unwrap_or(rest);
    Some(format!("{} {dashes}{rest}", words[..kept].join(" ")))
}

fn is_joint(word: &str) -> bool {
    word.contains(['&', '|', ';', '<', '>', '$', '(', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_runners_keep_what_stands_before_them_and_others_are_not_guessed() {
        for (all, script, one) in [
            ("pytest", None, "`pytest path/to/test_file.py::test_name`"),
            (
                ".venv/bin/python -m pytest -x tests",
                None,
                "`.venv/bin/python -m pytest path/to/test_file.py::test_name`",
            ),
            ("cargo test --workspace", None, "`cargo test test_name`"),
            (
                "go test ./...",
                None,
                "`go test ./path/to/package -run '^TestName$'`",
            ),
            (
                "./gradlew test",
                None,
                "`./gradlew test --tests 'package.ClassTest.method'`",
            ),
            (
                "npm test",
                Some("vitest"),
                "`npm test -- path/to/file.test.ts -t 'name'`",
            ),
            (
                "npm run test",
                Some("jest --ci"),
                "`npm run test -- path/to/file.test.js -t 'name'`",
            ),
            (
                "yarn test",
                Some("mocha"),
                "`yarn test path/to/file.js -g 'name'`",
            ),
            (
                "npm test",
                Some("node --test"),
                "`node --test --test-name-pattern 'name' path/to/file.js`",
            ),
        ] {
            assert_eq!(command(all, script).as_deref(), Some(one), "{all}");
        }
        for (all, script) in [
            ("make test", None),
            ("npm test", None),
            ("npm test", Some("node scripts/all.js")),
            ("cd web && npm test", Some("jest")),
            ("npm run lint", Some("jest")),
        ] {
            assert_eq!(command(all, script), None, "{all}");
        }
    }
}
