//! Programs that run a program text: shells, `source`, and languages.

use super::{
    analyzer::Analyzer,
    args::{Args, basename},
    bodies, code,
    place::resolve,
    simple::Call,
    state::{Made, Output, State, Stdin},
    table::table,
    text::{Text, UNKNOWN},
};

impl Analyzer<'_> {
    /// Judges a shell, `source`, or a language; nothing if it is none.
    pub(super) fn shell(&mut self, call: &Call<'_>, state: &mut State) -> Option<Output> {
        if table().has("shells", call.name) {
            return Some(self.shell_program(call, state));
        }
        if matches!(call.name, "source" | ".") && !call.path.contains('/') {
            return Some(self.source(call, state));
        }
        let language = bodies::language_of(call.name)?;
        Some(self.language(language, call, state))
    }

    fn shell_program(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        self.local("it runs a script");
        let mut index = 0;
        let mut own = state.clone();
        while let Some(word) = call.args.0.get(index) {
            let text = word.as_str();
            index += 1;
            match text {
                "--rcfile" | "--init-file" => {
                    if call.args.get(index) != Some("/dev/null") {
                        self.ask("the shell runs a file before anything else");
                    }
                    index += 1;
                }
                "-o" | "+o" | "-O" | "+O" => index += 1,
                "--" | "-" => break,
                _ if text.starts_with("--") => {}
                _ if is_flags(text) => {
                    if text.contains('c') {
                        return self.dash_c(Args(&call.args.0[index..]), &mut own, call.stdin);
                    }
                    if text.starts_with('-') && text.contains('n') {
                        // Only checks the syntax.
                        return Output::Unknown;
                    }
                    if text.contains('s') {
                        own.positional = Some(call.args.0[index..].to_vec());
                        return self.fed(call.stdin, &mut own);
                    }
                    // `-o pipefail` merged, as in `-euo pipefail`.
                    if text.ends_with('o') || text.ends_with('O') {
                        index += 1;
                    }
                }
                _ => {
                    index -= 1;
                    break;
                }
            }
        }
        match call.args.0.get(index) {
            Some(script) => {
                self.run_file(script, state, call.stdin);
                Output::Unknown
            }
            None => self.fed(call.stdin, &mut own),
        }
    }

    /// `-c text name args…`, flags may stand between.
    fn dash_c(&mut self, rest: Args<'_>, state: &mut State, stdin: &Stdin) -> Output {
        let mut words = rest.0;
        while let [word, more @ ..] = words
            && (is_flags(&word.text) || word.text == "--")
        {
            let used = usize::from(word.text.ends_with('o'));
            words = more.get(used..).unwrap_or_default();
        }
        let Some((text, positional)) = words.split_first() else {
            return Output::nothing();
        };
        if let Some(zero) = positional.first() {
            state.zero = zero.clone();
        }
        state.positional = positional.get(1..).map(<[Text]>::to_vec);
        self.inner(text, state, stdin)
    }

    /// A shell without a script runs what stands on its input.
    fn fed(&mut self, stdin: &Stdin, state: &mut State) -> Output {
        match stdin {
            Stdin::None => Output::Unknown,
            Stdin::Text(text) => self.inner(&Text::read(text), state, &Stdin::None),
            Stdin::Unknown => {
                self.ask_online("a shell runs whatever is piped into it");
                Output::Unknown
            }
        }
    }

    fn source(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        self.local("it runs a script");
        if let Some(script) = call.args.0.first() {
            self.run_file(script, state, call.stdin);
        }
        Output::Unknown
    }

    /// A file is run as a program.
    pub(super) fn run_file(&mut self, file: &Text, state: &mut State, stdin: &Stdin) {
        let stream = file.text.starts_with("/dev/fd/")
            || file.text.starts_with("/proc/self/fd/")
            || file.text == "/dev/stdin"
            || file.text == "-";
        if stream {
            let whole = file.exact && file.text != "/dev/fd/63";
            match stdin {
                Stdin::Text(text) if whole && !text.contains(UNKNOWN) => {
                    self.script(text, state, &Stdin::None);
                }
                _ => self.ask_online("it runs the output of another command"),
            }
            return;
        }
        if !file.placed {
            self.ask("it runs a file that is not known before it runs");
            return;
        }
        match resolve(&file.text, state).and_then(|path| state.files.get(&path).cloned()) {
            Some(Made::Foreign) => self.ask_online("it runs what it has downloaded or decoded"),
            Some(Made::Text(text)) => {
                self.inner(&Text::read(&text), &mut state.clone(), stdin);
            }
            None => {}
        }
        if let Some(reason) = code::script_name(&file.text) {
            self.ask_online(reason);
        }
    }

    fn language(
        &mut self,
        language: &bodies::Language,
        call: &Call<'_>,
        state: &mut State,
    ) -> Output {
        self.local("it runs a program text");
        match &bodies::inline(language, call.args) {
            bodies::Inline::Text(text) => self.body(language, text, state),
            bodies::Inline::Module(name, rest) => {
                return self.module(name, Args(rest), call, state);
            }
            bodies::Inline::File(file, rest) => {
                self.language_file(language, file, rest, call, state);
            }
            bodies::Inline::Standard => match call.stdin {
                Stdin::None => {}
                Stdin::Text(text) => self.body(language, &Text::read(text), state),
                Stdin::Unknown => {
                    self.ask_online(format!("{} runs whatever is piped into it", call.name));
                }
            },
            bodies::Inline::Nothing => {}
        }
        Output::Unknown
    }

    fn language_file(
        &mut self,
        language: &bodies::Language,
        file: &Text,
        rest: &[Text],
        call: &Call<'_>,
        state: &mut State,
    ) {
        let made = resolve(&file.text, state).and_then(|path| state.files.get(&path).cloned());
        let made = match (file.as_str(), call.stdin) {
            ("/dev/stdin" | "/dev/fd/0", Stdin::Text(text)) => Some(Made::Text(text.clone())),
            _ => made,
        };
        if let Some(Made::Text(text)) = made {
            self.body(language, &Text::read(&text), state);
        } else {
            self.run_file(file, state, call.stdin);
        }
        // A command script of a framework: `python manage.py flush`.
        let name = basename(&file.text);
        self.local("it runs a program in the sandbox");
        if let Some(row) = table().row(name).filter(|row| row.script) {
            self.by_row(row, &call.of(name, rest), state);
        }
    }

    fn body(&mut self, language: &bodies::Language, text: &Text, state: &State) {
        if !text.placed && text.text.trim() == UNKNOWN.to_string() {
            self.ask("it runs a text that is not known before it runs");
            return;
        }
        self.judge_text(language, &text.text, state);
    }

    /// Asks where a program text needs a click.
    pub(super) fn judge_text(&mut self, language: &bodies::Language, text: &str, state: &State) {
        if let Some(reason) = bodies::judge(self, language, text, state) {
            self.ask(reason);
        }
    }

    /// `python -m name …`.
    fn module(&mut self, name: &str, args: Args<'_>, call: &Call<'_>, state: &mut State) -> Output {
        match name {
            "venv" | "virtualenv" => {
                for path in args.operands(&["--prompt"]) {
                    self.write(path, state, "writes to");
                }
            }
            "timeit" => {
                let setup = args.values(&["-s", "--setup"]);
                let timed = args.operands(&["-s", "--setup", "-n", "-r", "-u"]);
                for text in timed.into_iter().chain(&setup) {
                    if let Some(python) = bodies::language_of("python") {
                        self.judge_text(python, &text.text, state);
                    }
                }
            }
            "cProfile" | "pdb" | "trace" => {
                let words = args.behind_program("python");
                self.nested(&words, &mut state.clone(), call.stdin);
            }
            _ => {
                self.program(&call.of(name, args.0), state);
            }
        }
        Output::Unknown
    }
}

fn is_flags(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(['-', '+'])
        && text[1..].bytes().all(|b| b.is_ascii_alphabetic())
}
