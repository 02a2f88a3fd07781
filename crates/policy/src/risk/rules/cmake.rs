//! cmake: it builds, installs, and has a set of small commands for files.

use super::super::{analyzer::Analyzer, args::Args, simple::Call, state::State, text::Text};

/// cmake as a builder, as an installer, and as a set of small commands.
pub(super) fn judge(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) {
    let args = call.args;
    if args.has("--install") {
        analyzer.ask("it installs", false);
    }
    let targets = args.values(&["--target", "-t"]);
    let installs = |target: &Text| target.text == "install" || target.text.starts_with("install/");
    if args.has("--build") && (targets.iter().any(installs) || args.any(&["install"])) {
        analyzer.ask("it installs", false);
    }
    for file in args.values(&["-P"]) {
        let text = analyzer.program_text(&file, call.stdin, state);
        let loud = [
            "execute_process",
            "REMOVE_RECURSE",
            "file(REMOVE",
            "exec_program",
        ];
        if text.is_some_and(|text| loud.iter().any(|word| text.contains(word))) {
            analyzer.ask("the cmake script runs or removes something", false);
        }
    }
    let Some(at) = args.iter().position(|word| word.text == "-E") else {
        return;
    };
    let words = args.0.get(at + 1..).unwrap_or_default();
    let mut own = state.clone();
    match words.first().map_or("", Text::as_str) {
        "rm" | "env" => {
            analyzer.nested(words, &mut own, call.stdin);
        }
        "time" => {
            analyzer.nested(&words[1..], &mut own, call.stdin);
        }
        "chdir" => {
            analyzer.nested(words.get(2..).unwrap_or_default(), &mut own, call.stdin);
        }
        "remove_directory" => analyzer.ask("it removes recursively", false),
        "remove" => Args(&words[1..])
            .operands(&[])
            .into_iter()
            .for_each(|path| analyzer.write(path, state, "removes")),
        verb if verb.starts_with("copy") || verb.contains("link") || verb == "rename" => {
            if let Some(path) = words.last() {
                analyzer.write(path, state, "writes to");
            }
        }
        "touch" | "touch_nocreate" | "make_directory" => words[1..]
            .iter()
            .for_each(|path| analyzer.write(path, state, "writes to")),
        _ => {}
    }
}
