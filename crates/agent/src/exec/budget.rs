//! The budget of a session. It is rebuilt from the log, so a resumed run pays on
//! where the interrupted one stopped.

use std::sync::Arc;

use butler_model::ModelClient;
use butler_policy::Budget;
use butler_protocol::{BudgetRefusal, Entry, Record, ReserveId, Usd};
use butler_turn::{Budget as Answer, Reserve};

use crate::thread::money;

/// What the session spent, is about to spend, and may spend.
pub(super) struct Wallet {
    budget: Budget,
    model: Arc<ModelClient>,
}

impl Wallet {
    /// With everything that the log says.
    pub(super) fn of(log: &[Entry], cap: Usd, model: Arc<ModelClient>) -> Self {
        // What was spent is a fact; only what comes now is measured at the cap.
        let mut budget = Budget::new("session", cap);
        for entry in log {
            if let Record::Settled { reserve, cost, .. } = &entry.record {
                budget.settle(reserve, *cost);
            }
        }
        Self { budget, model }
    }

    /// Sets the worst case of a call aside, with a shorter answer when only
    /// that is paid for.
    pub(super) fn reserve(&mut self, reserve: &Reserve) -> Answer {
        let price = self.model.reserve_price(&reserve.model);
        let left = self.budget.cap().saturating_sub(self.budget.used());
        let refusal = BudgetRefusal {
            budget: "session".to_owned(),
            cap: self.budget.cap(),
            used: self.budget.used(),
        };
        let bid = money::bid(reserve, &price, left);
        match bid.filter(|bid| self.budget.reserve(reserve.id.clone(), bid.amount).is_ok()) {
            None => Answer::Refused(refusal),
            Some(bid) => Answer::Granted {
                amount: bid.amount,
                max_tokens: bid.max_tokens,
                thread_total: self.budget.used(),
                thread_cap: self.budget.cap(),
            },
        }
    }

    /// A call is over.
    pub(super) fn settle(&mut self, id: &ReserveId, cost: Usd) {
        self.budget.settle(id, cost);
    }

    /// What finished calls cost.
    pub(super) fn spent(&self) -> Usd {
        self.budget.settled()
    }
}
