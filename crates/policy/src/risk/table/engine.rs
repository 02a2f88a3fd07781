//! Reads a command by the row of its program.

use butler_protocol::Tier;

use super::{
    super::{
        analyzer::Analyzer,
        args::Args,
        simple::Call,
        state::{Output, State, Stdin},
        text::Text,
    },
    row::{Action, Inner, Line, Row, Term, Test, Which, Words},
    table,
};

/// A command as the lines of a row see it.
struct Read<'r, 'c> {
    row: &'r Row,
    call: &'c Call<'c>,
    operands: Vec<&'c Text>,
}

impl Analyzer<'_> {
    /// Judges a program by its row. One that nobody knows changes the worktree at
    /// most, for the sandbox holds it.
    pub(in super::super) fn by_table(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        match table().row(call.name) {
            Some(row) => self.by_row(row, call, state),
            None => {
                self.local("it runs a program in the sandbox");
                Output::Unknown
            }
        }
    }

    pub(in super::super) fn by_row(
        &mut self,
        row: &'static Row,
        call: &Call<'_>,
        state: &mut State,
    ) -> Output {
        let mut operands = call.args.operands(&row.takes);
        if let Some(skipped) = row.skips {
            operands.retain(|word| !word.text.starts_with(skipped));
        }
        let read = Read {
            row,
            call,
            operands,
        };
        let outer = self.line;
        let mut output = None;
        for line in &row.lines {
            if line.when.iter().all(|term| read.holds(term)) {
                self.line = Some(line);
                output = self.act(line, &read, state);
                if output.is_some() {
                    break;
                }
            }
        }
        self.line = outer;
        let printed = || row.prints.clone().unwrap_or(Output::Unknown);
        output.unwrap_or_else(printed)
    }

    /// Does what a line says. An output ends the reading.
    fn act(
        &mut self,
        line: &'static Line,
        read: &Read<'_, '_>,
        state: &mut State,
    ) -> Option<Output> {
        match &line.action {
            Action::Looks => {
                let tier = if line.reason.is_empty() {
                    Tier::Read
                } else {
                    Tier::WriteLocal
                };
                self.find(tier, line.reason, line.online);
                let printed = read.row.prints.clone();
                return Some(printed.unwrap_or(Output::Unknown));
            }
            Action::Finds(Tier::Destructive) if line.online => self.ask_online(read.reason(line)),
            Action::Finds(Tier::Destructive) => self.ask(read.reason(line)),
            Action::Finds(tier) => self.find(*tier, line.reason, line.online),
            Action::Undoable => self.ask_undoable(read.reason(line)),
            Action::Writes(which) => {
                for path in read.which(which) {
                    self.local("it writes a file");
                    self.write(&path, state, line.reason);
                }
            }
            Action::Runs(inner) => return self.runs(inner, read, state),
            Action::Code(code) => return code(self, read.call, state),
        }
        None
    }

    fn runs(&mut self, inner: &Inner, read: &Read<'_, '_>, state: &mut State) -> Option<Output> {
        let call = read.call;
        let (args, words, fetches) = match inner {
            Inner::Text(flags) => {
                self.local("it runs a command");
                for text in call.args.values(flags) {
                    self.inner_apart(&text, state);
                }
                return Some(Output::Unknown);
            }
            Inner::Rest { own, fetches } => {
                (call.args, call.args.peel(&read.row.takes, *own), *fetches)
            }
            Inner::After {
                verbs,
                own,
                fetches,
            } => {
                let (verb, rest) = call.args.subcommand(&read.row.takes)?;
                if !verbs.fit(verb) {
                    return None;
                }
                let own = if rest.get(0) == Some("--") { 0 } else { *own };
                (
                    rest,
                    rest.peel(table().list("before-command"), own),
                    *fetches,
                )
            }
        };
        if fetches {
            self.fetched(call.name, args, words);
        }
        Some(self.peeled(words, state, call.stdin))
    }
}

impl Read<'_, '_> {
    fn holds(&self, term: &Term) -> bool {
        let args = self.call.args;
        let any = |words: &Words| args.iter().any(|word| words.fit(&word.text));
        let holds = match &term.test {
            Test::Operand(at, words) => {
                return match self.operands.get(*at) {
                    Some(word) => words.fit(&word.text) != term.not,
                    None => words.absent && !term.not,
                };
            }
            Test::AnyOperand(words) => self.operands.iter().any(|word| words.fit(&word.text)),
            Test::Any(words) => any(words),
            Test::Has(words) => words.exact().iter().any(|flag| args.has(flag)),
            Test::Flag(flags) => flags.iter().any(|flag| is_given(args, flag)),
            Test::Value(flags, is, words) => args
                .values(flags)
                .iter()
                .any(|value| words.fit(&value.text) == *is),
            Test::Name(words) => words.fit(self.call.name),
            Test::Few(most) => args.0.len() <= *most,
            Test::Input(text) => {
                matches!(self.call.stdin, Stdin::Text(given) if given.contains(text))
            }
            Test::Help => self.call.asks_for_help(),
        };
        holds != term.not
    }

    fn which(&self, which: &Which) -> Vec<Text> {
        let args = self.call.args;
        match which {
            Which::Operands(from, to) => {
                let words = self.operands.iter().take(*to).skip(*from);
                words.map(|word| (*word).clone()).collect()
            }
            Which::Values(flags) => args.values(flags),
            Which::Paths(flags) => {
                let mut paths = args.values(flags);
                paths.retain(|path| path.text.contains('/') || !path.placed);
                paths
            }
            Which::Starting(start) => args.iter().filter_map(|word| word.strip(start)).collect(),
        }
    }

    /// The reason of a line with the words of the command in it.
    fn reason(&self, line: &Line) -> String {
        let first = self.operands.first().map_or("", |word| word.as_str());
        let reason = line.reason.replace("{0}", self.call.name);
        let reason = reason.replace("{1}", first);
        let value = line.when.iter().find_map(|term| match &term.test {
            Test::Value(flags, ..) => self.call.args.values(flags).into_iter().next(),
            _ => None,
        });
        match value {
            Some(value) => reason.replace("{value}", &value.text),
            None => reason,
        }
    }
}

/// A flag alone, merged with others, or shortened.
fn is_given(args: Args<'_>, flag: &str) -> bool {
    match flag.strip_prefix("--") {
        Some(_) => args.long(flag),
        None => flag.chars().nth(1).is_some_and(|letter| args.short(letter)),
    }
}
