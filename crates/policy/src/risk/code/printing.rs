//! What the simplest programs print, as far as it is known.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("echo", |_, call, _| Some(echo(call))),
    ("printf", |_, call, _| Some(printf(call))),
    ("cat", |_, call, state| Some(cat(call, state))),
    ("pwd", |_, _, state| {
        let cwd = state.cwd.as_ref();
        Some(cwd.map_or(Output::Unknown, |cwd| Output::Text(format!("{cwd}\n"))))
    }),
    ("mktemp", |_, call, _| Some(mktemp(call))),
    ("dirname", |_, call, _| Some(dirname(call))),
    ("realpath", |_, call, _| {
        let flags = ["--relative-to", "--relative-base"];
        let path = call.args.operands(&flags).into_iter().next();
        let path = path.filter(|path| path.placed);
        Some(path.map_or(Output::Unknown, |path| Output::Placed(path.text.clone())))
    }),
    ("test", |analyzer, call, state| {
        let words: Vec<&str> = call.args.iter().map(Text::as_str).collect();
        analyzer.tests(&words, state);
        Some(Output::nothing())
    }),
    ("pager", pager),
];

fn pager(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    for pager in call.args.values(&["-P", "--pager", "-H", "--html"]) {
        analyzer.pager(&pager, state);
    }
    None
}

fn echo(call: &Call<'_>) -> Output {
    let args = call.args;
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
fn printf(call: &Call<'_>) -> Output {
    let Some((format, values)) = call.args.0.split_first() else {
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
        text.push_str(&rest.join(end));
        text.push_str(end);
    }
    Output::Text(text)
}

fn cat(call: &Call<'_>, state: &State) -> Output {
    let operands = call.args.operands(&[]);
    if operands.iter().all(|word| word.text == "-") {
        return match call.stdin {
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

fn dirname(call: &Call<'_>) -> Output {
    match call.args.operands(&[]).first() {
        Some(path) if path.placed => {
            let parent = path.text.rsplit_once('/').map_or(".", |(parent, _)| parent);
            Output::Placed(if parent.is_empty() { "/" } else { parent }.to_owned())
        }
        _ => Output::Unknown,
    }
}

fn mktemp(call: &Call<'_>) -> Output {
    let folder = call.args.values(&["-p", "--tmpdir"]);
    let template = call.args.operands(&["-p", "--suffix"]);
    match (folder.first(), template.first()) {
        (Some(folder), _) if folder.placed => Output::Placed(format!("{}/tmp.0", folder.text)),
        (None, Some(template)) if template.placed && !call.args.short('t') => {
            Output::Placed(template.text.clone())
        }
        (None, _) => Output::Placed("/tmp/tmp.0".to_owned()),
        _ => Output::Unknown,
    }
}
