//! sed, awk, sort, editors: tools for text that can also write and run.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("sed", judge_sed),
    ("awk", judge_awk),
    ("finder", finder),
    ("editor", editor),
    ("line-editor", |analyzer, call, _| {
        if matches!(call.stdin, Stdin::Text(text) if text.lines().any(line_runs)) {
            analyzer.ask("the editor runs a command");
        }
        None
    }),
];

/// A line of `ed` that leaves it.
fn line_runs(line: &str) -> bool {
    let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$% ".contains(c));
    let starts = ["!", "r !", "w !", "r!", "w!", "e !", "e!"];
    starts.iter().any(|start| command.starts_with(start))
}

fn write_operands(analyzer: &mut Analyzer<'_>, operands: &[&Text], state: &State, skip: usize) {
    analyzer.local("it edits files in place");
    for path in operands.iter().skip(skip) {
        analyzer.write(path, state, "edits");
    }
}

fn judge_sed(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let mut scripts = args.values(&["-e", "--expression"]);
    // `-ne 'script'`, `-Ee 'script'`: e merged behind other letters.
    let merged = |flags: &str| {
        flags.len() > 2
            && flags.starts_with('-')
            && !flags.starts_with("--")
            && flags.ends_with('e')
    };
    let pairs = args.0.windows(2).filter(|pair| merged(&pair[0].text));
    scripts.extend(pairs.map(|pair| pair[1].clone()));
    let operands = args.operands(&["-e", "--expression", "-f", "--file", "-l"]);
    let mut files = args.values(&["-f", "--file"]);
    files.extend(args.merged_value('f'));
    let from_file = !files.is_empty();
    for file in files {
        let text = analyzer.program_text(&file, call.stdin, state);
        scripts.extend(text.as_deref().map(Text::read));
    }
    let given = usize::from(scripts.is_empty() && !from_file);
    if given == 1 {
        scripts.extend(operands.first().map(|word| (*word).clone()));
    }
    for script in &scripts {
        let effects = sed::effects(&script.text);
        if effects.runs {
            analyzer.ask("the sed script runs a command");
        }
        for path in effects.writes {
            analyzer.local("it writes a file");
            analyzer.write(&Text::read(&path), state, "writes to");
        }
        if script.text.trim() == UNKNOWN.to_string() {
            analyzer.ask("the sed script is not known before it runs");
        }
    }
    let in_place = args.iter().any(|word| {
        let text = word.as_str();
        text.starts_with("--in-place")
            || text.starts_with("-i")
            || (text.starts_with('-')
                && !text.starts_with("--")
                && text.len() < 6
                && text[1..].bytes().all(|b| b.is_ascii_alphabetic())
                && text.contains('i'))
    });
    if in_place {
        let merged = args.iter().filter(|word| merged(&word.text));
        write_operands(analyzer, &operands, state, given + merged.count());
    }
    None
}

fn judge_awk(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let mut programs = args.values(&["-e", "--source"]);
    let files = args.values(&["-f", "--file", "-E", "--exec"]);
    let from_file = !files.is_empty();
    for file in files {
        let text = analyzer.program_text(&file, call.stdin, state);
        programs.extend(text.as_deref().map(Text::read));
    }
    let operands = args.operands(table().list("awk-flags"));
    let given = usize::from(programs.is_empty() && !from_file);
    if given == 1 {
        programs.extend(operands.first().map(|word| (*word).clone()));
    }
    for program in programs {
        let effects = awk::effects(&program.text);
        if effects.runs {
            analyzer.ask("the awk program runs a command");
        }
        for path in effects.writes {
            analyzer.local("it writes a file");
            // A computed name stays where awk runs in all honest uses.
            if let Some(path) = path {
                analyzer.write(&Text::read(&path), state, "writes to");
            }
        }
        if program.text.trim() == UNKNOWN.to_string() {
            analyzer.ask("the awk program is not known before it runs");
        }
    }
    let included = args.values(&["-i", "--include"]);
    if included.iter().any(|name| name.text == "inplace") {
        write_operands(analyzer, &operands, state, given);
    }
    None
}

/// fzf: previews and bindings are command texts.
fn finder(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let mut texts = args.values(&["--preview"]);
    for binding in args.values(&["--bind"]) {
        let runs = ["execute", "become", "reload", "transform", "preview"];
        for action in runs.iter().filter_map(|run| binding.text.find(run)) {
            let rest = &binding.text[action..];
            let open = rest.find(['(', ':', '[', '{']);
            let start = open.map_or(rest.len(), |at| at + 1);
            let inner = rest[start..].trim_end_matches([')', ']', '}']);
            texts.push(binding.with(inner));
        }
    }
    for text in texts {
        let mut own = state.clone();
        own.placeholder = Some(("{}".to_owned(), Text::placed("found")));
        analyzer.inner(&text, &mut own, &Stdin::None);
    }
    None
}

fn editor(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let mut commands = args.values(&["-c", "--cmd", "-S", "-sc", "-esc", "-Esc", "-nc", "-ec"]);
    commands.extend(args.iter().filter_map(|word| word.strip("+")));
    for command in commands {
        let text = command.text.trim_start_matches([':', ' ']);
        let runs = text.contains('!') && !text.ends_with('!') && !is_forced(text)
            || table().has("vim-runs", &text.replace(' ', "␣"));
        if runs {
            analyzer.ask("the editor runs a command");
        }
        if let Some(path) = text.strip_prefix("w ").or(text.strip_prefix("w! ")) {
            analyzer.write(&Text::read(path.trim()), state, "writes to");
        }
    }
    None
}

/// `wq!`, `q!`, `w! file`: the sign means "do it anyway".
fn is_forced(text: &str) -> bool {
    text.split('|').all(|command| {
        let command = command.trim();
        !command.contains('!')
            || [
                "q!", "wq!", "w!", "x!", "e!", "qa!", "wqa!", "bd!", "g!", "normal!",
            ]
            .iter()
            .any(|forced| command.starts_with(forced))
    })
}
