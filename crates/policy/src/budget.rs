//! Money set aside before a model call and settled after it.
//!
//! A reservation is the worst case of one call. What is settled and what is set
//! aside together never pass the cap by a reservation; a call that turns out
//! dearer than its worst case is recorded as it was, and then nothing more is
//! given until the cap is raised. Everything is idempotent by the caller's id,
//! so a repeat after a crash changes nothing.

use std::collections::{BTreeMap, btree_map::Entry};

use butler_protocol::{BudgetRefusal, ReserveId, Usd};
use serde::{Deserialize, Serialize};

/// One cap and what happened under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    name: String,
    cap: Usd,
    open: BTreeMap<ReserveId, Usd>,
    settled: BTreeMap<ReserveId, Usd>,
    /// What is settled, together: a long session asks before every call.
    spent: Usd,
}

/// Why nothing was set aside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// Not enough left.
    #[error("the {} budget holds {} of {}", .0.budget, left_of(.0), .0.cap)]
    Refused(BudgetRefusal),
    /// The call with this id is over; a new attempt needs a new id.
    #[error("reservation `{0}` is settled already")]
    AlreadySettled(ReserveId),
    /// An amount below nothing.
    #[error("reservation `{0}` asks for less than nothing")]
    Negative(ReserveId),
}

fn left_of(refusal: &BudgetRefusal) -> Usd {
    refusal.cap.saturating_sub(refusal.used)
}

impl Budget {
    /// An untouched budget; the name is what people read: `thread`, `day`, `person`.
    pub fn new(name: impl Into<String>, cap: Usd) -> Self {
        Self {
            name: name.into(),
            cap,
            open: BTreeMap::new(),
            settled: BTreeMap::new(),
            spent: Usd::ZERO,
        }
    }

    /// Sets the worst case of a call aside. A repeat with the same id keeps the
    /// first amount.
    /// Fails when it would pass the cap, is negative, or the call is over.
    pub fn reserve(&mut self, id: ReserveId, amount: Usd) -> Result<(), ReserveError> {
        self.check(&id, amount)?;
        self.open.entry(id).or_insert(amount);
        Ok(())
    }

    /// Whether [`Budget::reserve`] would succeed.
    /// Errors: as there.
    pub fn check(&self, id: &ReserveId, amount: Usd) -> Result<(), ReserveError> {
        if amount < Usd::ZERO {
            return Err(ReserveError::Negative(id.clone()));
        }
        if self.settled.contains_key(id) {
            return Err(ReserveError::AlreadySettled(id.clone()));
        }
        if self.open.contains_key(id) {
            return Ok(());
        }
        // Wide sums: a saturated total must not look as if it fitted.
        let total = i128::from(self.used().nanos()) + i128::from(amount.nanos());
        if total > i128::from(self.cap.nanos()) {
            return Err(ReserveError::Refused(BudgetRefusal {
                budget: self.name.clone(),
                cap: self.cap,
                used: self.used(),
            }));
        }
        Ok(())
    }

    /// The call is over and cost this much. Unused money goes back; a dearer
    /// call is recorded whole; a repeat changes nothing; a call that was never
    /// reserved here is recorded too, for it was paid.
    pub fn settle(&mut self, id: &ReserveId, cost: Usd) {
        self.open.remove(id);
        if let Entry::Vacant(entry) = self.settled.entry(id.clone()) {
            self.spent += *entry.insert(cost.max(Usd::ZERO));
        }
    }

    /// A person raised (or lowered) the cap.
    pub fn set_cap(&mut self, cap: Usd) {
        self.cap = cap;
    }

    /// The cap.
    pub fn cap(&self) -> Usd {
        self.cap
    }

    /// What finished calls cost.
    pub fn settled(&self) -> Usd {
        self.spent
    }

    /// What is set aside for calls under way.
    pub fn reserved(&self) -> Usd {
        self.open.values().copied().sum()
    }

    /// Both together.
    pub fn used(&self) -> Usd {
        self.settled() + self.reserved()
    }

    /// What can still be set aside.
    pub fn left(&self) -> Usd {
        self.cap.saturating_sub(self.used())
    }

    /// Whether four fifths are used: the thread is told once.
    pub fn is_low(&self) -> bool {
        i128::from(self.used().nanos()) * 5 >= i128::from(self.cap.nanos()) * 4
    }

    /// Reservations without a settlement, for the settling at start.
    pub fn unsettled(&self) -> impl Iterator<Item = (&ReserveId, Usd)> {
        self.open.iter().map(|(id, amount)| (id, *amount))
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
