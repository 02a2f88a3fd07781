//! Programs that pack, unpack and decode.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("tar", tar),
    ("compress", compress),
    ("decode", |_, call, _| {
        let args = call.args;
        let decodes = args.short('d')
            || args.short('D')
            || args.long("--decode")
            || args.short('r')
            || call.name == "uudecode";
        Some(match decodes {
            true => Output::Foreign,
            false => Output::Unknown,
        })
    }),
];

fn tar(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    analyzer.local("it packs or unpacks files");
    let starts = |flag: &str| args.iter().any(|word| word.text.starts_with(flag));
    if args.iter().any(|word| table().has("tar-runs", &word.text)) {
        analyzer.ask("tar runs a command");
    }
    if starts("--remove-files") || starts("--recursive-unlink") {
        analyzer.ask_undoable("tar removes files");
    }
    let merged = tar_values(args);
    let merged_values = |letter| {
        let given = merged.iter().filter(move |(found, _)| *found == letter);
        given.map(|(_, value)| value.clone())
    };
    if merged_values('F').next().is_some() {
        analyzer.ask("tar runs a command");
    }
    let programs = args.values(&["-I", "--use-compress-program"]);
    for program in programs.into_iter().chain(merged_values('I')) {
        let first = program.text.split_whitespace().next().unwrap_or_default();
        if !table().has("compressors", first) {
            analyzer.ask(format!("tar runs `{}`", program.text));
        }
    }
    let first = args.get(0).unwrap_or_default();
    let letter =
        |letter: char| args.short(letter) || (!first.starts_with('-') && first.contains(letter));
    let extracts = letter('x') || args.long("--extract") || args.long("--get");
    if (letter('P') || args.long("--absolute-names")) && extracts {
        analyzer.ask("tar writes to absolute paths");
    }
    if extracts {
        let mut folders = args.values(&["-C", "--directory", "--one-top-level"]);
        folders.extend(merged_values('C'));
        if folders.is_empty() {
            folders.push(Text::exact("."));
        }
        analyzer.writes(&folders.iter().collect::<Vec<_>>(), state, "unpacks into");
    } else if !(letter('t') || args.long("--list")) {
        let mut archive = args.values(&["-f", "--file"]);
        // `czf name`, `-czf name`: the word behind the letters.
        for pair in args.0.windows(2) {
            let flags = pair[0].as_str();
            let file = flags.ends_with('f') && flags.len() > 2 && !flags.starts_with("--");
            if file && archive.is_empty() {
                archive.push(pair[1].clone());
            }
        }
        archive.retain(|path| path.text != "-");
        analyzer.writes(&archive.iter().collect::<Vec<_>>(), state, "writes to");
    }
    None
}

/// Values of letters that stand merged in the first word. Without a dash
/// (`cIf program file`) they take the next words in turn; with one (`-cIf`) the
/// first of them takes the rest of the word, or the next.
fn tar_values(args: Args<'_>) -> Vec<(char, Text)> {
    const TAKES: &str = "fICTXbFgKLNVH";
    let Some((first, rest)) = args.0.split_first() else {
        return Vec::new();
    };
    let Some(letters) = first.text.strip_prefix('-') else {
        let taking = first.text.chars().filter(|c| TAKES.contains(*c));
        return taking.zip(rest.iter().cloned()).collect();
    };
    if letters.starts_with('-') {
        return Vec::new();
    }
    let taking = letters.char_indices().find(|(_, c)| TAKES.contains(*c));
    let Some((at, letter)) = taking else {
        return Vec::new();
    };
    let behind = &letters[at + letter.len_utf8()..];
    let value = match behind {
        "" => rest.first().cloned(),
        behind => Some(Text::read(behind)),
    };
    value.map(|value| (letter, value)).into_iter().collect()
}

fn compress(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let mut starts = ["un", "gun", "bun"].iter();
    let unpacks = starts.any(|start| call.name.starts_with(start)) || args.short('d');
    if args.short('c') || args.long("--stdout") || args.operands(&[]).is_empty() {
        return unpacks.then_some(Output::Foreign);
    }
    analyzer.writes(&args.operands(&["-o", "-S"]), state, "writes to");
    None
}
