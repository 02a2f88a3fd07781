//! Commands given as one string: `script -c`, `watch`, `hyperfine`, ssh.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    simple::Call,
    state::{Output, State, Stdin},
    text::Text,
};

impl Analyzer<'_> {
    /// A flag whose value is a command text.
    pub(super) fn string_flag(
        &mut self,
        args: Args<'_>,
        flags: &[&str],
        state: &mut State,
    ) -> Output {
        self.find(Tier::WriteLocal, "it runs a command", false);
        for text in args.values(flags) {
            self.inner(&text.text, text.exact, &mut state.clone(), &Stdin::None);
        }
        Output::Unknown
    }

    /// Operands that are command texts: each alone, and all as one.
    pub(super) fn strings(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        self.find(Tier::WriteLocal, "it runs a command", false);
        let mut operands = call.args.operands(own_values(call.name));
        let setup = call
            .args
            .values(&["--prepare", "-p", "--setup", "--cleanup"]);
        if matches!(call.name, "tmux" | "screen") {
            let sub = [
                "new",
                "new-session",
                "new-window",
                "split-window",
                "send-keys",
                "send",
                "run-shell",
                "if-shell",
            ];
            operands.retain(|word| !sub.contains(&word.as_str()));
        }
        let start = operands
            .first()
            .and_then(|first| call.args.iter().position(|word| std::ptr::eq(word, *first)));
        // What follows the first word that is no flag of the wrapper is the
        // command's, its flags too.
        let argv = start.map_or(&[][..], |start| &call.args.0[start..]);
        if call.name == "concurrently" || call.name == "hyperfine" || argv.len() == 1 {
            for text in operands.into_iter().chain(&setup) {
                self.inner(&text.text, text.exact, &mut state.clone(), &Stdin::None);
            }
        } else if !argv.is_empty() {
            self.nested(argv, &mut state.clone(), &Stdin::None);
            let text: Vec<&str> = argv.iter().map(Text::as_str).collect();
            if call.name != "entr" {
                self.inner(
                    &text.join(" "),
                    argv.iter().all(|w| w.exact),
                    &mut state.clone(),
                    &Stdin::None,
                );
            }
        }
        Output::Unknown
    }

    pub(super) fn ssh(&mut self, args: Args<'_>, state: &mut State, stdin: &Stdin) -> Output {
        const WITH_VALUE: [&str; 21] = [
            "-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O",
            "-o", "-p", "-Q", "-R", "-S", "-W", "-w",
        ];
        self.find(Tier::WriteVisible, "it talks to another machine", true);
        for option in args.values(&["-o"]) {
            let lower = option.text.to_lowercase();
            let runs = [
                "proxycommand",
                "localcommand",
                "knownhostscommand",
                "permitlocalcommand",
            ];
            if runs.iter().any(|key| lower.starts_with(key)) && !lower.ends_with("=none") {
                self.ask("the ssh option runs a command here", true);
            }
        }
        let operands = args.operands(&WITH_VALUE);
        let Some(host) = operands.first() else {
            return Output::Unknown;
        };
        let at = args
            .iter()
            .position(|word| std::ptr::eq(word, *host))
            .unwrap_or(0);
        let rest = &args.0[at + 1..];
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
            let text: Vec<&str> = rest.iter().map(Text::as_str).collect();
            self.inner(
                &text.join(" "),
                rest.iter().all(|word| word.exact),
                &mut own,
                stdin,
            );
        }
        Output::Foreign
    }

    /// A login without a command runs what stands on its input.
    fn remote_shell(&mut self, stdin: &Stdin, state: &mut State) {
        match stdin {
            Stdin::Text(text) => {
                let text = text.clone();
                self.inner(&text, false, state, &Stdin::None);
            }
            Stdin::Unknown => self.ask("another machine runs whatever is piped into it", true),
            Stdin::None => {}
        }
    }
}

/// Flags of these wrappers that take the next word.
fn own_values(name: &str) -> &'static [&'static str] {
    match name {
        "watch" => &["-n", "--interval"],
        "entr" => &[],
        "watchexec" => &[
            "-w",
            "-W",
            "-e",
            "-f",
            "-i",
            "-d",
            "-s",
            "-o",
            "--watch",
            "--exts",
            "--filter",
            "--ignore",
            "--signal",
            "--shell",
            "--debounce",
        ],
        "screen" => &[
            "-S", "-dmS", "-DmS", "-mdS", "-t", "-c", "-s", "-T", "-e", "-h", "-p",
        ],
        _ => &[
            "-n",
            "--interval",
            "-s",
            "-t",
            "-c",
            "-w",
            "--warmup",
            "-r",
            "--runs",
            "-S",
            "--shell",
            "-x",
            "-y",
        ],
    }
}
