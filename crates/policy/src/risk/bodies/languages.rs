//! The languages, as `programs/languages.txt` has them.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

/// A language whose programs may stand in an argument.
#[derive(Debug, Default)]
pub(in super::super) struct Language {
    pub name: &'static str,
    programs: Vec<&'static str>,
    /// Letters that take a program text.
    pub(super) text: &'static str,
    /// Letters that take another value.
    pub(super) value: &'static str,
    /// Long flags that take a program text.
    pub(super) long: Vec<&'static str>,
    /// Calls that are searched without the contents of strings, and with them.
    pub(super) calls: Vec<Pattern>,
    pub(super) quoted: Vec<Pattern>,
}

/// A regular expression, compiled when it is first searched for.
#[derive(Debug)]
pub(super) struct Pattern {
    source: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(source: &'static str) -> Self {
        Self {
            source,
            regex: OnceLock::new(),
        }
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || Regex::new(self.source).ok();
        self.regex.get_or_init(compile).as_ref()
    }
}

static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| read(include_str!("../../../programs/languages.txt")));

fn read(text: &'static str) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for line in text.lines() {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        if key == "language" {
            let mut names = rest.split_whitespace();
            languages.push(Language {
                name: names.next().unwrap_or_default(),
                programs: names.collect(),
                ..Language::default()
            });
        }
        let Some(language) = languages.last_mut() else {
            continue;
        };
        match key {
            "letters" => language.text = rest,
            "values" => language.value = rest,
            "long" => language.long = rest.split_whitespace().collect(),
            "calls" => language.calls.push(Pattern::new(rest)),
            "quoted" => language.quoted.push(Pattern::new(rest)),
            _ => {}
        }
    }
    languages
}

/// The language of a program, also with a version as in `python3.12`.
pub(in super::super) fn language_of(program: &str) -> Option<&'static Language> {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    LANGUAGES
        .iter()
        .find(|language| language.programs.contains(&program) || language.programs.contains(&bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_and_every_pattern_compiles() {
        const KEYS: [&str; 7] = [
            "language", "letters", "values", "long", "calls", "quoted", "#",
        ];
        let text = include_str!("../../../programs/languages.txt");
        for line in text.lines().filter(|line| !line.is_empty()) {
            let key = line.split(' ').next().unwrap();
            assert!(KEYS.contains(&key), "{line}");
        }
        assert_eq!(LANGUAGES.len(), 13);
        for language in LANGUAGES.iter() {
            assert!(!language.programs.is_empty() && !language.calls.is_empty());
            for pattern in language.calls.iter().chain(&language.quoted) {
                assert!(
                    pattern.regex().is_some(),
                    "{}: {}",
                    language.name,
                    pattern.source
                );
            }
        }
    }
}
