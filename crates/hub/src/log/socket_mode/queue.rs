//! What one subscriber still has to get, as plain values: at most one envelope
//! of a thread is on its way, the others of that thread wait for it.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    time::{Duration, Instant},
};

/// An envelope without an answer for so long is sent again.
const PATIENCE: Duration = Duration::from_secs(10);
/// A client that does not know us and leaves so many tries unanswered does not
/// want this envelope; the thread goes on without it until it reconnects.
const TRIES: u32 = 3;

#[derive(Debug)]
struct Sent {
    seq: u64,
    at: Instant,
    attempts: u32,
}

/// One subscriber's queue in memory; the store has the same, durable.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: HashMap<String, VecDeque<u64>>,
    on_its_way: HashMap<String, Sent>,
    known: BTreeSet<u64>,
    ready: VecDeque<String>,
    highest: u64,
}

impl Queue {
    /// Adds an event of a thread; one that is known is not added twice.
    pub(super) fn push(&mut self, seq: u64, thread: &str) {
        if !self.known.insert(seq) {
            return;
        }
        self.highest = self.highest.max(seq);
        let line = self.waiting.entry(thread.to_owned()).or_default();
        // Usually at the end; a reload may fill a gap.
        let at = line.partition_point(|other| *other < seq);
        line.insert(at, seq);
        if !self.on_its_way.contains_key(thread) {
            self.ready.push_back(thread.to_owned());
        }
    }

    /// The highest event that was ever added.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// The next event to send, now on its way.
    pub(super) fn next(&mut self, now: Instant) -> Option<u64> {
        while let Some(thread) = self.ready.pop_front() {
            if self.on_its_way.contains_key(&thread) {
                continue;
            }
            let Some(seq) = self.waiting.get_mut(&thread).and_then(VecDeque::pop_front) else {
                self.waiting.remove(&thread);
                continue;
            };
            let sent = Sent {
                seq,
                at: now,
                attempts: 0,
            };
            self.on_its_way.insert(thread, sent);
            return Some(seq);
        }
        None
    }

    /// The subscriber has it: the next of its thread may go.
    pub(super) fn acknowledged(&mut self, seq: u64) {
        self.known.remove(&seq);
        let thread = self
            .on_its_way
            .iter()
            .find(|(_, sent)| sent.seq == seq)
            .map(|(thread, _)| thread.clone());
        if let Some(thread) = thread {
            self.on_its_way.remove(&thread);
            if self
                .waiting
                .get(&thread)
                .is_some_and(|line| !line.is_empty())
            {
                self.ready.push_back(thread);
            } else {
                self.waiting.remove(&thread);
            }
        }
    }

    /// Envelopes to send again, with how often they were sent before. For a
    /// client that `gives_up`, a thread moves on after a few tries.
    pub(super) fn overdue(&mut self, now: Instant, gives_up: bool) -> Vec<(u64, u32)> {
        let mut again = Vec::new();
        let mut passed = HashSet::new();
        for (thread, sent) in &mut self.on_its_way {
            if now.duration_since(sent.at) < PATIENCE * 2u32.pow(sent.attempts.min(4)) {
                continue;
            }
            sent.at = now;
            sent.attempts += 1;
            if gives_up && sent.attempts > TRIES {
                passed.insert(thread.clone());
            } else {
                again.push((sent.seq, sent.attempts));
            }
        }
        for thread in passed {
            // Stays in the store: the next connection gets it again.
            self.on_its_way.remove(&thread);
            self.ready.push_back(thread);
        }
        again
    }

    /// How many wait or are on their way.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| queue.next(now)).collect()
    }

    #[test]
    fn one_envelope_per_thread_is_on_its_way_and_order_holds() {
        let now = Instant::now();
        let mut queue = Queue::default();
        for (seq, thread) in [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (2, "b")] {
            queue.push(seq, thread);
        }
        assert_eq!(queue.len(), 4);
        assert_eq!(drain(&mut queue, now), [1, 2]);
        queue.acknowledged(2);
        assert!(drain(&mut queue, now).is_empty());
        queue.acknowledged(1);
        assert_eq!(drain(&mut queue, now), [3]);
        queue.acknowledged(3);
        queue.push(5, "b");
        let mut next = drain(&mut queue, now);
        next.sort_unstable();
        assert_eq!(next, [4, 5]);
        queue.acknowledged(4);
        queue.acknowledged(5);
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.highest(), 5);
    }

    #[test]
    fn silence_means_again_and_only_strangers_are_given_up_on() {
        let start = Instant::now();
        let mut queue = Queue::default();
        queue.push(1, "a");
        queue.push(2, "a");
        drain(&mut queue, start);
        assert!(queue.overdue(start, false).is_empty());
        let mut now = start;
        for attempt in 1..=20 {
            now += PATIENCE * 20;
            assert_eq!(queue.overdue(now, false), [(1, attempt)]);
        }
        assert!(queue.overdue(now + PATIENCE * 20, true).is_empty());
        assert_eq!(drain(&mut queue, now), [2]);
    }
}
