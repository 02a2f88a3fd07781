//! Program texts in files: those that the command line itself writes or pipes
//! are read; what comes from elsewhere at the moment of running asks.

use std::collections::HashMap;

use super::{
    analyzer::Analyzer,
    bodies::make,
    place::resolve,
    simple::Call,
    state::{Made, State, Stdin},
    text::Text,
};

/// What make looks for when it is told nothing.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

impl Analyzer<'_> {
    /// The text of a program file, if this command line made it. Asks when it
    /// is a stream or a download that nobody can have read.
    pub(super) fn program_text(
        &mut self,
        file: &Text,
        stdin: &Stdin,
        state: &State,
    ) -> Option<String> {
        let path = file.as_str();
        let input = matches!(path, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0");
        let stream = path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
        match stdin {
            Stdin::Text(text) if input => return Some(text.clone()),
            Stdin::None if input => return None,
            _ if input || stream => {
                self.ask_online("it runs the output of another command");
                return None;
            }
            _ => {}
        }
        match resolve(&file.text, state).and_then(|path| state.files.get(&path).cloned()) {
            Some(Made::Text(text)) => Some(text),
            Some(Made::Foreign) => {
                self.ask_online("it runs what it has downloaded or decoded");
                None
            }
            None => None,
        }
    }

    /// make: its makefiles as far as this command line wrote them, `--eval`, and
    /// words that make expands.
    pub(super) fn makefiles(&mut self, call: &Call<'_>, state: &State) {
        let args = call.args;
        let mut own = state.clone();
        for folder in args.values(&["-C", "--directory"]) {
            own.cwd = folder.placed.then(|| resolve(&folder.text, &own)).flatten();
        }
        let mut given = HashMap::new();
        for word in args.iter().filter(|word| !word.text.starts_with('-')) {
            match word.text.split_once('=') {
                Some((name, value)) => {
                    given.insert(name.trim_end_matches(':').to_owned(), value.to_owned());
                    self.make_text(&format!("{name}={value}"), &HashMap::new(), &own);
                }
                None if word.text.contains("$(") => {
                    self.make_text(&word.text, &HashMap::new(), &own);
                }
                None => {}
            }
        }
        let mut named = args.values(&["-f", "--file", "--makefile"]);
        named.extend(args.merged_value('f'));
        if named.is_empty() {
            named.extend(MAKEFILES.map(Text::exact));
        }
        for file in named {
            if let Some(text) = self.program_text(&file, call.stdin, &own) {
                self.make_text(&text, &given, &own);
            }
        }
        for text in args.values(&["--eval", "-E"]) {
            self.make_text(&text.text, &given, &own);
        }
    }

    fn make_text(&mut self, text: &str, given: &HashMap<String, String>, state: &State) {
        let Some(lines) = make::shell_lines(text, given) else {
            self.ask("the makefile cannot be judged");
            return;
        };
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            self.script(line, &mut state.clone(), &Stdin::None);
        }
    }
}
