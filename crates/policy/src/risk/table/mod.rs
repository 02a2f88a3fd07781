//! Programs as data: `crates/policy/programs/*.txt`.
//!
//! The names in the files are read when the first command is judged, and each row when its
//! program is. A row begins with
//! `program NAME…` (`mkfs*`: whatever begins so, `pip#`: a version may follow) and
//! goes on with lines, read in order:
//!
//! | line | says |
//! | --- | --- |
//! | `takes FLAG…` | these flags take the next word |
//! | `skips +` | words that begin so are no operands |
//! | `script` | known as well when a language runs it |
//! | `prints nothing`, `foreign`, `placed X` | what its output is |
//! | `looks WHEN: REASON` | it only looks; the reading ends |
//! | `local`, `seen`, `asks`, `undoable` | it changes the worktree; others see it; a person is asked; asked unless it can be undone |
//! | `writes WHICH WHEN: VERB` | these words are paths that it writes to |
//! | `runs WHERE WHEN`, `fetches …` | a command inside it; one that it may have to fetch |
//! | `builds`, `changes`, `publishes`, `only`, `does` | the usual lines of package managers and of programs with verbs |
//! | `code NAME` | what no line can say |
//! | `+ COMMAND`, `! COMMAND` | must not ask, must ask |
//!
//! `-online` behind a word says that the network is needed. Conditions all have to
//! hold, `!` turns one around: plain words are operands in order (`a|b`, `get-*`,
//! `*` any, `.` none), `word:` any operand, `any:` any word, `has:` a flag as
//! written, `flag:` a flag in any spelling, `value:-p=x` and `value:-p!=x` a flag's
//! value, `as:` the name it was called by, `few:2` at most two words, `input:` what
//! it is fed, `help` a question about itself. `words NAME …` names a list for `@NAME`.

mod engine;
mod parse;
mod row;

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

pub(super) use row::{Code, Line, Row, Words};

/// The files. A list is known to those behind it.
const FAMILIES: [(&str, &str); 14] = [
    ("names", include_str!("../../../programs/names.txt")),
    ("readers", include_str!("../../../programs/readers.txt")),
    ("files", include_str!("../../../programs/files.txt")),
    ("text", include_str!("../../../programs/text.txt")),
    ("wrappers", include_str!("../../../programs/wrappers.txt")),
    ("git", include_str!("../../../programs/git.txt")),
    ("packages", include_str!("../../../programs/packages.txt")),
    ("builds", include_str!("../../../programs/builds.txt")),
    ("databases", include_str!("../../../programs/databases.txt")),
    ("network", include_str!("../../../programs/network.txt")),
    (
        "credentials",
        include_str!("../../../programs/credentials.txt"),
    ),
    (
        "containers",
        include_str!("../../../programs/containers.txt"),
    ),
    ("platforms", include_str!("../../../programs/platforms.txt")),
    ("system", include_str!("../../../programs/system.txt")),
];

static TABLE: LazyLock<Table> = LazyLock::new(|| parse::table(&FAMILIES));

/// The table, read when it is first asked for.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// A program under all its names, and the lines about it, read when it is asked for: a
/// process judges a few programs of hundreds.
#[derive(Debug, Default)]
struct Program {
    #[cfg(test)]
    names: Vec<&'static str>,
    family: &'static str,
    lines: Vec<(usize, &'static str)>,
    row: OnceLock<Row>,
}

/// All programs.
#[derive(Debug, Default)]
pub(super) struct Table {
    programs: Vec<Program>,
    names: HashMap<&'static str, usize>,
    /// Names of which only the beginning is known.
    open: Vec<(&'static str, usize)>,
    words: HashMap<&'static str, Words>,
    /// What is wrong with names and lists. Nothing is judged then.
    problems: Vec<String>,
}

impl Table {
    pub(super) fn problem(&self) -> Option<&str> {
        self.problems.first().map(String::as_str)
    }

    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let open = |(known, _): &&(&'static str, usize)| match known.strip_suffix('#') {
            Some(known) => known == bare,
            None => name.starts_with(known.trim_end_matches('*')),
        };
        let at = self.names.get(name).copied();
        let at = at.or_else(|| self.open.iter().find(open).map(|(_, at)| *at))?;
        Some(self.read(self.programs.get(at)?))
    }

    fn read<'a>(&self, program: &'a Program) -> &'a Row {
        program.row.get_or_init(|| parse::row(self, program))
    }

    /// Whether a word is in a list of the files.
    pub(super) fn has(&self, list: &str, word: &str) -> bool {
        self.words.get(list).is_some_and(|words| words.fit(word))
    }

    /// The words of a list.
    pub(super) fn list(&self, list: &str) -> &[&'static str] {
        self.words.get(list).map_or(&[], Words::exact)
    }
}

#[cfg(test)]
mod tests;
