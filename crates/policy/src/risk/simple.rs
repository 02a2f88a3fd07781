//! One simple command: assignments, redirections, then its words.

use butler_protocol::Tier;

use super::{
    analyzer::Analyzer,
    args::{Args, basename},
    bodies, code, overrides,
    place::{Place, resolve},
    state::{Made, Output, State, Stdin},
    table::table,
    text::Text,
    variables::Kind,
};
use crate::shell::{self, Part, Redirect, Simple, Target, Word};

impl Analyzer<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, state: &mut State, stdin: &Stdin) -> Output {
        simple.source.clone_into(&mut self.part);
        for assignment in &simple.assignments {
            self.assignment(assignment, simple.words.is_empty(), state);
        }
        let lists = self.declared_lists(&simple.words, state);
        let words = simple.words.iter().enumerate();
        let argv = words
            .filter(|(index, _)| !lists.contains(index))
            .flat_map(|(_, word)| self.expand(word, state))
            .collect::<Vec<_>>();
        simple.source.clone_into(&mut self.part);
        let stdin = self.redirects(&simple.redirects, state, stdin, &Output::nothing());
        if argv.is_empty() {
            if !simple.words.is_empty() {
                self.ask("the command word is not known before it runs");
            }
            return Output::nothing();
        }
        let output = self.with_assignments(simple, &argv, state, &stdin);
        simple.source.clone_into(&mut self.part);
        self.redirects(&simple.redirects, state, &stdin, &output);
        output
    }

    /// `A=1 git …`: git is told where it works by variables of its own.
    fn with_assignments(
        &mut self,
        simple: &Simple,
        argv: &[Text],
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        let tells = |name: &str| matches!(name, "GIT_DIR" | "GIT_WORK_TREE");
        if !simple.assignments.iter().any(|given| tells(&given.name)) {
            return self.argv(argv, state, stdin);
        }
        let mut own = state.clone();
        for given in simple.assignments.iter().filter(|given| tells(&given.name)) {
            self.assignment(given, true, &mut own);
        }
        self.argv(argv, &mut own, stdin)
    }

    /// `local x=( … )`: a list is an assignment there too. Says which words
    /// were lists.
    fn declared_lists(&mut self, words: &[Word], state: &mut State) -> Vec<usize> {
        const DECLARE: [&str; 5] = ["declare", "local", "typeset", "readonly", "export"];
        let first = words.first().and_then(Word::plain);
        if !first.is_some_and(|name| DECLARE.contains(&name)) {
            return Vec::new();
        }
        let mut plain = words.iter().filter_map(Word::plain);
        let keyed = plain.any(|word| word.starts_with('-') && word.contains('A'));
        let mut lists = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let has_list = word.parts.iter().any(|part| matches!(part, Part::Array(_)));
            if has_list && let Ok(assignment) = shell::as_assignment(word.clone()) {
                if keyed {
                    state.kinds.insert(assignment.name.clone(), Kind::Keyed);
                }
                self.assignment(&assignment, true, state);
                lists.push(index);
            }
        }
        lists
    }

    /// A command as expanded words.
    pub(super) fn argv(&mut self, argv: &[Text], state: &mut State, stdin: &Stdin) -> Output {
        let Some((program, args)) = argv.split_first() else {
            return Output::nothing();
        };
        let globbed = program.glob && program.text != "[";
        if !program.exact || globbed || program.text.is_empty() {
            self.ask("the command word is not known before it runs");
            return Output::Unknown;
        }
        if program.text.chars().any(char::is_control) {
            self.ask("the command word contains control characters");
        }
        match self.overridden(argv, state) {
            Some(Tier::Destructive) => self.ask_online("the repo's policy says so"),
            Some(tier) => {
                self.find(tier, "the policy calls it safe", false);
                return Output::Unknown;
            }
            None => {}
        }
        let name = program.text.as_str();
        if state.functions.contains_key(name) {
            return self.call(name, args, state, stdin);
        }
        if let Some(alias) = state.aliases.get(name).cloned() {
            state.aliases.remove(name);
            let rest = Text::joined(args).text;
            return self.script(&format!("{alias} {rest}"), state, stdin);
        }
        let call = Call {
            path: name,
            name: basename(name),
            args: Args(args),
            stdin,
        };
        let builtin = self.builtin(&call, state);
        let known = builtin.or_else(|| self.shell(&call, state));
        known.unwrap_or_else(|| self.program(&call, state))
    }

    /// A program that is neither the shell's own nor a language.
    pub(super) fn program(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        if call.path.contains('/') {
            self.run_made(call, state);
        }
        if let Some(reason) = code::script_name(call.path) {
            self.ask_online(reason);
        }
        self.by_table(call, state)
    }

    /// A program that the text itself wrote or fetched.
    fn run_made(&mut self, call: &Call<'_>, state: &mut State) {
        let made = resolve(call.path, state).and_then(|path| state.files.get(&path).cloned());
        let Some(made) = made else { return };
        if let Made::Text(text) = &made
            && let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next())
        {
            let interpreter = line.split(['/', ' ']).next_back().unwrap_or_default();
            if let Some(language) = bodies::language_of(interpreter) {
                self.judge_text(language, text, state);
                return;
            }
        }
        self.run_file(&Text::exact(call.path), state, call.stdin);
    }

    fn overridden(&self, argv: &[Text], state: &State) -> Option<Tier> {
        let bash = &self.ctx.overrides.tool_overrides.bash;
        let promotes = |p: &String| overrides::promotes(p, argv, state, self.ctx.root);
        if bash.destructive.iter().any(promotes) {
            return Some(Tier::Destructive);
        }
        let safe = bash.safe.iter().any(|p| overrides::demotes(p, argv));
        safe.then_some(Tier::WriteLocal)
    }

    /// Judges redirections and says what stands on standard input. Called twice:
    /// before the command for its input, after it with what it printed.
    pub(super) fn redirects(
        &mut self,
        redirects: &[Redirect],
        state: &mut State,
        stdin: &Stdin,
        output: &Output,
    ) -> Stdin {
        let mut stdin = stdin.clone();
        for redirect in redirects {
            match &redirect.target {
                Target::Document(slot) => {
                    // Unknown parts stay visible to whoever reads the text as a program.
                    let text = slot.get().map(|word| self.expand_one(word, state));
                    stdin = text.map_or(Stdin::Unknown, |text| Stdin::Text(text.text));
                }
                Target::Word(word) if redirect.operator == "<" && is_process(word) => {
                    for part in &word.parts {
                        if let Part::Process { nodes, .. } = part {
                            stdin = self.substitution(nodes, state).stdin();
                        }
                    }
                }
                Target::Word(word) => {
                    let target = self.expand_one(word, state);
                    match redirect.operator {
                        "<<<" => stdin = Stdin::Text(format!("{}\n", target.text)),
                        "<" => stdin = self.input(&target, state),
                        "<&" if target.text == "0" || target.text.ends_with('-') => {}
                        // Whatever was opened there before.
                        "<&" => stdin = Stdin::Unknown,
                        operator => self.output_file(operator, &target, state, output),
                    }
                }
            }
        }
        stdin
    }

    fn input(&mut self, target: &Text, state: &State) -> Stdin {
        if is_socket(&target.text) {
            self.ask_online("it reads from a network connection");
        }
        match resolve(&target.text, state).and_then(|path| state.files.get(&path)) {
            Some(Made::Text(text)) => Stdin::Text(text.clone()),
            _ => Stdin::Unknown,
        }
    }

    fn output_file(&mut self, operator: &str, target: &Text, state: &mut State, output: &Output) {
        let number = target.text.trim_end_matches('-');
        let descriptor = number.bytes().all(|b| b.is_ascii_digit());
        if operator == ">&" && descriptor && !target.text.is_empty() {
            return;
        }
        if is_socket(&target.text) {
            self.ask_online("it writes to a network connection");
            return;
        }
        self.local("it writes a file");
        self.write(target, state, "writes to");
        if let Place::Inside(path) = self.place(target, state) {
            let made = match output {
                Output::Text(text) => Some(Made::Text(text.clone())),
                Output::Foreign => Some(Made::Foreign),
                _ => None,
            };
            match (made, state.files.get_mut(&path)) {
                (Some(Made::Text(new)), Some(Made::Text(old))) if operator.ends_with(">>") => {
                    old.push_str(&new);
                }
                (Some(made), _) => {
                    state.files.insert(path, made);
                }
                (None, _) => {
                    state.files.remove(&path);
                }
            }
        }
    }

    /// A path is written, removed, moved or linked: it must be ours.
    pub(super) fn write(&mut self, path: &Text, state: &State, verb: &str) {
        match self.place(path, state) {
            Place::Inside(_) | Place::Device => {}
            Place::Protected(path) => {
                self.ask(format!("it {verb} {path}, which decides what may run"));
            }
            Place::Outside(path) if path.contains(super::text::UNKNOWN) => {
                self.ask(format!("it {verb} a path that is not known before it runs"));
            }
            Place::Outside(path) => {
                self.ask(format!("it {verb} {path}, outside the worktree"));
            }
        }
    }
}

/// A program with its arguments.
pub(super) struct Call<'c> {
    /// As written.
    pub path: &'c str,
    /// Without its folder.
    pub name: &'c str,
    pub args: Args<'c>,
    pub stdin: &'c Stdin,
}

impl<'c> Call<'c> {
    /// A call of another program in the same place.
    pub(super) fn of(&self, name: &'c str, args: &'c [Text]) -> Self {
        Self {
            path: name,
            name,
            args: Args(args),
            stdin: self.stdin,
        }
    }

    /// The flags of the program that take the next word.
    pub(super) fn takes(&self) -> &'static [&'static str] {
        table().row(self.name).map_or(&[], |row| &row.takes)
    }

    /// `program --help`, `program help verb`, `program verb --help`: only a look. The
    /// flag stands last, behind nothing but the names of subcommands, so that it is
    /// not some inner command's own.
    pub(super) fn asks_for_help(&self) -> bool {
        const ASKS: [&str; 7] = ["--version", "--help", "-h", "version", "help", "-v", "-V"];
        let args = self.args;
        if (args.0.len() == 1 || args.get(0) == Some("help")) && args.any(&ASKS) {
            return true;
        }
        let Some((last, before)) = args.0.split_last() else {
            return false;
        };
        let help = match self.name {
            "aws" => last.text == "help",
            _ => matches!(last.as_str(), "--help" | "-help"),
        };
        let name = |b: u8| b.is_ascii_lowercase() || b == b'-' || b == b'3';
        let plain = before.iter().all(|word| {
            word.exact
                && !word.text.is_empty()
                && !word.text.starts_with('-')
                && word.text.bytes().all(name)
        });
        let group = before.first().map_or("", |word| word.as_str());
        let grouped = || table().has("help-groups", group);
        let most = match self.name {
            "gcloud" | "az" | "aws" | "gh" => 4,
            _ if grouped() => 2,
            _ => 1,
        };
        help && plain && before.len() <= most
    }
}

/// `< <( … )`: what stands on the input is what that prints.
fn is_process(word: &Word) -> bool {
    matches!(word.parts.as_slice(), [Part::Process { reads: true, .. }])
}

fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
