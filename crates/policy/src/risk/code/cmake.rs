//! cmake: it builds, installs, and has a set of small commands for files.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[("cmake", |analyzer, call, state| {
    builder(analyzer, call, state);
    small_commands(analyzer, call, state);
    None
})];

fn builder(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) {
    const LOUD: [&str; 4] = [
        "execute_process",
        "REMOVE_RECURSE",
        "file(REMOVE",
        "exec_program",
    ];
    let args = call.args;
    let targets = args.values(&["--target", "-t"]);
    let installs = |target: &Text| target.text == "install" || target.text.starts_with("install/");
    if args.has("--build") && (targets.iter().any(installs) || args.any(&["install"])) {
        analyzer.ask("it installs");
    }
    for file in args.values(&["-P"]) {
        let text = analyzer.program_text(&file, call.stdin, state);
        if text.is_some_and(|text| LOUD.iter().any(|word| text.contains(word))) {
            analyzer.ask("the cmake script runs or removes something");
        }
    }
}

/// `cmake -E …`
fn small_commands(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    let words = call.args.behind("-E")?;
    let (verb, rest) = words.split_first()?;
    let mut own = state.clone();
    match verb.as_str() {
        "rm" | "env" => {
            analyzer.nested(words, &mut own, call.stdin);
        }
        "time" => {
            analyzer.nested(rest, &mut own, call.stdin);
        }
        "chdir" => {
            analyzer.nested(rest.get(1..).unwrap_or_default(), &mut own, call.stdin);
        }
        "remove_directory" => analyzer.ask("it removes recursively"),
        "remove" => analyzer.writes(&Args(rest).operands(&[]), state, "removes"),
        verb if verb.starts_with("copy") || verb.contains("link") || verb == "rename" => {
            if let Some(path) = words.last() {
                analyzer.write(path, state, "writes to");
            }
        }
        "touch" | "touch_nocreate" | "make_directory" => {
            analyzer.writes(&rest.iter().collect::<Vec<_>>(), state, "writes to");
        }
        _ => {}
    }
    None
}
