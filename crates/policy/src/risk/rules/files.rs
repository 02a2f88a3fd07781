//! Programs that write, move and remove files.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    place::{Place, resolve},
    simple::Call,
    state::{Made, Output, State, Stdin},
    text::Text,
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    let args = call.args;
    let name = call.name.strip_prefix('g').filter(|name| {
        matches!(
            *name,
            "rm" | "cp" | "mv" | "ln" | "install" | "dd" | "tar" | "touch" | "mkdir"
        )
    });
    match name.unwrap_or(call.name) {
        "rm" | "unlink" | "rmdir" => remove(analyzer, args, state),
        "shred" | "srm" | "wipe" | "scrub" => {
            writes(analyzer, &args.operands(&["-n", "-s"]), state, "destroys");
            analyzer.ask_undoable(format!("`{}` destroys files", call.name));
        }
        "mv" | "rename" => move_files(analyzer, call, state),
        "cp" | "install" => copy(analyzer, call, state),
        "ln" | "link" => link(analyzer, args, state),
        "touch" | "mkdir" | "truncate" | "mkfifo" | "mknod" | "fallocate" => {
            let with_value = [
                "-m",
                "-d",
                "-t",
                "-r",
                "-s",
                "-l",
                "-o",
                "--mode",
                "--date",
                "--size",
                "--reference",
            ];
            writes(analyzer, &args.operands(&with_value), state, "writes to");
        }
        "tee" | "sponge" => {
            writes(analyzer, &args.operands(&[]), state, "writes to");
            return Some(copy_through(call, args, state));
        }
        "dd" => {
            let from = args.iter().find_map(|word| word.strip("if="));
            let from = from.unwrap_or_else(|| Text::exact("/dev/stdin"));
            for path in args.iter().filter_map(|word| word.strip("of=")) {
                writes(analyzer, &[&path], state, "writes to");
                carry(analyzer, &from, &path, call.stdin, state);
            }
        }
        "chmod" | "chown" | "chgrp" | "setfacl" | "setcap" | "chattr" | "chcon" => {
            permissions(analyzer, call, state);
        }
        "tar" | "bsdtar" | "star" => tar(analyzer, args, state),
        "unzip" | "unrar" | "7z" | "7za" | "7zr" | "cpio" | "ditto" | "pax" => {
            unpack(analyzer, call, state);
        }
        "zip" | "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd"
        | "lz4" | "compress" | "uncompress" | "brotli" => {
            return Some(compress(analyzer, call, state));
        }
        "base64" | "base32" | "xxd" | "uudecode" | "basenc" => {
            return Some(decode(analyzer, call, state));
        }
        // Its operands are patterns; what it writes begins with the prefix.
        "csplit" => {
            let prefix = args.values(&["-f", "--prefix"]);
            writes(
                analyzer,
                &prefix.iter().collect::<Vec<_>>(),
                state,
                "writes to",
            );
        }
        "split" => {
            let prefix = args.operands(&["-b", "-l", "-n", "-a", "-C", "-f"]);
            writes(
                analyzer,
                prefix.get(1..).unwrap_or_default(),
                state,
                "writes to",
            );
        }
        "patch" => {
            let targets = args.values(&["-d", "-o", "--directory", "--output"]);
            writes(
                analyzer,
                &targets.iter().collect::<Vec<_>>(),
                state,
                "writes to",
            );
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" | "rustc" | "tsc" | "javac"
        | "nasm" | "as" | "objcopy" | "strip" | "pandoc" | "protoc" | "dot" | "esbuild"
        | "webpack" | "nvcc" | "ghc" | "swiftc" => {
            let flags = [
                "-o",
                "-d",
                "--output",
                "--out-dir",
                "--outDir",
                "--outFile",
                "--outfile",
                "--outdir",
                "--output-path",
            ];
            let targets = args.values(&flags);
            let targets: Vec<&Text> = targets
                .iter()
                .filter(|text| text.text.contains('/') || !text.placed)
                .collect();
            writes(analyzer, &targets, state, "writes to");
        }
        _ => return None,
    }
    Some(Output::nothing())
}

fn writes(analyzer: &mut Analyzer<'_>, paths: &[&Text], state: &State, verb: &str) {
    analyzer.find(Tier::WriteLocal, "it changes files of the worktree", false);
    for path in paths {
        analyzer.write(path, state, verb);
    }
}

fn remove(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &mut State) {
    let operands = args.operands(&[]);
    let recursive = args.short('r') || args.short('R') || args.long("--recursive");
    let mut losses = operands.iter();
    if recursive
        && (operands.is_empty() || losses.any(|path| !analyzer.is_worth_nothing(path, state)))
    {
        analyzer.ask_undoable("it removes recursively");
    }
    writes(analyzer, &operands, state, "removes");
    for path in operands {
        let unknown = !path.exact && path.placed;
        let beneath_temp = resolve(&path.text, state).is_some_and(|full| full.starts_with("/tmp/"));
        if unknown && !beneath_temp && path.text.contains(super::super::text::UNKNOWN) {
            analyzer.ask("it removes a path that is not known before it runs", false);
        }
        if let Place::Inside(full) = analyzer.place(path, state) {
            if full == analyzer.ctx.root {
                analyzer.ask("it removes the worktree", false);
            }
            state.files.remove(&full);
        }
    }
}

fn move_files(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) {
    let targets = call.args.values(&["-t", "--target-directory"]);
    let operands = call.args.operands(&["-t", "-S", "--suffix"]);
    if call.name == "rename" {
        writes(
            analyzer,
            operands.get(1..).unwrap_or_default(),
            state,
            "renames",
        );
        return;
    }
    writes(analyzer, &operands, state, "moves");
    writes(
        analyzer,
        &targets.iter().collect::<Vec<_>>(),
        state,
        "moves into",
    );
    if operands.len() > 1 && operands.last().is_some_and(|to| to.text == "/dev/null") {
        analyzer.ask("it moves files into nothing", false);
    }
    if let [from, to] = operands.as_slice() {
        carry(analyzer, from, to, call.stdin, state);
    }
}

fn copy(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) {
    let args = call.args;
    let targets = args.values(&["-t", "--target-directory"]);
    let operands = args.operands(&[
        "-t", "-S", "-m", "-o", "-g", "--mode", "--owner", "--group", "--suffix",
    ]);
    if call.name == "install" {
        if args.short('d') {
            writes(analyzer, &operands, state, "writes to");
            return;
        }
        if !args.values(&["-o", "-g", "--owner", "--group"]).is_empty() {
            analyzer.ask("it changes who owns files", false);
        }
    }
    match targets.first() {
        Some(target) => writes(analyzer, &[target], state, "writes to"),
        None => writes(
            analyzer,
            operands
                .last()
                .map(std::slice::from_ref)
                .unwrap_or_default(),
            state,
            "writes to",
        ),
    }
    if let [from, to] = operands.as_slice() {
        carry(analyzer, from, to, call.stdin, state);
    }
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

fn link(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &mut State) {
    let targets = args.values(&["-t", "--target-directory"]);
    let operands = args.operands(&["-t", "-S"]);
    match (targets.first(), operands.as_slice()) {
        (Some(folder), _) => writes(analyzer, &[folder], state, "links in"),
        (None, [_]) => writes(analyzer, &[], state, "links"),
        (None, [.., to]) => writes(analyzer, &[to], state, "links"),
        (None, []) => {}
    }
    if let [target, name] = operands.as_slice()
        && let (Some(from), Some(to)) = (resolve(&name.text, state), resolve(&target.text, state))
        && from != to
    {
        state.links.insert(from, to);
    }
}

/// `tee` passes its input on and keeps it.
fn copy_through(call: &Call<'_>, args: Args<'_>, state: &mut State) -> Output {
    let Stdin::Text(text) = call.stdin else {
        return Output::Unknown;
    };
    for path in args.operands(&[]) {
        if let Some(full) = resolve(&path.text, state) {
            state.files.insert(full, Made::Text(text.clone()));
        }
    }
    Output::Text(text.clone())
}

/// Usual rights for files of the worktree are ordinary work; all else asks: rights of
/// somebody else, for everybody to write, or for whole folders.
fn permissions(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) {
    if call.args.0.len() == 1 && call.args.any(&["--help", "--version"]) {
        return;
    }
    let operands = call.args.operands(&["--reference"]);
    let mode = operands.first().map_or("", |word| word.as_str());
    let plain = call.name == "chmod"
        && matches!(
            mode,
            "+x" | "u+x"
                | "a+x"
                | "ug+x"
                | "ugo+x"
                | "-x"
                | "a-x"
                | "+r"
                | "a+r"
                | "u+w"
                | "+w"
                | "u+rw"
                | "u+rwx"
                | "go-w"
                | "go-rwx"
                | "755"
                | "0755"
                | "644"
                | "0644"
                | "700"
                | "0700"
                | "600"
                | "0600"
                | "664"
                | "0664"
                | "775"
                | "0775"
                | "750"
                | "640"
        )
        && !call.args.short('R')
        && operands[1..]
            .iter()
            .all(|path| path.exact && matches!(analyzer.place(path, state), Place::Inside(_)));
    if plain {
        analyzer.find(
            Tier::WriteLocal,
            "it changes who may run or read a file",
            false,
        );
    } else {
        analyzer.ask(
            format!("`{}` changes permissions or ownership", call.name),
            false,
        );
    }
}

fn tar(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    const COMPRESSORS: [&str; 11] = [
        "gzip", "pigz", "bzip2", "pbzip2", "xz", "pxz", "zstd", "zstdmt", "lz4", "lzma", "brotli",
    ];
    analyzer.find(Tier::WriteLocal, "it packs or unpacks files", false);
    for word in args.iter() {
        let runs = [
            "--checkpoint-action",
            "--to-command",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
        ];
        if runs.iter().any(|flag| word.text.starts_with(flag)) {
            analyzer.ask("tar runs a command", false);
        }
        if word.text.starts_with("--remove-files") || word.text.starts_with("--recursive-unlink") {
            analyzer.ask_undoable("tar removes files");
        }
    }
    let mut programs = args.values(&["-I", "--use-compress-program"]);
    let merged = tar_values(args);
    programs.extend(
        merged
            .iter()
            .filter(|(c, _)| *c == 'I')
            .map(|(_, v)| v.clone()),
    );
    if merged.iter().any(|(letter, _)| *letter == 'F') {
        analyzer.ask("tar runs a command", false);
    }
    for program in programs {
        let first = program.text.split_whitespace().next().unwrap_or_default();
        if !COMPRESSORS.contains(&first) {
            analyzer.ask(format!("tar runs `{}`", program.text), false);
        }
    }
    let first = args.get(0).unwrap_or_default();
    let letters =
        |letter: char| args.short(letter) || (!first.starts_with('-') && first.contains(letter));
    let extracts = letters('x') || args.long("--extract") || args.long("--get");
    let lists = letters('t') || args.long("--list");
    if (letters('P') || args.long("--absolute-names")) && extracts {
        analyzer.ask("tar writes to absolute paths", false);
    }
    let mut folders = args.values(&["-C", "--directory", "--one-top-level"]);
    folders.extend(
        merged
            .into_iter()
            .filter(|(c, _)| *c == 'C')
            .map(|(_, v)| v),
    );
    if extracts {
        writes(
            analyzer,
            &folders.iter().collect::<Vec<_>>(),
            state,
            "unpacks into",
        );
        if folders.is_empty() {
            writes(analyzer, &[&Text::exact(".")], state, "unpacks into");
        }
    } else if !lists {
        let mut archive = args.values(&["-f", "--file"]);
        // `czf name`, `-czf name`: the word behind the letters.
        for pair in args.0.windows(2) {
            let flags = pair[0].as_str();
            if flags.ends_with('f')
                && flags.len() > 2
                && !flags.starts_with("--")
                && archive.is_empty()
            {
                archive.push(pair[1].clone());
            }
        }
        archive.retain(|path| path.text != "-");
        writes(
            analyzer,
            &archive.iter().collect::<Vec<_>>(),
            state,
            "writes to",
        );
    }
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
    let value = if behind.is_empty() {
        rest.first().cloned()
    } else {
        Some(Text::read(behind))
    };
    value.map(|value| (letter, value)).into_iter().collect()
}

fn unpack(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) {
    let args = call.args;
    analyzer.find(Tier::WriteLocal, "it unpacks files", false);
    let mut targets = args.values(&["-d", "-D", "--directory"]);
    if call.name.starts_with("7z") {
        targets = args.iter().filter_map(|word| word.strip("-o")).collect();
    }
    writes(
        analyzer,
        &targets.iter().collect::<Vec<_>>(),
        state,
        "unpacks into",
    );
}

fn compress(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) -> Output {
    let args = call.args;
    analyzer.find(Tier::WriteLocal, "it packs or unpacks files", false);
    if call.name == "zip" {
        if (args.has("-T") || args.has("--unzip-command") || args.has("-TT"))
            && !args.values(&["-TT", "--unzip-command"]).is_empty()
        {
            analyzer.ask("zip runs a command", false);
        }
        if args.has("-m") || args.has("--move") {
            analyzer.ask_undoable("zip removes what it packs");
        }
        let archive = args.operands(&["-x", "-i"]);
        writes(
            analyzer,
            archive
                .first()
                .map(std::slice::from_ref)
                .unwrap_or_default(),
            state,
            "writes to",
        );
        return Output::Unknown;
    }
    let unpacks = call.name.starts_with("un")
        || call.name.starts_with("gun")
        || call.name.starts_with("bun")
        || args.short('d');
    if args.short('c') || args.long("--stdout") || args.operands(&[]).is_empty() {
        return if unpacks {
            Output::Foreign
        } else {
            Output::Unknown
        };
    }
    writes(analyzer, &args.operands(&["-o", "-S"]), state, "writes to");
    Output::Unknown
}

fn decode(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) -> Output {
    let args = call.args;
    let decodes = args.short('d')
        || args.short('D')
        || args.long("--decode")
        || args.short('r')
        || call.name == "uudecode";
    if call.name == "xxd" {
        writes(
            analyzer,
            args.operands(&["-l", "-s", "-c", "-g", "-o"])
                .get(1..)
                .unwrap_or_default(),
            state,
            "writes to",
        );
    }
    if decodes {
        Output::Foreign
    } else {
        Output::Unknown
    }
}
