//! Texts that bash expands once more: arithmetic, subscripts, names of
//! variables. A substitution in such a text runs, though it was quoted; and a
//! name in arithmetic stands for the text that the variable holds.

use std::collections::HashSet;

use super::{analyzer::Analyzer, state::State};
use crate::shell;

/// A long value that is computed again and again is not read each time.
const MAX_COMPUTED: usize = 4 * 1024 * 1024;

/// Operators of `[[` that compute both sides.
const COMPARES: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Operators that take the name of a variable, subscripts and all.
const NAMES: [&str; 2] = ["-v", "-R"];

impl Analyzer<'_> {
    /// A text that is computed: what it holds, and what its names hold.
    pub(super) fn arithmetic(&mut self, text: &str, state: &State) {
        let mut seen = HashSet::new();
        let mut open = vec![text.to_owned()];
        while let Some(text) = open.pop() {
            self.evaluated(&text, state);
            if self.computed > MAX_COMPUTED {
                return;
            }
            for name in names(&text) {
                let Some(values) = state.variables.get(name) else {
                    continue;
                };
                if seen.insert(name.to_owned()) {
                    open.extend(values.iter().map(|value| value.text.clone()));
                }
            }
        }
    }

    /// A text whose substitutions run when it is used.
    pub(super) fn evaluated(&mut self, text: &str, state: &State) {
        self.computed += text.len();
        if self.computed > MAX_COMPUTED {
            self.ask("it computes too much to judge");
            return;
        }
        if !(text.contains("$(") || text.contains('`')) {
            return;
        }
        let word = match shell::parse_document(text) {
            Ok(word) => word,
            Err(problem) => {
                self.ask(format!("the command inside cannot be read: {problem}"));
                return;
            }
        };
        self.deeper(|analyzer| {
            analyzer.expand_one(&word, &mut state.clone());
            super::state::Output::Unknown
        });
    }

    /// The words of `[[ … ]]`.
    pub(super) fn conditions(&mut self, words: &[&str], state: &State) {
        let computes = words.iter().any(|word| COMPARES.contains(word));
        for (index, word) in words.iter().enumerate() {
            if computes {
                self.arithmetic(word, state);
            } else if index > 0 && NAMES.contains(&words[index - 1]) {
                self.evaluated(word, state);
            }
        }
    }

    /// The words of `[ … ]` and `test …`, which compute nothing.
    pub(super) fn tests(&mut self, words: &[&str], state: &State) {
        for pair in words.windows(2).filter(|pair| NAMES.contains(&pair[0])) {
            self.evaluated(pair[1], state);
        }
    }
}

/// The words in a text that may be names of variables.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
