//! What one subscriber still has to get, as plain values. For our own client at most one
//! envelope of a thread is on its way, the others of that thread wait for it. To a client
//! that does not know us everything goes at once, as from Slack: what it leaves
//! unanswered holds up nothing, and is given up after a few tries.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::{Duration, Instant},
};

/// An envelope without an answer for so long is sent again.
const PATIENCE: Duration = Duration::from_secs(10);
/// When Slack sends again: after the time for an answer, a minute, five minutes. Who
/// leaves the last try unanswered as well does not want this envelope.
const STRANGERS: [Duration; 4] = [
    Duration::from_secs(3),
    Duration::from_secs(60),
    Duration::from_secs(300),
    Duration::from_secs(3),
];

#[derive(Debug)]
struct Sent {
    seq: u64,
    at: Instant,
    attempts: u32,
}

/// Envelopes without an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Overdue {
    /// To send again, with how often they were sent before.
    pub(super) again: Vec<(u64, u32)>,
    /// To forget.
    pub(super) given_up: Vec<u64>,
}

/// One subscriber's queue in memory; the store has the same, durable.
#[derive(Debug, Default)]
pub(super) struct Queue {
    stranger: bool,
    waiting: HashMap<String, VecDeque<u64>>,
    on_its_way: HashMap<String, Sent>,
    known: BTreeSet<u64>,
    ready: VecDeque<String>,
    highest: u64,
}

impl Queue {
    /// The queue of a client that does not know us.
    pub(super) fn of_stranger() -> Self {
        Self {
            stranger: true,
            ..Self::default()
        }
    }

    /// Adds an event of a thread; one that is known is not added twice.
    pub(super) fn push(&mut self, seq: u64, thread: &str) {
        if !self.known.insert(seq) {
            return;
        }
        // A stranger's envelopes do not wait for each other.
        let own = self.stranger.then(|| seq.to_string());
        let thread = own.as_deref().unwrap_or(thread);
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

    /// Whether the time for an answer to this envelope has passed.
    pub(super) fn is_late(&self, seq: u64) -> bool {
        let mut all = self.on_its_way.values();
        all.any(|sent| sent.seq == seq && sent.attempts > 0)
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

    /// What to do about envelopes that have been on their way for too long.
    pub(super) fn overdue(&mut self, now: Instant) -> Overdue {
        let mut found = Overdue::default();
        for sent in self.on_its_way.values_mut() {
            let patience = match self.stranger {
                true => STRANGERS.get(sent.attempts as usize).copied(),
                false => Some(PATIENCE * 2u32.pow(sent.attempts.min(4))),
            };
            if now.duration_since(sent.at) < patience.unwrap_or_default() {
                continue;
            }
            sent.at = now;
            sent.attempts += 1;
            if self.stranger && sent.attempts as usize >= STRANGERS.len() {
                found.given_up.push(sent.seq);
            } else {
                found.again.push((sent.seq, sent.attempts));
            }
        }
        found
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
    fn our_own_client_is_sent_the_same_until_it_answers() {
        let mut now = Instant::now();
        let mut queue = Queue::default();
        queue.push(1, "a");
        queue.push(2, "a");
        drain(&mut queue, now);
        assert_eq!(queue.overdue(now), Overdue::default());
        for attempt in 1..=20 {
            now += PATIENCE * 20;
            let overdue = queue.overdue(now);
            assert_eq!(overdue.again, [(1, attempt)]);
            assert!(overdue.given_up.is_empty());
        }
    }

    #[test]
    fn a_strangers_silence_holds_up_nothing_and_is_given_up_on_after_three_more_tries() {
        let start = Instant::now();
        let mut queue = Queue::of_stranger();
        for seq in 1..=3 {
            queue.push(seq, "a");
        }
        assert_eq!(drain(&mut queue, start), [1, 2, 3]);
        queue.acknowledged(1);
        queue.acknowledged(3);
        let seconds = |seconds| start + Duration::from_secs(seconds);
        for (at, attempt) in [(3, 1), (63, 2), (363, 3)] {
            assert_eq!(queue.overdue(seconds(at - 1)), Overdue::default());
            assert_eq!(queue.overdue(seconds(at)).again, [(2, attempt)]);
        }
        assert_eq!(queue.overdue(seconds(366)).given_up, [2]);
        queue.acknowledged(2);
        assert_eq!(queue.len(), 0);
    }
}
