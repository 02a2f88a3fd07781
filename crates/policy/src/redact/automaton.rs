//! Finds many words in one pass, in either case of letters.
//!
//! The automaton takes a millisecond to build, so a process that redacts little, as most
//! do that live for one command, never builds it: it looks at each place for the words
//! that begin with its letter. Both find the same, in the same order.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// From so many bytes on the automaton has paid for itself.
const PAYS_FROM: usize = 64 << 10;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub(super) end: usize,
    pub(super) start: usize,
    /// Which word it is.
    pub(super) word: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Automaton(Arc<Forms>);

#[derive(Debug)]
struct Forms {
    words: Vec<Vec<u8>>,
    /// The second letter and the number of each word, by first letter; all in small.
    by_letter: Vec<Vec<(u8, usize)>>,
    quick: OnceLock<Option<AhoCorasick>>,
    read: AtomicUsize,
}

impl Automaton {
    pub(super) fn of(words: Vec<Vec<u8>>) -> Self {
        let mut by_letter = vec![Vec::new(); 256];
        let mut read = 0;
        for (number, word) in words.iter().enumerate() {
            match word.as_slice() {
                [first, second, ..] => {
                    let first = usize::from(first.to_ascii_lowercase());
                    by_letter[first].push((second.to_ascii_lowercase(), number));
                }
                // A word of one letter is found by the automaton alone.
                _ => read = PAYS_FROM,
            }
        }
        Self(Arc::new(Forms {
            words,
            by_letter,
            quick: OnceLock::new(),
            read: AtomicUsize::new(read),
        }))
    }

    /// Calls `found` for each place of each word, by their ends, of several that end
    /// there the longest first. Nothing if the words are too many for an automaton.
    pub(super) fn find(&self, text: &str, mut found: impl FnMut(Hit)) -> Option<()> {
        let forms = &*self.0;
        let before = forms.read.load(Ordering::Relaxed);
        if before.saturating_add(text.len()) < PAYS_FROM {
            forms.read.fetch_add(text.len(), Ordering::Relaxed);
            forms.look(text.as_bytes()).into_iter().for_each(found);
            return Some(());
        }
        let automaton = forms.quick.get_or_init(|| forms.build()).as_ref()?;
        for hit in automaton.find_overlapping_iter(text) {
            found(Hit {
                end: hit.end(),
                start: hit.start(),
                word: hit.pattern().as_usize(),
            });
        }
        Some(())
    }
}

impl Forms {
    fn look(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (start, pair) in text.windows(2).enumerate() {
            let second = pair[1].to_ascii_lowercase();
            for &(other, word) in &self.by_letter[usize::from(pair[0].to_ascii_lowercase())] {
                let end = start + self.words[word].len();
                let here = |text: &[u8]| text.eq_ignore_ascii_case(&self.words[word]);
                if other == second && text.get(start..end).is_some_and(here) {
                    hits.push(Hit { end, start, word });
                }
            }
        }
        hits.sort_unstable();
        hits
    }

    fn build(&self) -> Option<AhoCorasick> {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&self.words)
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits(automaton: &Automaton, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        automaton.find(text, |hit| hits.push(hit)).unwrap();
        hits
    }

    #[test]
    fn the_automaton_is_built_when_much_was_read() {
        let automaton = Automaton::of(vec![b"token".to_vec()]);
        let is_built = |bytes: usize| {
            hits(&automaton, &" ".repeat(bytes));
            automaton.0.quick.get().is_some()
        };
        assert!(!is_built(1000));
        assert!(!is_built(PAYS_FROM - 2000));
        assert!(is_built(2000));
    }

    proptest! {
        #[test]
        fn both_find_the_same_in_the_same_order(
            words in prop::collection::vec("[abAB:]{1,4}", 1..12),
            text in "[abAB:c\u{e4}]{0,40}",
        ) {
            let automaton = Automaton::of(words.into_iter().map(String::into_bytes).collect());
            let looked = hits(&automaton, &text);
            automaton.0.read.store(PAYS_FROM, Ordering::Relaxed);
            prop_assert_eq!(looked, hits(&automaton, &text));
        }
    }
}
