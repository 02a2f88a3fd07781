//! Programs that move, copy, link and remove files, and what becomes of those
//! that the text itself made.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("remove", remove),
    ("move", move_files),
    ("copy", copy),
    ("link", link),
    ("tee", |_, call, state| Some(copy_through(call, state))),
    ("dd", |analyzer, call, state| {
        let from = call.args.iter().find_map(|word| word.strip("if="));
        let from = from.unwrap_or_else(|| Text::exact("/dev/stdin"));
        for path in call.args.iter().filter_map(|word| word.strip("of=")) {
            analyzer.writes(&[&path], state, "writes to");
            carry(analyzer, &from, &path, call.stdin, state);
        }
        None
    }),
    ("permissions", permissions),
];

const INTO: [&str; 2] = ["-t", "--target-directory"];

impl Analyzer<'_> {
    /// Files of the worktree are changed; none of these paths may lie elsewhere.
    pub(super) fn writes(&mut self, paths: &[&Text], state: &State, verb: &str) {
        self.local("it changes files of the worktree");
        for path in paths {
            self.write(path, state, verb);
        }
    }
}

fn remove(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let operands = args.operands(&[]);
    let recursive = args.short('r') || args.short('R') || args.long("--recursive");
    let mut losses = operands.iter();
    if recursive
        && (operands.is_empty() || losses.any(|path| !analyzer.is_worth_nothing(path, state)))
    {
        analyzer.ask_undoable("it removes recursively");
    }
    analyzer.writes(&operands, state, "removes");
    for path in operands {
        let unknown = !path.exact && path.placed;
        let beneath_temp = resolve(&path.text, state).is_some_and(|full| full.starts_with("/tmp/"));
        if unknown && !beneath_temp && path.text.contains(UNKNOWN) {
            analyzer.ask("it removes a path that is not known before it runs");
        }
        if let Place::Inside(full) = analyzer.place(path, state) {
            if full == analyzer.ctx.root {
                analyzer.ask("it removes the worktree");
            }
            state.files.remove(&full);
        }
    }
    None
}

fn move_files(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let targets = call.args.values(&INTO);
    let operands = call.args.operands(&["-t", "-S", "--suffix"]);
    analyzer.writes(&operands, state, "moves");
    analyzer.writes(&targets.iter().collect::<Vec<_>>(), state, "moves into");
    if operands.len() > 1 && operands.last().is_some_and(|to| to.text == "/dev/null") {
        analyzer.ask("it moves files into nothing");
    }
    if let [from, to] = operands.as_slice() {
        carry(analyzer, from, to, call.stdin, state);
    }
    None
}

fn copy(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let targets = args.values(&INTO);
    let operands = args.operands(&[
        "-t", "-S", "-m", "-o", "-g", "--mode", "--owner", "--group", "--suffix",
    ]);
    if call.name.ends_with("install") {
        if args.short('d') {
            analyzer.writes(&operands, state, "writes to");
            return None;
        }
        if !args.values(&["-o", "-g", "--owner", "--group"]).is_empty() {
            analyzer.ask("it changes who owns files");
        }
    }
    let target = targets.first().or(operands.last().copied());
    analyzer.writes(&target.into_iter().collect::<Vec<_>>(), state, "writes to");
    if let [from, to] = operands.as_slice() {
        carry(analyzer, from, to, call.stdin, state);
    }
    None
}

/// What this text made stays known under its new name.
fn carry(analyzer: &Analyzer<'_>, from: &Text, to: &Text, stdin: &Stdin, state: &mut State) {
    let made = match (from.as_str(), stdin) {
        ("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0", Stdin::Text(text)) => {
            Some(Made::Text(text.clone()))
        }
        (path, _) if path.starts_with("/dev/") || path.starts_with("/proc/self/fd/") => {
            Some(Made::Foreign)
        }
        (path, _) => resolve(path, state).and_then(|path| state.files.get(&path).cloned()),
    };
    if let (Some(made), Place::Inside(path)) = (made, analyzer.place(to, state)) {
        state.files.insert(path, made);
    }
}

fn link(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let targets = call.args.values(&INTO);
    let operands = call.args.operands(&["-t", "-S"]);
    match (targets.first(), operands.as_slice()) {
        (Some(folder), _) => analyzer.writes(&[folder], state, "links in"),
        (None, [_]) => analyzer.writes(&[], state, "links"),
        (None, [.., to]) => analyzer.writes(&[to], state, "links"),
        (None, []) => {}
    }
    if let [target, name] = operands.as_slice()
        && let (Some(from), Some(to)) = (resolve(&name.text, state), resolve(&target.text, state))
        && from != to
    {
        state.links.insert(from, to);
    }
    None
}

/// `tee` passes its input on and keeps it.
fn copy_through(call: &Call<'_>, state: &mut State) -> Output {
    let Stdin::Text(text) = call.stdin else {
        return Output::Unknown;
    };
    for path in call.args.operands(&[]) {
        if let Some(full) = resolve(&path.text, state) {
            state.files.insert(full, Made::Text(text.clone()));
        }
    }
    Output::Text(text.clone())
}

/// Usual rights for files of the worktree are ordinary work; all else asks: rights of
/// somebody else, for everybody to write, or for whole folders.
fn permissions(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    if call.args.0.len() == 1 && call.args.any(&["--help", "--version"]) {
        return None;
    }
    let operands = call.args.operands(&["--reference"]);
    let (mode, paths) = match operands.split_first() {
        Some((mode, paths)) => (mode.as_str(), paths),
        None => ("", &operands[..]),
    };
    let ours = |path: &&Text| path.exact && matches!(analyzer.place(path, state), Place::Inside(_));
    let plain = call.name == "chmod"
        && table().has("plain-modes", mode)
        && !call.args.short('R')
        && paths.iter().all(ours);
    if plain {
        analyzer.local("it changes who may run or read a file");
    } else {
        let reason = format!("`{}` changes permissions or ownership", call.name);
        analyzer.ask(reason);
    }
    None
}
