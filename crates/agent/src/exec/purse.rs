//! The purse of a session. It is rebuilt from the log, so a resumed run pays on
//! where the interrupted one stopped.

use butler_model::{ClientConfig, ModelClient};
use butler_policy::Purse;
use butler_protocol::{Entry, PurseRefusal, Record, ReserveId, Usd};
use butler_turn::{Purse as Answer, Reserve};

use crate::thread::money;

/// What the session spent, is about to spend, and may spend.
pub(super) struct Wallet {
    purse: Purse,
}

impl Wallet {
    /// With everything that the log says.
    pub(super) fn of(log: &[Entry], cap: Usd) -> Self {
        // What was spent is a fact; only what comes now is measured at the cap.
        let mut purse = Purse::new("session", cap);
        for entry in log {
            if let Record::Settled { reserve, cost, .. } = &entry.record {
                purse.settle(reserve, *cost);
            }
        }
        Self { purse }
    }

    /// Sets the worst case of a call aside, with a shorter answer when only
    /// that is paid for.
    pub(super) fn reserve(
        &mut self,
        reserve: &Reserve,
        model: &ModelClient,
        config: &ClientConfig,
    ) -> Answer {
        let price = model
            .prices()
            .reserve_price(&reserve.model, &config.upper_price);
        let left = self.purse.cap().saturating_sub(self.purse.used());
        let refusal = PurseRefusal {
            purse: "session".to_owned(),
            cap: self.purse.cap(),
            used: self.purse.used(),
        };
        let Some(bid) = money::bid(reserve, &price, left) else {
            return Answer::Refused(refusal);
        };
        if self.purse.reserve(reserve.id.clone(), bid.amount).is_err() {
            return Answer::Refused(refusal);
        }
        Answer::Granted {
            amount: bid.amount,
            max_tokens: bid.max_tokens,
            thread_total: self.purse.used(),
            thread_cap: self.purse.cap(),
        }
    }

    /// A call is over.
    pub(super) fn settle(&mut self, id: &ReserveId, cost: Usd) {
        self.purse.settle(id, cost);
    }

    /// What finished calls cost.
    pub(super) fn spent(&self) -> Usd {
        self.purse.settled()
    }
}
