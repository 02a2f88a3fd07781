//! Programs that only look, and what the simplest of them print.

use super::super::{
    analyzer::Analyzer,
    args::Args,
    place::resolve,
    simple::Call,
    state::{Made, Output, State, Stdin},
    text::Text,
};

const READERS: &[&str] = &[
    "ls",
    "dir",
    "vdir",
    "head",
    "tail",
    "less",
    "more",
    "bat",
    "grep",
    "egrep",
    "fgrep",
    "ag",
    "ack",
    "wc",
    "cut",
    "tac",
    "nl",
    "file",
    "stat",
    "du",
    "df",
    "printenv",
    "which",
    "whereis",
    "type",
    "groups",
    "w",
    "who",
    "last",
    "tree",
    "diff",
    "cmp",
    "comm",
    "diff3",
    "colordiff",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "b2sum",
    "cksum",
    "sum",
    "od",
    "hexdump",
    "strings",
    "test",
    "[",
    "true",
    "false",
    ":",
    "sleep",
    "jq",
    "column",
    "fold",
    "fmt",
    "expand",
    "unexpand",
    "paste",
    "join",
    "look",
    "ps",
    "pgrep",
    "top",
    "htop",
    "free",
    "uptime",
    "lscpu",
    "lsof",
    "vmstat",
    "iostat",
    "getconf",
    "locale",
    "cal",
    "bc",
    "dc",
    "factor",
    "numfmt",
    "ldd",
    "nm",
    "objdump",
    "readelf",
    "size",
    "man",
    "info",
    "apropos",
    "whatis",
    "help",
    "tokei",
    "cloc",
    "scc",
    "exa",
    "eza",
    "lsd",
    "zcat",
    "zgrep",
    "bzcat",
    "xzcat",
    "zstdcat",
    "xmllint",
    "yamllint",
    "tput",
    "clear",
    "reset",
    "tty",
    "lsblk",
    "lsusb",
    "lspci",
    "dmesg",
    "journalctl",
    "getent",
    "pstree",
    "ss",
    "netstat",
    "ipcs",
    "arch",
    "logname",
    "users",
    "apt-cache",
    "dpkg-query",
    "pkg-config",
    "cscope",
    "ctags",
    "sloccount",
    "getopt",
    "pathchk",
    "ptx",
    "shellcheck",
    "hadolint",
    "tldr",
    "yes",
];

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    let args = call.args;
    Some(match call.name {
        "echo" => echo(args),
        "printf" => printf(args),
        "cat" => cat(args, call.stdin, state),
        "pwd" => match &state.cwd {
            Some(cwd) => Output::Text(format!("{cwd}\n")),
            None => Output::Unknown,
        },
        "date" | "nproc" | "whoami" | "id" | "hostname" | "uname" | "basename" | "seq" | "expr" => {
            if call.name == "date" && (args.short('s') || args.long("--set")) {
                analyzer.ask("it sets the clock", false);
            }
            if call.name == "hostname" && !args.operands(&[]).is_empty() {
                analyzer.ask("it renames the machine", false);
            }
            Output::Placed("0".to_owned())
        }
        "mktemp" => mktemp(args),
        "dirname" => match args.operands(&[]).first() {
            Some(path) if path.placed => {
                let parent = path.text.rsplit_once('/').map_or(".", |(parent, _)| parent);
                Output::Placed(if parent.is_empty() { "/" } else { parent }.to_owned())
            }
            _ => Output::Unknown,
        },
        "realpath" | "readlink" => {
            match args.operands(&["--relative-to", "--relative-base"]).first() {
                Some(path) if path.placed => Output::Placed(path.text.clone()),
                _ => Output::Unknown,
            }
        }
        "rg" | "ripgrep" => {
            if let Some(program) = args.values(&["--pre", "--hostname-bin"]).first() {
                analyzer.ask(format!("rg runs `{}` on each file", program.text), false);
            }
            Output::Unknown
        }
        "rev" | "tr" => Output::Foreign,
        "test" | "[" => {
            let words: Vec<&str> = args.iter().map(Text::as_str).collect();
            analyzer.tests(&words, state);
            Output::nothing()
        }
        "true" | "false" | ":" | "sleep" => Output::nothing(),
        "man" if !args.values(&["-P", "--pager", "-H", "--html"]).is_empty() => {
            for pager in args.values(&["-P", "--pager", "-H", "--html"]) {
                analyzer.pager(&pager, state);
            }
            Output::Unknown
        }
        "dc" => {
            if matches!(call.stdin, Stdin::Text(text) if text.contains('!')) {
                analyzer.ask("dc runs a command", false);
            }
            Output::Unknown
        }
        "less" | "more" | "man" if args.iter().any(|word| word.text.starts_with("+!")) => {
            analyzer.ask("the pager runs a command", false);
            Output::Unknown
        }
        name if READERS.contains(&name) => Output::Unknown,
        _ => return None,
    })
}

fn echo(args: Args<'_>) -> Output {
    let flags = args
        .iter()
        .take_while(|word| matches!(word.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en"))
        .count();
    let words = &args.0[flags..];
    let joined: Vec<&str> = words.iter().map(Text::as_str).collect();
    let text = joined.join(" ");
    let decodes = args.0[..flags].iter().any(|flag| flag.text.contains('e'));
    if decodes && text.contains('\\') {
        return Output::Foreign;
    }
    if words.iter().any(|word| word.glob) {
        return Output::Unknown;
    }
    Output::Text(format!("{text}\n"))
}

/// Formats of `%s`, `%b`, `%d` and plain escapes; others are not known.
fn printf(args: Args<'_>) -> Output {
    let Some((format, values)) = args.0.split_first() else {
        return Output::nothing();
    };
    let mut values = values.iter();
    let mut text = String::new();
    let mut chars = format.text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('\\') => text.push('\\'),
                Some('"') => text.push('"'),
                _ => return Output::Foreign,
            },
            '%' => match chars.next() {
                Some('%') => text.push('%'),
                Some('s' | 'd' | 'i') => text.push_str(values.next().map_or("", Text::as_str)),
                Some('b') => {
                    let value = values.next().map_or("", Text::as_str);
                    if value.contains('\\') {
                        return Output::Foreign;
                    }
                    text.push_str(value);
                }
                _ => return Output::Unknown,
            },
            c => text.push(c),
        }
    }
    // A format is used again for the values that are left: one per line.
    let rest: Vec<&str> = values.map(Text::as_str).collect();
    if !rest.is_empty() {
        let end = if text.ends_with('\n') { "\n" } else { "" };
        text.push_str(&rest.join(if end.is_empty() { "" } else { "\n" }));
        text.push_str(end);
    }
    Output::Text(text)
}

fn cat(args: Args<'_>, stdin: &Stdin, state: &State) -> Output {
    let operands = args.operands(&[]);
    if operands.is_empty() || operands.iter().all(|word| word.text == "-") {
        return match stdin {
            Stdin::Text(text) => Output::Text(text.clone()),
            _ => Output::Unknown,
        };
    }
    let mut whole = String::new();
    for path in operands {
        match resolve(&path.text, state).and_then(|path| state.files.get(&path)) {
            Some(Made::Text(text)) => whole.push_str(text),
            Some(Made::Foreign) => return Output::Foreign,
            None => return Output::Unknown,
        }
    }
    Output::Text(whole)
}

fn mktemp(args: Args<'_>) -> Output {
    let folder = args.values(&["-p", "--tmpdir"]);
    let template = args.operands(&["-p", "--suffix"]);
    match (folder.first(), template.first()) {
        (Some(folder), _) if folder.placed => Output::Placed(format!("{}/tmp.0", folder.text)),
        (None, Some(template)) if template.placed && !args.short('t') => {
            Output::Placed(template.text.clone())
        }
        (None, _) => Output::Placed("/tmp/tmp.0".to_owned()),
        _ => Output::Unknown,
    }
}
