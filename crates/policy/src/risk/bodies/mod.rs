//! Small languages inside arguments.
//!
//! A body is not run and not fully parsed; it is searched for the few calls
//! that start a shell, delete recursively or write outside, with the contents
//! of its strings taken out first, so that a word in a message is not a call.

pub(super) mod awk;
mod calls;
mod languages;
pub(super) mod make;
pub(super) mod sed;
pub(super) mod sql;

pub(super) use languages::{Language, language_of};

use super::{analyzer::Analyzer, args::Args, place::Place, state::State, text::Text};

/// Where a program text comes from.
pub(super) enum Inline {
    Text(Text),
    /// `python -m name …`
    Module(String, Vec<Text>),
    /// A file, and what it is given.
    File(Text, Vec<Text>),
    /// Standard input.
    Standard,
    /// Nowhere: `--version`.
    Nothing,
}

/// Finds the program text among the arguments.
pub(super) fn inline(language: &Language, args: Args<'_>) -> Inline {
    let mut texts: Vec<Text> = Vec::new();
    let mut index = 0;
    while let Some(word) = args.0.get(index) {
        index += 1;
        let text = word.as_str();
        if language.long.contains(&text) {
            texts.extend(args.0.get(index).cloned());
            index += 1;
            continue;
        }
        let mut long = language.long.iter();
        if let Some(body) = long.find_map(|flag| word.strip(&format!("{flag}="))) {
            texts.push(body);
            continue;
        }
        match text {
            "-" => return Inline::Standard,
            "--version" | "--help" | "-V" | "-h" | "--test" => return Inline::Nothing,
            "-v" if language.name != "perl" => return Inline::Nothing,
            _ if language.name == "python" && module_flag(text).is_some() => {
                let attached = module_flag(text).unwrap_or_default();
                let name = match attached {
                    "" => args.get(index).unwrap_or_default(),
                    name => name,
                };
                index += usize::from(attached.is_empty());
                let rest = args.0.get(index..).unwrap_or_default();
                return Inline::Module(name.to_owned(), rest.to_vec());
            }
            "--require" | "--import" | "--loader" => index += 1,
            "--" => {}
            _ if text.starts_with("--") => {}
            _ if text.starts_with('-') => match letters(language, word, args.0.get(index)) {
                Letters::Text(body, used) => {
                    texts.push(body);
                    index += used;
                }
                Letters::Value(used) => index += used,
                Letters::Plain => {}
            },
            _ if texts.is_empty() => {
                return Inline::File(word.clone(), args.0[index..].to_vec());
            }
            _ => break,
        }
    }
    if texts.is_empty() {
        return Inline::Standard;
    }
    let lines: Vec<&str> = texts.iter().map(Text::as_str).collect();
    Inline::Text(Text::joined(&texts).with(lines.join("\n")))
}

enum Letters {
    Text(Text, usize),
    Value(usize),
    Plain,
}

/// What stands behind python's `-m` in the same word: `-m`, `-mpip`, `-Im`.
fn module_flag(word: &str) -> Option<&str> {
    let flags = word.strip_prefix('-')?;
    let (before, name) = flags.split_once('m')?;
    // Flags that take no value may stand before it.
    let plain = |letter: char| "bBdEhiIOPqsSuvx".contains(letter);
    before.chars().all(plain).then_some(name)
}

/// Reads merged one-letter flags: `-lane 'body'`, `-Ic 'body'`, `-i.bak`.
fn letters(language: &Language, word: &Text, next: Option<&Text>) -> Letters {
    for (at, letter) in word.text.char_indices().skip(1) {
        let rest = &word.text[at + letter.len_utf8()..];
        if language.text.contains(letter) {
            // `-pe` is two such letters in node; the body is still the next word.
            if rest.is_empty() || (language.name == "node" && rest.len() == 1) {
                return match next {
                    Some(body) => Letters::Text(body.clone(), 1),
                    None => Letters::Plain,
                };
            }
            let body = word.with(rest);
            return Letters::Text(body, 0);
        }
        if language.value.contains(letter) {
            return Letters::Value(usize::from(rest.is_empty()));
        }
        // Perl's and ruby's `-i.bak`, `-Mmodule`, `-F,`, `-0777`.
        if matches!(letter, 'M' | 'm' | 'F' | 'I' | 'C' | 'x')
            && matches!(language.name, "perl" | "ruby")
        {
            return Letters::Plain;
        }
    }
    Letters::Plain
}

/// Why a body needs a click, if it does.
pub(super) fn judge(
    analyzer: &Analyzer<'_>,
    language: &Language,
    body: &str,
    state: &State,
) -> Option<String> {
    let name = language.name;
    if let Some(call) = calls::found(language, body) {
        return Some(format!("the {name} text calls `{call}`"));
    }
    let mut written = calls::written(body).into_iter();
    let path = written.find(|path| {
        let place = analyzer.place(&Text::exact(path.as_str()), state);
        matches!(place, Place::Outside(_) | Place::Protected(_)) || path.starts_with('~')
    })?;
    Some(format!(
        "the {name} text writes to {path}, outside the worktree"
    ))
}
