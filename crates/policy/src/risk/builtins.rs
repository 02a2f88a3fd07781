//! What the shell itself does: folders, variables, `eval`, `trap`, `alias`.

use super::{
    analyzer::Analyzer,
    args::Args,
    place::resolve,
    simple::Call,
    state::{Output, State, Stdin},
    table::table,
    text::{Text, UNKNOWN},
    variables::Kind,
};

impl Analyzer<'_> {
    /// Judges a builtin; nothing if it is none.
    pub(super) fn builtin(&mut self, call: &Call<'_>, state: &mut State) -> Option<Output> {
        if call.path.contains('/') {
            return None;
        }
        let args = call.args;
        match call.name {
            "cd" | "pushd" | "popd" => self.change_folder(call.name, args, state),
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                self.declare(call.name, args, state);
            }
            "let" => {
                for word in args.iter() {
                    self.arithmetic(&word.text, state);
                }
            }
            "unset" => {
                for name in args.operands(&[]) {
                    if name.text.contains('[') {
                        // The others move up.
                        self.fill(&name.text, state);
                        continue;
                    }
                    state.kinds.remove(&name.text);
                    state.variables.remove(&name.text);
                    state.functions.remove(&name.text);
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" => {
                for text in args.values(&["-C"]) {
                    self.inner_apart(&text, state);
                }
                for name in args.operands(&["-p", "-d", "-n", "-t", "-u", "-i"]) {
                    self.fill(&name.text, state);
                }
            }
            "compgen" | "complete" => {
                for text in args.values(&["-C"]) {
                    self.inner_apart(&text, state);
                }
                args.values(&["-W"])
                    .iter()
                    .for_each(|text| self.evaluated(&text.text, state));
            }
            "set" => {
                if let Some(at) = args.iter().position(|word| word.text == "--") {
                    state.positional = Some(args.0[at + 1..].to_vec());
                }
            }
            "shift" => {
                if let Some(values) = &mut state.positional
                    && !values.is_empty()
                {
                    values.remove(0);
                }
            }
            "eval" => return Some(self.eval(args, state, call.stdin)),
            "trap" => self.trap(args, state),
            "alias" => define_aliases(args, state),
            "hash" if args.short('p') => {
                self.ask("`hash -p` gives a program another name");
            }
            "enable" if args.short('f') => self.ask("it loads code into the shell"),
            "printf" if args.get(0) == Some("-v") => {
                if let Some(name) = args.get(1) {
                    self.fill(name, state);
                }
            }
            "exit" | "return" | "break" | "continue" | "wait" | "jobs" | "fg" | "bg" | "disown"
            | "times" | "shopt" | "umask" | "ulimit" | "bind" | "history" | "caller" | "dirs"
            | "unalias" | "suspend" | "logout" | "hash" => {}
            _ => return None,
        }
        Some(Output::nothing())
    }

    fn change_folder(&mut self, name: &str, args: Args<'_>, state: &mut State) {
        let target = args.operands(&[]).first().map(|text| (*text).clone());
        let next = match target {
            _ if name == "popd" => state.before.clone(),
            None if name == "pushd" => state.before.clone(),
            None => Some(self.ctx.home.to_owned()),
            Some(target) if target.text == "-" => state.before.clone(),
            Some(target) if target.placed => resolve(&target.text, state),
            Some(_) => None,
        };
        state.before = std::mem::replace(&mut state.cwd, next);
    }

    /// `export x=1`, `local y`: the words are assignments.
    fn declare(&mut self, builtin: &str, args: Args<'_>, state: &mut State) {
        let flags: String = args
            .iter()
            .filter_map(|word| word.text.strip_prefix('-'))
            .collect();
        // To `export`, `-n` means something else.
        let kind = Kind::of(&flags).filter(|_| builtin != "export");
        for word in args.operands(&[]) {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            self.evaluated(name, state);
            let name = name.trim_end_matches('+').to_owned();
            let value = value.map(|value| word.with(value));
            if let Some(value) = &value {
                self.environment(&name, value, state);
                // A list in a string is read as a list.
                if value.text.starts_with('(') {
                    self.evaluated(&value.text, state);
                }
            }
            if let Some(kind) = kind {
                // The name that a reference stands for is no value given to it.
                state.kinds.remove(&name);
                if kind != Kind::Reference {
                    state.kinds.insert(name.clone(), kind);
                }
            }
            let list = |text: &Text| text.text.starts_with('(');
            match value {
                Some(value) if list(&value) || name.contains('[') => self.fill(&name, state),
                Some(value) => self.set(&name, vec![value], state),
                None => {}
            }
            if kind == Some(Kind::Reference) {
                state.kinds.insert(name, Kind::Reference);
            }
        }
    }

    /// A variable, or an element of one, gets a value that is not known.
    fn fill(&mut self, name: &str, state: &mut State) {
        self.evaluated(name, state);
        let bare = name.split('[').next().unwrap_or(name).to_owned();
        self.set(&bare, vec![Text::unknown()], state);
    }

    fn eval(&mut self, args: Args<'_>, state: &mut State, stdin: &Stdin) -> Output {
        let text = Text::joined(args.0);
        // `eval -- x`
        let behind = text.strip("-- ");
        self.inner(&behind.unwrap_or(text), state, stdin)
    }

    /// A command text inside a command: judged if it is known, asked if not.
    pub(super) fn inner(&mut self, text: &Text, state: &mut State, stdin: &Stdin) -> Output {
        if !text.exact && text.text.contains(UNKNOWN) {
            self.ask("it runs a text that is not known before it runs");
            return Output::Unknown;
        }
        self.script(&text.text, state, stdin)
    }

    /// The same, elsewhere and fed with nothing: what it sets is not seen here.
    pub(super) fn inner_apart(&mut self, text: &Text, state: &State) {
        self.inner(text, &mut state.clone(), &Stdin::None);
    }

    /// A program that is given as a pager: the known ones only show.
    pub(super) fn pager(&mut self, value: &Text, state: &State) {
        let first = value.text.split_whitespace().next().unwrap_or_default();
        if !first.is_empty() && !table().has("pagers", super::args::basename(first)) {
            self.ask(format!("it runs `{}`", value.text));
        }
        self.inner_apart(value, state);
    }

    fn trap(&mut self, args: Args<'_>, state: &mut State) {
        if let Some(action) = args.operands(&[]).first() {
            self.inner_apart(action, state);
        }
    }

    /// Variables that change what runs. Judged where they are set.
    pub(super) fn environment(&mut self, name: &str, value: &Text, state: &State) {
        let is = |list: &str| table().has(list, name);
        match name {
            _ if is("command-variables") => {
                // `LESSOPEN="|command %s"`
                let command = match name {
                    "LESSOPEN" | "LESSCLOSE" => value.text.trim_start_matches(['|', '-', '"', ' ']),
                    _ => value.text.as_str(),
                };
                if runs_a_text(command) && name != "BROWSER" {
                    self.ask(format!("{name} makes other programs run a command"));
                }
                self.inner_apart(&value.with(command), state);
            }
            _ if is("compiler-variables") && runs_a_text(&value.text) => {
                self.ask(format!("{name} makes other programs run a command"));
            }
            _ if is("code-variables") && !matches!(value.as_str(), "" | "/dev/null") => {
                self.ask(format!("{name} makes other programs run code"));
            }
            _ if is("rust-variables") && !is_compiler(&value.text) => {
                self.ask(format!("{name} decides what cargo runs"));
            }
            name if name.starts_with("CARGO_TARGET_")
                && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"))
                && runs_a_text(&value.text) =>
            {
                self.ask(format!("{name} decides what cargo runs"));
            }
            "ENV" if value.text.contains('/') => {
                self.ask("ENV makes other shells run a file");
            }
            "NODE_OPTIONS" if loads_code(&value.text) => {
                self.ask("NODE_OPTIONS makes node load code");
            }
            "JAVA_TOOL_OPTIONS" if value.text.contains("agent") => {
                self.ask("JAVA_TOOL_OPTIONS makes java load code");
            }
            "TAR_OPTIONS" if value.text.contains("checkpoint-action") => {
                self.ask("TAR_OPTIONS makes tar run a command");
            }
            "PS4" | "PS1" if value.text.contains(['`', UNKNOWN]) || value.text.contains("$(") => {
                self.ask(format!("{name} runs a command at each step"));
            }
            name if name.starts_with("BASH_FUNC_") => {
                self.ask(format!("{name} gives shells a function"));
            }
            name if name.starts_with("GIT_CONFIG_KEY_") && super::code::executes(&value.text) => {
                self.ask(format!("git's {} runs a command", value.text));
            }
            _ => {}
        }
    }
}

/// Programs that people put around the compiler of rust.
fn is_compiler(value: &str) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    let name = super::args::basename(first);
    (name.is_empty() || table().has("rust-compilers", name)) && !first.starts_with('.')
}

/// A shell, an interpreter or a file in the place of an editor or pager.
fn runs_a_text(value: &str) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    let name = super::args::basename(first);
    let shell = table().has("interpreters", name);
    let own = first.starts_with("./") || first.starts_with("../") || first.starts_with("/tmp/");
    shell || own
}

fn loads_code(options: &str) -> bool {
    let mut words = options.split_whitespace();
    words.any(|word| table().has("node-loads", word))
}

fn define_aliases(args: Args<'_>, state: &mut State) {
    for word in args.operands(&[]) {
        if let Some((name, value)) = word.text.split_once('=') {
            state.aliases.insert(name.to_owned(), value.to_owned());
        }
    }
}
