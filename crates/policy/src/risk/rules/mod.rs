//! Programs by what they can do. Each file knows one kind of them; a program
//! that nobody knows changes the worktree at most, for the sandbox holds it.

mod cloud;
mod cmake;
mod consoles;
mod credentials;
mod data;
mod files;
mod git;
mod named;
mod network;
mod overrides;
mod packages;
mod readers;
mod system;
mod text_tools;
mod verbs;

use butler_protocol::Tier;

use super::{
    analyzer::Analyzer,
    args::Args,
    bodies,
    place::resolve,
    simple::Call,
    state::{Made, Output, State},
    text::Text,
};

pub(super) use git::executes;
pub(super) use named::script_name;
pub(super) use overrides::{demotes, promotes};

type Rule = fn(&mut Analyzer<'_>, &Call<'_>, &mut State) -> Option<Output>;

const RULES: [Rule; 11] = [
    verbs::judge,
    readers::judge,
    text_tools::judge,
    files::judge,
    git::judge,
    packages::judge,
    data::judge,
    network::judge,
    credentials::judge,
    cloud::judge,
    system::judge,
];

/// Judges a program by the first rule that knows it.
pub(super) fn judge(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Output {
    if call.path.contains('/') {
        run_made(analyzer, call, state);
    }
    if let Some(reason) = script_name(call.path) {
        analyzer.ask(reason, true);
    }
    for rule in RULES {
        if let Some(output) = rule(analyzer, call, state) {
            return output;
        }
    }
    named::targets(analyzer, call, state);
    analyzer.find(Tier::WriteLocal, "it runs a program in the sandbox", false);
    Output::Unknown
}

/// A program that the text itself wrote or fetched.
fn run_made(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) {
    let made = resolve(call.path, state).and_then(|path| state.files.get(&path).cloned());
    let Some(made) = made else { return };
    if let Made::Text(text) = &made
        && let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next())
    {
        let interpreter = line.split(['/', ' ']).next_back().unwrap_or_default();
        if let Some(language) = bodies::language_of(interpreter) {
            if let Some(reason) = bodies::judge(analyzer, language, text, state) {
                analyzer.ask(reason, false);
            }
            return;
        }
    }
    analyzer.run_file(&Text::exact(call.path), state, call.stdin);
}

/// A script run by its language: `python manage.py flush`.
pub(super) fn script(analyzer: &mut Analyzer<'_>, file: &str, args: Args<'_>, state: &State) {
    let name = super::args::basename(file);
    named::script_arguments(analyzer, name, args);
    consoles::judge(analyzer, name, args, state);
}

/// `python -m name …`.
pub(super) fn module(
    analyzer: &mut Analyzer<'_>,
    name: &str,
    args: Args<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Output {
    let call = Call {
        path: name,
        name,
        args,
        stdin: call.stdin,
    };
    match name {
        "venv" | "virtualenv" => {
            for path in args.operands(&["--prompt"]) {
                analyzer.write(path, state, "writes to");
            }
        }
        "timeit" => {
            let setup = args.values(&["-s", "--setup"]);
            let timed = args.operands(&["-s", "--setup", "-n", "-r", "-u"]);
            for text in timed.into_iter().chain(&setup) {
                timed_text(analyzer, text, state);
            }
            analyzer.find(Tier::WriteLocal, "it runs a program text", false);
        }
        "cProfile" | "pdb" | "trace" => {
            let mut state = state.clone();
            let words: Vec<Text> = std::iter::once(Text::exact("python"))
                .chain(args.iter().cloned())
                .collect();
            analyzer.nested(&words, &mut state, call.stdin);
        }
        _ => {
            judge(analyzer, &call, state);
        }
    }
    Output::Unknown
}

fn timed_text(analyzer: &mut Analyzer<'_>, text: &Text, state: &State) {
    let reason = bodies::language_of("python")
        .and_then(|python| bodies::judge(analyzer, python, &text.text, state));
    if let Some(reason) = reason {
        analyzer.ask(reason, false);
    }
}
