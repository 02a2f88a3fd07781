//! Keeps the head and the tail of what a command writes, in bounded memory.

use std::collections::VecDeque;

/// A command that writes so many times its limit is stopped.
const FLOOD: u64 = 1024;

#[derive(Debug)]
pub(crate) struct Output {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Takes what was written; says how much of it is still within the limit,
    /// and may therefore be passed on.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> usize {
        let before = self.total;
        self.total += bytes.len() as u64;
        let to_head = bytes.len().min(self.head_limit() - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        let rest = &bytes[to_head..];
        let most = self.limit - self.head_limit();
        // Only the end of a long piece can stay.
        let rest = &rest[rest.len().saturating_sub(most)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(rest);
        let left = (self.limit as u64).saturating_sub(before);
        bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Whether nobody could want all this.
    pub(crate) fn is_flood(&self) -> bool {
        self.total > (self.limit as u64).max(64 << 10).saturating_mul(FLOOD)
    }

    /// What is kept, where something is left out, and how many bytes that are.
    pub(crate) fn finish(self) -> (Vec<u8>, usize, u64) {
        let mut kept = self.head;
        let cut_at = kept.len();
        kept.extend(self.tail);
        let cut = self.total - kept.len() as u64;
        let cut_at = if cut == 0 { kept.len() } else { cut_at };
        (kept, cut_at, cut)
    }

    fn head_limit(&self) -> usize {
        self.limit / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: usize, pieces: &[&str], kept: &str, cut: u64) {
        let mut output = Output::new(limit);
        let passed: usize = pieces
            .iter()
            .map(|piece| output.push(piece.as_bytes()))
            .sum();
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert_eq!(passed, total.min(limit), "{pieces:?}");
        let (bytes, cut_at, left_out) = output.finish();
        assert_eq!(String::from_utf8(bytes).unwrap(), kept, "{pieces:?}");
        assert_eq!(left_out, cut, "{pieces:?}");
        assert_eq!(cut_at, if cut == 0 { kept.len() } else { limit / 2 });
    }

    #[test]
    fn head_and_tail_stay_however_the_pieces_fall() {
        check(8, &[], "", 0);
        check(8, &["abc", "defgh"], "abcdefgh", 0);
        check(8, &["abcdefghi"], "abcdfghi", 1);
        check(8, &["abcdefgh", "i"], "abcdfghi", 1);
        check(8, &["a"; 20], "aaaaaaaa", 12);
        check(8, &["abcdefghijklmnopqrstuvwxyz", "12"], "abcdyz12", 20);
        check(0, &["abc"], "", 3);
        check(1, &["abc"], "c", 2);
    }
}
