//! Commands given as one string: `script -c`, `watch`, `hyperfine`, ssh.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("texts", |analyzer, call, state| {
        Some(analyzer.strings(call, state))
    }),
    ("ssh", |analyzer, call, state| {
        Some(analyzer.ssh(call, state))
    }),
    ("last-text", |analyzer, call, state| {
        let text = call.args.0.last()?;
        analyzer.inner(text, &mut state.clone(), call.stdin);
        None
    }),
];

impl Analyzer<'_> {
    /// Operands that are command texts: each alone, and all as one.
    fn strings(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        self.local("it runs a command");
        let mut operands = call.args.operands(call.takes());
        let flags = ["--prepare", "-p", "--setup", "--cleanup"];
        let setup = call.args.values(&flags);
        if matches!(call.name, "tmux" | "screen") {
            operands.retain(|word| !table().has("session-verbs", &word.text));
        }
        let mut words = call.args.iter();
        let first = operands.first();
        let start = first.and_then(|first| words.position(|word| std::ptr::eq(word, *first)));
        // What follows the first word that is no flag of the wrapper is the
        // command's, its flags too.
        let argv = start.map_or(&[][..], |start| &call.args.0[start..]);
        if call.name == "concurrently" || call.name == "hyperfine" || argv.len() == 1 {
            for text in operands.into_iter().chain(&setup) {
                self.inner_apart(text, state);
            }
        } else if !argv.is_empty() {
            self.nested(argv, &mut state.clone(), &Stdin::None);
            if call.name != "entr" {
                self.inner_apart(&Text::joined(argv), state);
            }
        }
        Output::Unknown
    }

    fn ssh(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        let (args, stdin) = (call.args, call.stdin);
        self.find(Tier::WriteVisible, "it talks to another machine", true);
        for option in args.values(&["-o"]) {
            let lower = option.text.to_lowercase();
            if table().has("ssh-runs", &lower) && !lower.ends_with("=none") {
                self.ask_online("the ssh option runs a command here");
            }
        }
        let Some((_, rest)) = args.since_operand(call.takes()).split_first() else {
            return Output::Unknown;
        };
        // `mosh host -- command`
        let rest = match rest {
            [dashes, rest @ ..] if dashes.text == "--" => rest,
            rest => rest,
        };
        let mut own = state.clone();
        own.remote = true;
        if rest.is_empty() {
            self.remote_shell(stdin, &mut own);
        } else {
            self.inner(&Text::joined(rest), &mut own, stdin);
        }
        Output::Foreign
    }

    /// A login without a command runs what stands on its input.
    fn remote_shell(&mut self, stdin: &Stdin, state: &mut State) {
        match stdin {
            Stdin::Text(text) => drop(self.inner(&Text::read(text), state, &Stdin::None)),
            Stdin::Unknown => self.ask_online("another machine runs whatever is piped into it"),
            Stdin::None => {}
        }
    }
}
