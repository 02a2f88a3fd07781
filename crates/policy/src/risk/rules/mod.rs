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
    args::Args,
    bodies,
    place::resolve,
    simple::Call,
    state::{Made, Output, State},
    text::Text,
    walk::Walk,
};

pub(super) use git::executes;
pub(super) use named::script_name;
pub(super) use overrides::{demotes, promotes};

type Rule = fn(&mut Walk<'_>, &Call<'_>, &mut State) -> Option<Output>;

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
pub(super) fn judge(walk: &mut Walk<'_>, call: &Call<'_>, state: &mut State) -> Output {
    if call.path.contains('/') {
        run_made(walk, call, state);
    }
    if let Some(reason) = script_name(call.path) {
        walk.ask(reason, true);
    }
    for rule in RULES {
        if let Some(output) = rule(walk, call, state) {
            return output;
        }
    }
    named::targets(walk, call, state);
    walk.find(Tier::WriteLocal, "it runs a program in the sandbox", false);
    Output::Unknown
}

/// A program that the text itself wrote or fetched.
fn run_made(walk: &mut Walk<'_>, call: &Call<'_>, state: &mut State) {
    let made = resolve(call.path, state).and_then(|path| state.files.get(&path).cloned());
    let Some(made) = made else { return };
    if let Made::Text(text) = &made
        && let Some(line) = text.strip_prefix("#!").and_then(|text| text.lines().next())
    {
        let interpreter = line.split(['/', ' ']).next_back().unwrap_or_default();
        if let Some(language) = bodies::language_of(interpreter) {
            if let Some(reason) = bodies::judge(walk, language, text, state) {
                walk.ask(reason, false);
            }
            return;
        }
    }
    walk.run_file(&Text::exact(call.path), state, call.feed);
}

/// A script run by its language: `python manage.py flush`.
pub(super) fn script(walk: &mut Walk<'_>, file: &str, args: Args<'_>, state: &State) {
    let name = super::args::basename(file);
    named::script_arguments(walk, name, args);
    consoles::judge(walk, name, args, state);
}

/// `python -m name …`.
pub(super) fn module(
    walk: &mut Walk<'_>,
    name: &str,
    args: Args<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Output {
    let call = Call {
        path: name,
        name,
        args,
        feed: call.feed,
    };
    match name {
        "venv" | "virtualenv" => {
            for path in args.operands(&["--prompt"]) {
                walk.write(path, state, "writes to");
            }
        }
        "timeit" => {
            let setup = args.values(&["-s", "--setup"]);
            let timed = args.operands(&["-s", "--setup", "-n", "-r", "-u"]);
            for text in timed.into_iter().chain(&setup) {
                timed_text(walk, text, state);
            }
            walk.find(Tier::WriteLocal, "it runs a program text", false);
        }
        "cProfile" | "pdb" | "trace" => {
            let mut state = state.clone();
            let words: Vec<Text> = std::iter::once(Text::exact("python"))
                .chain(args.iter().cloned())
                .collect();
            walk.nested(&words, &mut state, call.feed);
        }
        _ => {
            judge(walk, &call, state);
        }
    }
    Output::Unknown
}

fn timed_text(walk: &mut Walk<'_>, text: &Text, state: &State) {
    let reason = bodies::language_of("python")
        .and_then(|python| bodies::judge(walk, python, &text.text, state));
    if let Some(reason) = reason {
        walk.ask(reason, false);
    }
}
