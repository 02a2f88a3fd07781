//! Finds many words in one pass, in either case of letters.
//!
//! The quick form takes a millisecond to build and the slow one much less, so a
//! process that redacts little, as most do that live for one command, never builds
//! the quick one. Both find the same.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// From so many bytes on the quick form has paid for itself.
const PAYS_FROM: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(super) struct Automaton(Arc<Forms>);

#[derive(Debug)]
struct Forms {
    words: Vec<Vec<u8>>,
    slow: Option<AhoCorasick>,
    quick: OnceLock<Option<AhoCorasick>>,
    read: AtomicUsize,
}

impl Automaton {
    pub(super) fn of(words: Vec<Vec<u8>>) -> Self {
        Self(Arc::new(Forms {
            slow: build(&words, AhoCorasickKind::NoncontiguousNFA),
            words,
            quick: OnceLock::new(),
            read: AtomicUsize::new(0),
        }))
    }

    /// The form in which to read so many bytes. Nothing if the words are too many
    /// for an automaton.
    pub(super) fn to_read(&self, bytes: usize) -> Option<&AhoCorasick> {
        let forms = &*self.0;
        let before = forms.read.load(Ordering::Relaxed);
        if before.saturating_add(bytes) < PAYS_FROM {
            forms.read.fetch_add(bytes, Ordering::Relaxed);
            return forms.slow.as_ref();
        }
        let quick = || build(&forms.words, AhoCorasickKind::DFA);
        forms.quick.get_or_init(quick).as_ref()
    }
}

fn build(words: &[Vec<u8>], kind: AhoCorasickKind) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(kind))
        .build(words)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_form_is_built_when_much_was_read() {
        let automaton = Automaton::of(vec![b"token".to_vec()]);
        let kind = |bytes| automaton.to_read(bytes).unwrap().kind();
        assert_eq!(kind(1000), AhoCorasickKind::NoncontiguousNFA);
        assert_eq!(kind(PAYS_FROM - 2000), AhoCorasickKind::NoncontiguousNFA);
        assert_eq!(kind(2000), AhoCorasickKind::DFA);
        let other = automaton.clone();
        assert_eq!(
            other.to_read(PAYS_FROM).unwrap().kind(),
            AhoCorasickKind::DFA
        );
    }
}
