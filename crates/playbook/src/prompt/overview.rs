//! The repository in a few lines: what lies at its top, its languages and
//! manifests, how it is prepared, checked and how one test is run. A role is told
//! this once, when it joins a thread, so that nobody spends turns on finding it
//! out. Never longer than [`OVERVIEW_TOKENS`].

mod layout;
mod one_test;

pub use layout::Layout;

use crate::tokens;

/// An overview has at most so many tokens.
const OVERVIEW_TOKENS: usize = 400;

/// A longer command is cut.
const COMMAND_BYTES: usize = 160;
/// More commands of a kind are only counted.
const COMMANDS: usize = 6;

/// What an overview is made of.
#[derive(Debug, Clone, Copy)]
pub struct Overview<'a> {
    pub layout: &'a Layout,
    /// The name of that branch; nothing where a folder is worked on in place.
    pub branch: Option<&'a str>,
    /// As in `linux x86_64`.
    pub platform: &'a str,
    /// As in `2026-11-16`.
    pub date: &'a str,
    /// What the runtime runs in a fresh worktree.
    pub prepare: &'a [String],
    /// Commands that wait for somebody's agreement on this machine, in words.
    pub unagreed: &'a [String],
    /// Name and command of each check.
    pub checks: &'a [(&'a str, &'a str)],
}

impl Overview<'_> {
    /// The lines; the same facts give the same bytes.
    pub fn text(&self) -> String {
        let place = match self.branch {
            Some(branch) => format!("repository, default branch `{}`", plain(branch)),
            None => "folder".to_owned(),
        };
        let (platform, date) = (self.platform, self.date);
        let mut lines = vec![format!("This {place}, on {platform}, {date}:")];
        let named =
            |title: &str, list: String| (!list.is_empty()).then(|| format!("- {title}: {list}"));
        lines.extend(named("top level", self.layout.top()));
        lines.extend(named("languages", self.layout.languages()));
        lines.extend(named("manifests", self.layout.manifests()));
        // In place nothing is prepared: it is as the person left it.
        lines.extend(self.branch.map(|_| self.preparation()));
        lines.push(self.checking());
        let one = self.checks.iter();
        let mut one = one.filter_map(|(_, command)| {
            one_test::command(command, self.layout.test_script.as_deref())
        });
        lines.extend(one.next().map(|command| format!("- one test: {command}")));
        fitting(&lines)
    }

    fn preparation(&self) -> String {
        let prepared = match (self.prepare, self.unagreed) {
            ([], []) => return "- preparation: none is configured".to_owned(),
            ([], waits) => {
                let waits = plain(&waits.join("; "));
                let why = "because nobody on this machine agreed to it";
                return format!("- not prepared, {why}: {waits}");
            }
            (commands, _) => listed(commands.iter().map(|command| code(command))),
        };
        format!("- prepared by the runtime before your first command: {prepared}")
    }

    fn checking(&self) -> String {
        if self.checks.is_empty() {
            return "- checks: none are configured".to_owned();
        }
        let all = self.checks.iter();
        let all = all.map(|(name, command)| format!("{} {}", plain(name), code(command)));
        format!("- checks, all run by RunChecks: {}", listed(all))
    }
}

fn listed(commands: impl ExactSizeIterator<Item = String>) -> String {
    let more = commands.len().saturating_sub(COMMANDS);
    let mut all: Vec<String> = commands.take(COMMANDS).collect();
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join(", ")
}

/// A command as code.
fn code(command: &str) -> String {
    format!("`{}`", plain(command).replace('`', "'"))
}

/// One line of bounded length: these texts come from files.
fn plain(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    match line.floor_char_boundary(COMMAND_BYTES) {
        cut if cut < line.len() => format!("{}…", &line[..cut]),
        _ => line,
    }
}

/// Whole lines only; what takes most room goes first.
fn fitting(lines: &[String]) -> String {
    let mut kept: Vec<&str> = lines.iter().map(String::as_str).collect();
    while kept.len() > 1 && tokens(&kept.join("\n")) > OVERVIEW_TOKENS {
        let longest = (1..kept.len()).max_by_key(|at| kept[*at].len());
        kept.remove(longest.unwrap_or(1));
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout(paths: &[&str], script: Option<&str>) -> Layout {
        let mut layout = Layout::of(paths.iter().copied());
        layout.test_script = script.map(str::to_owned);
        layout
    }

    fn overview<'a>(layout: &'a Layout, checks: &'a [(&'a str, &'a str)]) -> Overview<'a> {
        Overview {
            layout,
            branch: Some("main"),
            platform: "linux x86_64",
            date: "2026-11-16",
            prepare: &[],
            unagreed: &[],
            checks,
        }
    }

    #[test]
    fn a_python_project_in_seven_lines() {
        let layout = layout(
            &[
                ".codebutler/pm.md",
                ".github/workflows/ci.yml",
                "README.md",
                "pyproject.toml",
                "src/notes/__init__.py",
                "src/notes/cli.py",
                "tests/test_cli.py",
                "web/package.json",
            ],
            None,
        );
        let prepare = ["uv sync".to_owned()];
        let checks = [("test", "uv run pytest -q tests"), ("lint", "ruff check")];
        let overview = Overview {
            prepare: &prepare,
            ..overview(&layout, &checks)
        };
        assert_eq!(
            overview.text(),
            "This repository, default branch `main`, on linux x86_64, 2026-11-16:\n\
             - top level: .github/ src/ tests/ web/ README.md pyproject.toml\n\
             - languages: Python (3 files)\n\
             - manifests: pyproject.toml, web/package.json\n\
             - prepared by the runtime before your first command: `uv sync`\n\
             - checks, all run by RunChecks: test `uv run pytest -q tests`, lint `ruff check`\n\
             - one test: `uv run pytest path/to/test_file.py::test_name`"
        );
    }

    #[test]
    fn what_is_not_there_is_said_and_what_waits_for_consent_too() {
        let empty = Layout::default();
        let text = overview(&empty, &[]).text();
        assert!(text.contains("- preparation: none is configured\n- checks: none"));
        let alone = Overview {
            branch: None,
            ..overview(&empty, &[])
        };
        let expected = "This folder, on linux x86_64, 2026-11-16:\n- checks: none are configured";
        assert_eq!(alone.text(), expected, "in place nothing is prepared");
        let waits = ["`npm ci` makes worktrees ready".to_owned()];
        let text = Overview {
            unagreed: &waits,
            ..overview(&empty, &[])
        }
        .text();
        assert!(
            text.contains("- not prepared, because nobody on this machine agreed to it: `npm ci`")
        );
    }

    proptest! {
        #[test]
        fn however_large_the_repository_it_stays_short(
            files in prop::collection::vec("[a-zé./\n`]{1,80}", 0..400),
            command in ".{0,900}", count in 0usize..30
        ) {
            let layout = Layout::of(files.iter().map(String::as_str));
            let commands = vec![command.clone(); count];
            let checks = vec![("a name", command.as_str()); count];
            let text = Overview { prepare: &commands, ..overview(&layout, &checks) }.text();
            prop_assert!(tokens(&text) <= OVERVIEW_TOKENS, "{}", tokens(&text));
            prop_assert!(text.lines().skip(1).all(|line| line.starts_with("- ")), "{}", text);
        }
    }
}
