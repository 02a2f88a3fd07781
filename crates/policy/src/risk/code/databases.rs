//! What database clients are told.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("sql", statements),
    ("store", store),
    ("removes-data", |analyzer, call, _| {
        let removes = |word: &Text| sql::destructive(&word.text).is_some();
        if call.args.iter().any(removes) {
            analyzer.ask_online("it removes data");
        }
        None
    }),
];

fn input<'c>(call: &Call<'c>) -> Option<&'c str> {
    match call.stdin {
        Stdin::Text(text) => Some(text),
        _ => None,
    }
}

fn statements(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let words = call.args.iter().map(|word| inline_value(word.as_str()));
    for text in words.chain(input(call).map(inline_value)) {
        if let Some(statement) = sql::destructive(text) {
            analyzer.ask(format!("it tells the database `{statement}`"));
        }
    }
    None
}

/// `-cDROP …`, `--execute=DROP …`: the text behind the flag.
fn inline_value(word: &str) -> &str {
    match word.strip_prefix("--") {
        Some(_) => word.split_once('=').map_or(word, |(_, value)| value),
        None if word.starts_with('-') => word.get(2..).unwrap_or(word),
        None => word,
    }
}

fn store(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let words: Vec<&str> = call.args.iter().map(Text::as_str).collect();
    let told = words.join(" ");
    for text in std::iter::once(told.as_str()).chain(input(call)) {
        if let Some(command) = sql::store_command(text) {
            analyzer.ask(format!("it tells the store `{command}`"));
        }
        if call.name.starts_with("mongo") {
            continue;
        }
        let loud = |word: &str| {
            ["del", "unlink", "shutdown"]
                .iter()
                .any(|loud| word.eq_ignore_ascii_case(loud))
        };
        let sets = |pair: &[&str]| {
            pair[0].eq_ignore_ascii_case("config") && pair[1].eq_ignore_ascii_case("set")
        };
        if text.split_whitespace().any(loud) || words.windows(2).any(sets) {
            analyzer.ask("it removes keys or changes the server");
        }
    }
    None
}
