//! A role's seat in one thread: what its chat tools and its orders share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use butler_vocab::{CallId, Idem, Record, RequestId, Role, ThreadId};

use crate::{facts::Facts, office::Office};

/// One role in one thread. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Seat {
    /// The process this seat belongs to.
    pub office: Arc<Office>,
    /// The thread.
    pub thread: ThreadId,
    facts: Arc<Mutex<Facts>>,
    to_write: Arc<Mutex<Vec<Record>>>,
}

impl Seat {
    /// A seat with what the log already says.
    pub fn new(office: Arc<Office>, thread: ThreadId, facts: Facts) -> Self {
        Self {
            office,
            thread,
            facts: Arc::new(Mutex::new(facts)),
            to_write: Arc::default(),
        }
    }

    /// Who sits here.
    pub fn role(&self) -> Role {
        self.office.role()
    }

    /// What is known about the thread.
    pub fn facts(&self) -> MutexGuard<'_, Facts> {
        // Whole values only are put behind this lock.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a record that must be in the log before the call's result is.
    pub fn write(&self, record: Record) {
        self.to_write
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }

    /// Takes the records that calls have left.
    pub fn take_written(&self) -> Vec<Record> {
        std::mem::take(&mut *self.to_write.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key of a post made by a tool call: the same call makes the same key.
    pub fn idem(&self, call: &CallId) -> Idem {
        Idem::new(format!("{}-{}-{call}", self.thread.short(), self.role()))
    }

    /// The key of a post made for a decision.
    pub fn idem_for(&self, request: &RequestId, what: &str) -> Idem {
        Idem::new(format!(
            "{}-{}-{request}-{what}",
            self.thread.short(),
            self.role()
        ))
    }
}

/// The card that a tool call asks for: short enough to type, the same after a crash.
pub fn request_of(call: &CallId) -> RequestId {
    RequestId::new(call.as_str().chars().take(6).collect::<String>())
}
