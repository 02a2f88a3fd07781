//! One command for each of many words or files: xargs, parallel, find, fd.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("xargs", |analyzer, call, state| {
        Some(analyzer.xargs(call, state))
    }),
    ("parallel", |analyzer, call, state| {
        Some(analyzer.parallel(call, state))
    }),
    ("find", |analyzer, call, state| {
        Some(analyzer.find_files(call.args, state))
    }),
    ("fd", |analyzer, call, state| {
        Some(analyzer.fd(call.args, state))
    }),
];

/// So many lines are put in the place of a mark one by one.
const MAX_LINES: usize = 12;

/// The mark that xargs puts each line for.
fn replaced(args: Args<'_>) -> Option<Text> {
    let mark = args.values(&["-I"]).into_iter().next();
    let long = || args.iter().find_map(|word| word.strip("--replace="));
    let short = || args.iter().find_map(|word| word.strip("-i"));
    let given = mark.or_else(long).or_else(short);
    let bare = args.long("--replace") || args.short('i');
    let default = || bare.then(|| Text::exact("{}"));
    given.filter(|mark| !mark.text.is_empty()).or_else(default)
}

impl Analyzer<'_> {
    fn xargs(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        let args = call.args;
        let mut inner = args.peel(call.takes(), 0).to_vec();
        let args = Args(&args.0[..args.0.len() - inner.len()]);
        let known = match call.stdin {
            Stdin::Text(text) if args.values(&["-a", "--arg-file"]).is_empty() => Some(text),
            _ => None,
        };
        let Some(mark) = replaced(args) else {
            match known {
                Some(text) => inner.extend(text.split_whitespace().map(Text::read)),
                None => inner.push(Text::unknown()),
            }
            self.removes_each(&inner);
            return self.nested(&inner, &mut state.clone(), &Stdin::Unknown);
        };
        // Each line in the place of the mark; too many are not followed.
        let lines: Vec<&str> = known.map_or(Vec::new(), |text| text.lines().collect());
        let values = match lines.len() {
            1..=MAX_LINES => lines.iter().map(|line| Text::read(line.trim())).collect(),
            _ => vec![Text::unknown()],
        };
        for value in values {
            let mut own = state.clone();
            let words = inner
                .iter()
                .map(|word| match word.text.trim() == mark.text {
                    true => value.clone(),
                    false => word.clone(),
                });
            let words: Vec<Text> = words.collect();
            own.placeholder = Some((mark.text.clone(), value));
            self.removes_each(&words);
            self.nested(&words, &mut own, &Stdin::Unknown);
        }
        Output::Unknown
    }

    /// Removing whatever a search or a list finds is recursive in all but name.
    fn removes_each(&mut self, inner: &[Text]) {
        let name = inner.first().map(|word| basename(&word.text));
        if matches!(name, Some("rm" | "unlink" | "shred" | "rmdir")) {
            self.ask("it removes everything that a search or list finds");
        }
    }

    fn parallel(&mut self, call: &Call<'_>, state: &mut State) -> Output {
        let stdin = call.stdin;
        let inner = call.args.peel(call.takes(), 0);
        let marks = |word: &Text| word.text.starts_with(":::");
        let end = inner.iter().position(marks).unwrap_or(inner.len());
        let mut values = inner[end..].to_vec();
        values.retain(|word| !marks(word));
        let mut own = state.clone();
        let command = inner[..end].to_vec();
        let known = !values.is_empty();
        let value = values.first().cloned().unwrap_or_else(Text::unknown);
        self.removes_each(&command);
        if command.is_empty() {
            // Each line, or each value, is a command.
            for value in &values {
                self.inner(value, &mut own, stdin);
            }
            if !known {
                self.fed_lines(stdin, &mut own);
            }
            return Output::Unknown;
        }
        own.placeholder = Some(("{}".to_owned(), value.clone()));
        self.inner(&Text::joined(&command), &mut own, stdin)
    }

    fn fed_lines(&mut self, stdin: &Stdin, state: &mut State) {
        match stdin {
            Stdin::Text(text) => drop(self.inner(&Text::read(text), state, &Stdin::None)),
            Stdin::Unknown => self.ask("it runs each line that is piped into it"),
            Stdin::None => {}
        }
    }

    fn find_files(&mut self, args: Args<'_>, state: &mut State) -> Output {
        let mut index = 0;
        let starts: Vec<&Text> = args
            .iter()
            .take_while(|word| !word.text.starts_with(['-', '(', '!']))
            .collect();
        let placed = starts
            .iter()
            .all(|word| matches!(self.place(word, state), Place::Inside(_)));
        let start = starts.first().map_or(".", |start| start.as_str());
        let worthless = placed && finds_only_what_is_made_again(args);
        let found = if worthless {
            // As good as any other name that it can find.
            Text::placed(format!("{start}/__pycache__"))
        } else if placed {
            Text::placed(start)
        } else {
            Text::unknown()
        };
        while let Some(word) = args.0.get(index) {
            index += 1;
            match word.as_str() {
                "-delete" if worthless => {
                    self.local("it removes what is made again");
                }
                "-delete" if placed => self.ask_undoable("it removes everything it finds"),
                "-delete" => self.ask("it removes everything it finds"),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let mut words = args.0[index..].iter();
                    let end = words.position(|word| matches!(word.as_str(), ";" | "+"));
                    let end = end.map_or(args.0.len(), |end| index + end);
                    let inner = args.0[index..end].to_vec();
                    if !worthless {
                        self.removes_each(&inner);
                    }
                    let mut own = state.clone();
                    own.placeholder = Some(("{}".to_owned(), found.clone()));
                    let inner = inner.into_iter().map(|word| match word.as_str() {
                        "{}" => found.clone(),
                        _ => word,
                    });
                    let inner: Vec<Text> = inner.collect();
                    self.nested(&inner, &mut own, &Stdin::None);
                    index = end;
                }
                "-fprint" | "-fprintf" | "-fls" | "-fprint0" => {
                    self.local("it writes a file");
                    if let Some(path) = args.0.get(index) {
                        self.write(path, state, "writes to");
                    }
                }
                _ => {}
            }
        }
        Output::Unknown
    }

    fn fd(&mut self, args: Args<'_>, state: &mut State) -> Output {
        let at = args
            .iter()
            .position(|word| matches!(word.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        if let Some(at) = at {
            let mut inner = args.0[at + 1..].to_vec();
            self.removes_each(&inner);
            let found = Text::placed("found");
            let mut own = state.clone();
            own.placeholder = Some(("{}".to_owned(), found.clone()));
            inner.push(found);
            self.nested(&inner, &mut own, &Stdin::None);
        }
        Output::Unknown
    }
}

/// Whether a search can only find what is made again: each of its branches asks for
/// a name of such things, and nothing is turned around.
fn finds_only_what_is_made_again(args: Args<'_>) -> bool {
    let mut words = args
        .iter()
        .skip_while(|word| !word.text.starts_with(['-', '(', '!']));
    let mut named = false;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-name" | "-iname" => {
                let is_such = |name: &Text| name.exact && place::is_made_again(&name.text);
                if !words.next().is_some_and(is_such) {
                    return false;
                }
                named = true;
            }
            "-o" | "-or" if named => named = false,
            "-type" | "-maxdepth" | "-mindepth" => drop(words.next()),
            // What it runs is judged by itself.
            "-exec" | "-execdir" => {
                let _ = words.find(|word| matches!(word.as_str(), ";" | "+"));
            }
            plain if table().has("find-plain", plain) => {}
            _ => return false,
        }
    }
    named
}
