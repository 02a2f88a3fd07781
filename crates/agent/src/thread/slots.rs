//! How many threads of a process work at once, and who is next. First come,
//! first served, where coming is when the mail came in and not when somebody was
//! ready to begin; whoever waits can be told their place.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

/// The slots of a process.
#[derive(Debug)]
pub(crate) struct Slots {
    line: Mutex<Line>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct Line {
    /// How many there are, and how many of them are taken.
    count: usize,
    taken: usize,
    /// Their numbers, the lowest first.
    waiting: VecDeque<u64>,
    next: u64,
}

impl Line {
    fn free(&self) -> usize {
        self.count.saturating_sub(self.taken)
    }

    /// How many are ahead of a number. A thousand may ask at every change.
    fn ahead(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search(&number).ok()
    }
}

/// A place to work, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Slots>);

/// A place in the line, given up when dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    slots: Arc<Slots>,
    number: u64,
}

impl Slots {
    /// So many slots, all free.
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::new(Line {
                count: count.max(1),
                taken: 0,
                waiting: VecDeque::new(),
                next: 0,
            }),
            changed: watch::Sender::new(()),
        })
    }

    /// So many slots from now on. Whoever has one keeps it.
    pub(crate) fn resize(&self, count: usize) {
        self.line().count = count.max(1);
        self.changed.send_replace(());
    }

    /// A number for whoever comes now; nobody else gets it.
    pub(crate) fn arrive(&self) -> u64 {
        let mut line = self.line();
        line.next += 1;
        line.next
    }

    /// Joins the line where the number belongs; at a free slot the ticket can
    /// sit down at once.
    pub(crate) fn queue(self: &Arc<Self>, number: u64) -> Ticket {
        let mut line = self.line();
        let at = line.waiting.partition_point(|one| *one < number);
        line.waiting.insert(at, number);
        Ticket {
            slots: Arc::clone(self),
            number,
        }
    }

    /// Resolves at the next change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Numbers only; nothing is half done when a holder panics.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// How many are served before this one, itself included; 0 at a free slot.
    pub(crate) fn place(&self) -> usize {
        let line = self.slots.line();
        (line.ahead(self.number).unwrap_or(0) + 1).saturating_sub(line.free())
    }

    /// Takes a free slot when it is this ticket's turn.
    pub(crate) fn take(self) -> Result<Slot, Self> {
        let mut line = self.slots.line();
        let ahead = line.ahead(self.number);
        if ahead.is_none_or(|ahead| ahead >= line.free()) {
            drop(line);
            return Err(self);
        }
        line.taken += 1;
        drop(line);
        Ok(Slot(Arc::clone(&self.slots)))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut line = self.slots.line();
        if let Some(at) = line.ahead(self.number) {
            line.waiting.remove(at);
        }
        drop(line);
        self.slots.changed.send_replace(());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.line().taken -= 1;
        self.0.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(slots: &Arc<Slots>) -> Ticket {
        slots.queue(slots.arrive())
    }

    #[test]
    fn slots_go_to_whoever_came_first_and_the_others_move_up() {
        let slots = Slots::new(1);
        let first = queue(&slots).take().unwrap();
        let second = queue(&slots);
        let third = queue(&slots);
        assert_eq!((second.place(), third.place()), (1, 2));
        let third = third.take().unwrap_err();
        drop(first);
        // It is the second's turn, not that of whoever asks.
        let third = third.take().unwrap_err();
        let second = second.take().unwrap();
        assert_eq!(third.place(), 1);
        let fourth = queue(&slots);
        drop(third);
        assert_eq!(fourth.place(), 1);
        drop(second);
        assert_eq!(fourth.place(), 0);
        fourth.take().unwrap();
    }

    #[test]
    fn another_count_takes_nobodys_slot_away_and_lets_others_in() {
        let slots = Slots::new(2);
        let (first, second) = (queue(&slots).take().unwrap(), queue(&slots).take().unwrap());
        slots.resize(1);
        drop(first);
        let waiting = queue(&slots).take().unwrap_err();
        assert_eq!(waiting.place(), 1);
        slots.resize(2);
        let third = waiting.take().unwrap();
        drop((second, third));
    }

    #[test]
    fn who_came_first_is_served_first_however_late_it_is_ready() {
        let slots = Slots::new(1);
        let [slow, quick] = [slots.arrive(), slots.arrive()];
        let busy = queue(&slots).take().unwrap();
        let quick = slots.queue(quick);
        assert_eq!(quick.place(), 1);
        let slow = slots.queue(slow);
        assert_eq!((slow.place(), quick.place()), (1, 2));
        drop(busy);
        let quick = quick.take().unwrap_err();
        drop(slow.take().unwrap());
        quick.take().unwrap();
    }
}
