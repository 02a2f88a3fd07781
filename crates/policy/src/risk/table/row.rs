//! A row of the table: a program, and the lines that are read about it.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    simple::Call,
    state::{Output, State},
};

/// What is judged by code instead of lines. Nothing goes on with the next line.
pub(in super::super) type Code = fn(&mut Analyzer<'_>, &Call<'_>, &mut State) -> Option<Output>;

/// What is known of a program.
#[derive(Debug, Default)]
pub(in super::super) struct Row {
    /// Flags that take the next word.
    pub takes: Vec<&'static str>,
    /// Words that begin so are no operands: `cargo +nightly`.
    pub skips: Option<&'static str>,
    /// It is known as well when a language runs it: `python manage.py`.
    pub script: bool,
    pub prints: Option<Output>,
    pub lines: Vec<Line>,
    /// What is wrong with it.
    #[cfg(test)]
    pub problem: Option<&'static str>,
    #[cfg(test)]
    pub examples: Vec<Example>,
}

/// A command that must ask, or must not. Nothing but the tests needs it.
#[cfg(test)]
#[derive(Debug)]
pub(in super::super) struct Example {
    pub command: &'static str,
    pub asks: bool,
}

/// One line: what it says, and when.
#[derive(Debug)]
pub(in super::super) struct Line {
    pub family: &'static str,
    pub number: usize,
    pub source: &'static str,
    pub action: Action,
    /// What it speaks of needs the network.
    pub online: bool,
    pub when: Vec<Term>,
    pub reason: &'static str,
}

impl Line {
    /// Where it stands and how it reads, for people.
    pub(in super::super) fn shown(&self) -> String {
        format!("{}.txt:{}: {}", self.family, self.number, self.source)
    }
}

#[derive(Debug)]
pub(in super::super) enum Action {
    /// It only looks: nothing that follows is read.
    Looks,
    Finds(Tier),
    /// It asks, unless it can be undone.
    Undoable,
    /// It writes to these paths.
    Writes(Which),
    Runs(Inner),
    Code(Code),
}

/// Which words of the command are meant.
#[derive(Debug)]
pub(in super::super) enum Which {
    Operands(usize, usize),
    Values(Vec<&'static str>),
    /// Values that are paths: they have a slash or are not known.
    Paths(Vec<&'static str>),
    Starting(&'static str),
}

/// Where the command stands that is run.
#[derive(Debug)]
pub(in super::super) enum Inner {
    /// The values of these flags are command texts.
    Text(Vec<&'static str>),
    /// Behind the program's own flags and so many words of its own.
    Rest { own: usize, fetches: bool },
    /// The same behind one of these subcommands.
    After {
        verbs: Words,
        own: usize,
        fetches: bool,
    },
}

/// One condition.
#[derive(Debug)]
pub(in super::super) struct Term {
    pub not: bool,
    pub test: Test,
}

#[derive(Debug)]
pub(in super::super) enum Test {
    /// The operand at this place.
    Operand(usize, Words),
    AnyOperand(Words),
    /// Any word, wherever it stands.
    Any(Words),
    /// A flag of its own, spelled exactly so.
    Has(Words),
    /// A flag of its own in any spelling: merged letters, shortened words.
    Flag(Vec<&'static str>),
    /// A value of these flags, or one that is none of the words.
    Value(Vec<&'static str>, bool, Words),
    /// The name under which it was called.
    Name(Words),
    /// At most so many words.
    Few(usize),
    /// What stands on its input has this text.
    Input(&'static str),
    /// It is asked what it can do.
    Help,
}

/// Alternatives: `a|b*|*c|*d*`; `.` stands for no word at all.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct Words {
    exact: Vec<&'static str>,
    open: Vec<(bool, &'static str, bool)>,
    pub absent: bool,
}

impl Words {
    pub(super) fn add(&mut self, word: &'static str) {
        let bare = word.trim_matches('*');
        match (word.starts_with('*'), word.ends_with('*')) {
            _ if word == "." => self.absent = true,
            (false, false) => self.exact.push(word),
            (before, after) => self.open.push((before, bare, after)),
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.exact.extend(&other.exact);
        self.open.extend(&other.open);
        self.absent |= other.absent;
    }

    /// Whether a word is one of them.
    pub(in super::super) fn fit(&self, word: &str) -> bool {
        self.exact.contains(&word)
            || self
                .open
                .iter()
                .any(|(before, bare, after)| match (before, after) {
                    (true, true) => word.contains(bare),
                    // `*.o` is not `.o`.
                    (true, false) => word.len() > bare.len() && word.ends_with(bare),
                    _ => word.starts_with(bare),
                })
    }

    /// The words that are written out.
    pub(in super::super) fn exact(&self) -> &[&'static str] {
        &self.exact
    }
}
